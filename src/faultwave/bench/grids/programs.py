"""Small cases on grids, each with a capability that has its own stencils, and the programs of their time steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from faultwave.fd.method.program import build_program
from faultwave.fd.process_partition import observers
from faultwave.kernels.stencil import Program
from faultwave.run import simulate

Settings = dict[str, Any]

ROCK = {"rho": 2600.0, "vp": 3464.0, "vs": 2000.0, "Qp": 60.0, "Qs": 50.0}
SOFT = ROCK | {"vs": 1500.0}
SEA = ROCK | {"rho": 1000.0, "vp": 1500.0, "vs": 0.0}
HILL = {"expression": "60 + 55*sin(x*0.0026)", "sources": "elevation", "receivers": "depth"}
STRENGTH = {"bulk_friction": 0.5, "plastic_cohesion": 2e6}
YIELDS = {"parameters": {"constant": STRENGTH}, "overburden": {"largest": 1.2, "smallest": 0.8, "direction": 30.0}}
WEAKENING = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_s": 70e6, "T_d": 0.0}
AGEING = {"rs_a": 0.01, "rs_sl0": 0.2, "rs_b": 0.014, "T_n": -120e6, "T_s": 75e6, "T_d": 0.0}
AT_REST = {"rs_f0": 0.6, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-9}


def _above(z: str, other: Settings) -> Settings:
    """Return a material that changes above a height, which may be an expression of x and y."""
    return {"expression": {n: f"if (z > {z}) {{ return {other[n]}; }} return {ROCK[n]};" for n in ROCK}}


def _case(lower: tuple[float, float, float], top: float = 0.0, blocks: bool = True, **changes: Any) -> Settings:
    """Return a case 2,400 m wide in single precision, with two blocks unless ``blocks`` is False.

    It has no absorbing layers at the sides unless ``grid`` sets other boundaries.
    """
    grid: Settings = {
        "lower": lower, "upper": [2400.0, 2400.0, top], "spacing": 100.0, "absorbing": {"width": 4},
        "boundaries": {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"},
    }  # fmt: skip
    if blocks:
        grid["blocks"] = [{"below": -0.5 * lower[2], "spacing": 200.0}]
    made: Settings = {
        "engine": "fd", "end_time": 0.1, "grid": grid, "material": {"constant": ROCK},
        "numerics": {"precision": "single", "threads": 1},
    }  # fmt: skip
    grid |= changes.pop("grid", {})
    return made | changes


def _below_a_hill(**changes: Any) -> Settings:
    return _case((0.0, 0.0, -4800.0), 200.0, **{**changes, "grid": {"topography": HILL} | changes.get("grid", {})})


def _fault(law: str, parameters: Settings, **more: object) -> Settings:
    """Return a case with a surface-breaking fault in a grid of one spacing."""
    made = _case((-5500.0, -5625.0, -9000.0), blocks=False)
    made["grid"] |= {
        "upper": [5500.0, 5625.0, 0.0], "spacing": 250.0,
        "fault": {"lower": [-2500.0, 0.0, -3750.0], "upper": [2500.0, 0.0, 0.0]},
    }  # fmt: skip
    friction = {"friction": law, "reference_method": "direction", "reference": [0.0, 1.0, 0.0]}
    return made | {"fault": friction | {"parameters": {"constant": parameters}} | more}


CASES: dict[str, Callable[[], Settings]] = {
    "blocks": lambda: _case((0.0, 0.0, -4800.0), attenuation={}),
    "hill": lambda: _below_a_hill(attenuation={}),
    "hill-layers": lambda: _below_a_hill(attenuation={}, grid={"boundaries": {"z+": "free-surface"}}),
    "order-8": lambda: _case((0.0, 0.0, -6400.0), grid={"order": 8, "upper": [3200.0, 3200.0, 0.0]}, attenuation={}),
    "fluids": lambda: _case((0.0, 0.0, -3600.0), blocks=False, material=_above("-1600 + 40*sin(0.004*x)", SEA), attenuation={}),
    "drucker-prager": lambda: _case((0.0, 0.0, -4800.0), plasticity=YIELDS),
    "drucker-prager-hill": lambda: _below_a_hill(plasticity=YIELDS),
    "iwan": lambda: _case(
        (0.0, 0.0, -2400.0), blocks=False, material=_above("-500", SOFT),
        soil={"slower_than": 1900.0, "surfaces": 10, "parameters": {"constant": {"reference_strain": 1e-3}}},
    ),
    "fault-slip-weakening": lambda: _fault("linear-slip-weakening", WEAKENING),
    "fault-ageing": lambda: _fault("rate-and-state-ageing", AGEING, constants=AT_REST) | {"numerics": {"precision": "double"}},
}  # fmt: skip
"""Functions that return the cases, by the name of the program."""
DOUBLE = frozenset({"fault-ageing"})
"""Programs that run in double precision only."""


@functools.cache
def programs(name: str) -> tuple[Program, ...]:
    """Return the programs of a case, one for each block from top to bottom."""
    plan = simulate(CASES[name]()).plan
    return tuple(build_program(b.scheme, observers=observers(plan.parts, b.scheme, b.box)) for b in plan.blocks)


__all__ = ["CASES", "DOUBLE", "programs"]
