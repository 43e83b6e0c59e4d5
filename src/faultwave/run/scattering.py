"""Scattering parameters of a case with ports, from one run for each port."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem, RunError
from faultwave.base.log import get_logger
from faultwave.base.types import Settings
from faultwave.case.load import load_case
from faultwave.comm import world
from faultwave.output.folder import create_folder
from faultwave.output.formats.touchstone import write_touchstone
from faultwave.run.simulation import start

if TYPE_CHECKING:
    from faultwave.case.settings.model import Case

ENERGY_LEFT_LIMIT = 1e-4
"""Share of energy left at the end of a run above which S may lack a hundredth of the amplitude."""
LARGEST_CONDITION = 1e8
"""Condition number of the incoming waves above which the runs do not distinguish the ports."""


@dataclass(frozen=True)
class Scattering:
    """Scattering parameters of a case.

    Attributes
    ----------
    frequencies : ndarray, shape (nf,)
        Frequencies [Hz].
    s : ndarray, shape (nf, n, n)
        S[:, i, j] from port j + 1 to port i + 1.
    impedances : ndarray, shape (nf, n)
        Impedances of the ports' modes [ohm], by which the waves are normalised.
    left : ndarray, shape (n,)
        Share of the energy still inside when each run ended.
    """

    frequencies: np.ndarray
    s: np.ndarray
    impedances: np.ndarray
    left: np.ndarray

    @property
    def remarks(self) -> list[str]:
        """Remarks on the accuracy of the parameters."""
        return [
            (
                f"INCOMPLETE: the run that excites port {i} ended with {100 * share:.2g} % of its energy still "
                "inside; raise end_time"
            )
            for i, share in enumerate(self.left, 1)
            if share > ENERGY_LEFT_LIMIT
        ]


def scattering(
    case: Case | Settings | str | Path, progress: Callable[[str], None] = lambda text: None, **overrides: object
) -> Scattering:
    """Run a case once for each of its ports and return the scattering parameters; warns of runs that were too short.

    Parameters
    ----------
    case : Case, dict, str or Path
        Case with ports, as for ``faultwave.simulate``.
    progress : callable
        Receives a text before each run.
    **overrides
        Settings to replace, as for ``faultwave.simulate``.

    Raises
    ------
    InputError
        If the case has no ports, with every problem of the case.
    RunError
        If the records do not determine the parameters.
    """
    settings, problems = load_case(case, overrides)
    problems.raise_errors()
    assert settings is not None
    if settings.ports is None:
        raise InputError(Problem("ports", "the case has none", "surfaces, band"))
    into, out, left, count = [], [], [], len(settings.ports.surfaces)
    for driven in range(1, count + 1):
        progress(f"port {driven} of {count}")
        ports = settings.ports.model_copy(update={"drive": driven})
        sim = start(settings.model_copy(update={"ports": ports}))
        if driven == 1 and sim.world.first:
            for warning in sim.warnings:
                get_logger(__name__).warning("%s", warning)
        sim.run(write=False)
        data = sim.result("ports")
        assert data is not None  # every process has it
        into.append(data["into"])
        out.append(data["out"])
        left.append(float(data["energy_left"]))
    assert data is not None  # there is at least one port
    solved = _solved(np.array(into), np.array(out))
    found = Scattering(data["frequency"], solved, data["impedance"].T, np.array(left))
    if sim.world.first:
        for remark in found.remarks:
            get_logger(__name__).warning("%s", remark)
    return found


def _solved(into: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Solve out = S into for the scattering parameters S (nf, n, n).

    Parameters
    ----------
    into, out : ndarray, shape (run, port, nf)
        Waves into and out of the mesh.

    Raises
    ------
    RunError
        If the runs do not distinguish the ports.
    """
    a, b = into.transpose(2, 0, 1), out.transpose(2, 0, 1)  # (nf, run, port)
    largest = np.abs(a).max((0, 2), keepdims=True)
    if (
        not (np.isfinite(a).all() and np.isfinite(b).all() and (largest > 0).all())
        or np.linalg.cond(a / largest).max() > LARGEST_CONDITION
    ):
        raise RunError(
            "the runs do not distinguish the ports, so the scattering parameters are undefined: either the "
            "runs ended before the waves arrived (raise end_time), or the ports overlap"
        )
    return np.asarray(np.linalg.solve(a, b).transpose(0, 2, 1))


def save_scattering(
    case: Case | Settings | str | Path,
    folder: str | Path,
    progress: Callable[[str], None] = lambda text: None,
    **overrides: object,
) -> Path:
    """Write the scattering parameters of a case as a Touchstone file and return its path.

    Parameters
    ----------
    case : Case, dict, str or Path
        Case with ports, as for ``faultwave.simulate``.
    folder : str or Path
        Folder of the file, which is named by the case's prefix.
    progress : callable
        Receives a text before each run.
    **overrides
        Settings to replace, as for ``faultwave.simulate``.
    """
    settings, problems = load_case(case, overrides)
    problems.raise_errors()
    assert settings is not None
    folder = Path(folder)
    world().together(lambda: create_folder(folder))  # before hours of runs
    found = scattering(case, progress, **overrides)
    assert settings.ports is not None
    remarks = [
        *([settings.title] if settings.title else []),
        *(f"Port[{i}] = {p.surface}:{p.mode}" for i, p in enumerate(settings.ports.surfaces, 1)),
        "waves are normalised by the impedance of each port's mode, printed after every frequency; R is not used",
        *found.remarks,
    ]
    name = folder / f"{settings.output.prefix}.snp"
    written = world().together(
        lambda: write_touchstone(name, found.frequencies, found.s, remarks, impedances=found.impedances)
    )
    return Path(world().broadcast(written))
