"""Scattering parameters: a case with ports, run once for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.load import load_case
from faultwave.comm import world
from faultwave.output.atomic import explaining
from faultwave.output.formats.touchstone import write_touchstone
from faultwave.run.plan import make_plan
from faultwave.run.simulation import Simulation


@dataclass(frozen=True)
class Scattering:
    """S (nf, n, n) at frequencies (nf,) [Hz]; S[:, i, j]: from port j + 1 to port i + 1."""

    frequencies: np.ndarray
    s: np.ndarray


def scattering(case: Any, progress: Callable[[str], None] = lambda text: None, **overrides: Any) -> Scattering:
    """Run a case with ports once for each of them. Raises InputError where it has none, and every problem of the case."""
    settings, problems = load_case(case, overrides)
    problems.raise_errors()
    assert settings is not None
    if settings.ports is None:
        raise InputError(Problem("ports", "the case has none", "surfaces, band"))
    a, b, count = [], [], len(settings.ports.surfaces)
    for driven in range(1, count + 1):
        progress(f"port {driven} of {count}")
        ports = settings.ports.model_copy(update={"drive": driven})
        sim = Simulation(make_plan(settings.model_copy(update={"ports": ports}))).run(write=False)
        waves = sim.port_waves
        assert waves is not None
        a.append(waves[1][:, 0])
        b.append(waves[1][:, 1])
        frequencies = waves[0]
    into, out = (np.transpose(np.array(x), (2, 1, 0)) for x in (a, b))  # (nf, port, run)
    return Scattering(frequencies, np.linalg.solve(into.transpose(0, 2, 1), out.transpose(0, 2, 1)).transpose(0, 2, 1))


def save_scattering(
    case: Any, folder: str | Path, progress: Callable[[str], None] = lambda text: None, **overrides: Any
) -> Path:
    """``scattering`` written as a Touchstone file into ``folder``, called as the case's prefix."""
    settings, problems = load_case(case, overrides)
    problems.raise_errors()
    assert settings is not None
    found = scattering(case, progress, **overrides)
    folder = Path(folder)
    with explaining(folder):
        folder.mkdir(parents=True, exist_ok=True)
    ports = [f"port {i}: {p.surface}, {p.mode}" for i, p in enumerate(settings.ports.surfaces, 1)]  # type: ignore[union-attr]
    remarks = [
        *([settings.title] if settings.title else []),
        *ports,
        "waves are normalised by the impedance of each port's mode",
    ]
    name = folder / f"{settings.output.prefix}.snp"
    written = world().together(lambda: write_touchstone(name, found.frequencies, found.s, remarks))
    return Path(world().share(written))


__all__ = ["Scattering", "save_scattering", "scattering"]
