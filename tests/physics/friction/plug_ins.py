"""A friction law and modifiers as a plug-in would bring them: found through the registry, not by name."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faultwave.base import registry
from faultwave.base.quantities import Output, Parameter, State
from faultwave.kernels import math as m
from faultwave.physics.friction.modifier import Modifier
from faultwave.physics.friction.slip_weakening import SlipWeakening

TIMES = np.geomspace(1e-3, 1.0, 60)
"""Relaxation times [s] of the memories."""


class FadingMemory(SlipWeakening):
    """Slip weakening with sixty memories of the slip rate V at every point, x_i' = (V - x_i)/T_i, whose mean lowers friction."""

    name = "fading-memory"
    title = "Slip weakening with a memory of slip rates"
    deck_number = -1
    state = (State("memories", "m/s", "slip rate averaged over each relaxation time", len(TIMES)),)
    outputs = (
        *SlipWeakening.outputs,
        Output("mean_memory", "m/s", "mean of the memories", lambda p, c, s: sum(s["memories"]) / len(TIMES)),
    )

    def evolve(self, p: Any, c: Any, s: Any, solved: Any, projected_rate: Any, load: Any) -> dict[str, Any]:
        v = solved.slip_rate
        memories = [v + (x - v) * m.exp(-load.dt / time) for x, time in zip(s["memories"], TIMES.tolist(), strict=True)]
        new = super().evolve(p, c, s, solved, projected_rate, load)
        mean = memories[0]
        for x in memories[1:]:
            mean = mean + x
        return {"friction": new["friction"] - 0.02 * m.minimum(mean / len(TIMES), 1.0), "memories": memories}


class PorePressure(Modifier):
    """Constant pressure of the fluid in the fault's pores."""

    name = "constant-pore-pressure"
    title = "Constant pore pressure"
    parameters = (Parameter("pore_pressure", "Pa", "pressure in the pores", lower=0.0),)
    kernel_parameters = ("pore_pressure",)
    outputs = (Output("P_f", "Pa", "pore pressure", lambda p, c, s: p["pore_pressure"]),)

    def normal_traction(self, p: Any, c: Any, s: Any, sigma: Any) -> Any:
        return sigma + p["pore_pressure"]


class Drainage(Modifier):
    """Fluid pressure that frictional heat raises and drainage lowers, p' = shear traction V/h - p/T: a state of its own."""

    name = "heated-pores"
    title = "Pore pressure raised by frictional heat"
    constants = (
        Parameter("pressure_length", "m", "work per area over the pressure that it raises", 10.0, positive=True),
        Parameter("drainage_time", "s", "time in which the pressure falls", 0.3, positive=True),
    )
    state = (State("raised_pressure", "Pa", "pore pressure raised by heat"),)
    outputs = (Output("raised_pressure", "Pa", "pore pressure raised by heat", lambda p, c, s: s["raised_pressure"]),)

    def normal_traction(self, p: Any, c: Any, s: Any, sigma: Any) -> Any:
        return m.minimum(sigma + s["raised_pressure"], 0.0)

    def evolve(self, p: Any, c: Any, s: Any, slip_rate: Any, load: Any) -> dict[str, Any]:
        heating = m.maximum(load.shear() - load.eta * slip_rate, 0.0) * slip_rate / c["pressure_length"]
        share = 1.0 - m.exp(-load.dt / c["drainage_time"])
        steady = heating * c["drainage_time"]
        return {"raised_pressure": s["raised_pressure"] + share * (steady - s["raised_pressure"])}


FADING_MEMORY, PORE_PRESSURE, DRAINAGE = FadingMemory(), PorePressure(), Drainage()


@contextmanager
def installed(**groups: str) -> Iterator[None]:
    """As if a distribution were installed with entry points: groups, with _ for the dots, and the objects of each, 'module:name ...'."""
    text = ""
    for group, objects in groups.items():
        lines = [f"x{i} = {target}" for i, target in enumerate(objects.split())]
        text += "\n".join([f"[{group.replace('_', '.')}]", *lines, ""])
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        info = Path(folder) / "plug_ins-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-ins\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(text)
        patch.syspath_prepend(folder)
        registry.clear_registry_caches()
        yield
    registry.clear_registry_caches()


@contextmanager
def friction_plug_ins() -> Iterator[None]:
    with installed(
        faultwave_physics_friction=f"{__name__}:FADING_MEMORY",
        faultwave_physics_friction_modifiers=f"{__name__}:PORE_PRESSURE {__name__}:DRAINAGE",
    ):
        yield
