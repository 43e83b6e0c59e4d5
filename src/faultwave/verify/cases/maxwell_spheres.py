"""Electromagnetic spheres: lowest resonance of a spherical cavity, and scattering by a dielectric ball."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.types import Settings
from faultwave.observe.resonances import resonances
from faultwave.run import simulate
from faultwave.verify import meshes, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact.electromagnetic import bistatic_cross_section

if TYPE_CHECKING:
    from faultwave.run.session import Session

UNIT = {"permittivity": 1.0, "permeability": 1.0}
HALF_WIDTH, LAYER = 4.0, 1.6
TM011 = 2.7437072699922697
"""Size k a of the lowest resonance: the first zero of (x j_1(x))' (Jackson 1999, section 9.8)."""


def cavity_error(size: float = 0.1, order: int = 3, time: float = 25.0) -> float:
    """Return the relative error of the TM011 frequency of a conducting sphere of unit radius.

    One octant is meshed with edges of ``size``.
    """
    mesh = meshes.shells([1.0], (size, size), ["ball"], octant=True)

    def start(points: np.ndarray, t: float) -> np.ndarray:
        """Return a smooth E along z that fits the mode and the symmetry of the octant's planes."""
        q = np.zeros((len(points), 6))
        q[:, 2] = (1 - (points**2).sum(1)) ** 2
        return q

    with meshes.as_gmsh(mesh) as setting:
        boundaries = {"pec": ["outside", "z"], "pmc": ["x", "y"]}
        output = {"receivers": {"points": [[0.2, 0.15, 0.1], [0.1, 0.3, 0.2]], "interval": 0.05}}
        case = setups.settings(
            "maxwell", setting | {"boundaries": boundaries}, {"constant": UNIT}, time, order, output=output
        )
        case["numerics"]["clustering"] = {"rates": [2]}
        sim = setups.started(case, start).run(write=False)
    values = sim.receivers["values"]
    found = resonances(values.reshape(len(values), -1), 0.05, (0.3, 0.6))
    nearest = min(found, key=lambda r: abs(r.frequency - TM011 / (2 * np.pi)), default=None)
    return abs(2 * np.pi * nearest.frequency / TM011 - 1) if nearest is not None else np.nan


def scattered(
    sizes: tuple[float, float], order: int, angles: np.ndarray, until: float = 38.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the measured and exact bistatic radar cross sections [m^2] of a ball of permittivity 4 at k a = 2, in both planes.

    The cube around the ball ends in a matched layer.
    """
    mesh = meshes.shells([1.0, 1.5, HALF_WIDTH], sizes, ["ball", "around", "far"], box=True)
    frequency = 2.0 / (2 * np.pi)
    with meshes.as_gmsh(mesh) as setting:
        case: Settings = {
            "law": "maxwell", "mesh": setting | {"boundaries": {"absorbing": ["outside"]}},
            "material": {"regions": {"ball": UNIT | {"permittivity": 4.0}, "around": UNIT, "far": UNIT}},
            "matched_layer": {"sides": ["x-", "x+", "y-", "y+", "z-", "z+"], "thickness": LAYER},
            "end_time": until, "numerics": {"order": order}, "stop": {"energy_below": 1e-6},
            "incident": [{"direction": [0, 0, 1], "amplitude": [1, 0, 0], "volumes": ["ball", "around"],
                          "time_function": {"kind": "burst", "frequency": frequency, "duration": 3.0}}],
            "output": {"far_field": {"volumes": ["ball", "around"], "frequencies": [frequency], "theta": angles.tolist(),
                                     "phi": [0.0, 90.0]}},
        }  # fmt: skip
        sim = setups.started(case).run(write=False)
    table = _cross_sections(sim)
    exact = np.pi * bistatic_cross_section(2.0, 2.0, np.deg2rad(table[:, 1]), np.deg2rad(table[:, 2]))
    return table[:, 3], exact


def _cross_sections(sim: Session) -> np.ndarray:
    """Return the far field of a run as a table (n, 4): frequency [Hz], theta and phi [degrees], cross section [m^2]."""
    found = sim.result("far_field")
    assert found is not None
    return np.stack([found[name] for name in ("frequency", "theta", "phi", "cross_section")], 1)


def example() -> Row:
    """Judge the largest difference [dB] of the example em-mie, a ball of 1 cm, at every angle.

    The null of the cross section lies 30 dB below the largest value.
    """
    sim = simulate("em-mie", force=True).run(write=False)
    table, radius = _cross_sections(sim), 0.01
    size = 2 * np.pi * table[0, 0] * radius / 299792458.0
    exact = np.pi * radius**2 * bistatic_cross_section(size, 2.0, np.deg2rad(table[:, 1]), np.deg2rad(table[:, 2]))
    difference = np.abs(10 * np.log10(table[:, 3] / exact))
    return at_most(f"bistatic cross section, k a = {size:.4g}: largest difference [dB]", float(difference.max()), 0.5)


def run(progress: Progress) -> Result:
    """Judge the cavity and the scattering; skipped without Gmsh."""
    try:
        import gmsh  # noqa: F401
    except (ImportError, OSError) as error:
        return Result((), skipped=f"Gmsh cannot be loaded: {error}")
    progress("cavity")
    rows = [at_most("spherical cavity, TM011: relative error of its frequency", cavity_error(), 1e-3)]
    progress("scattering")
    return Result((*rows, example()))


SPHERES = VerificationCase(
    "maxwell-spheres", "spherical cavity, and scattering by a dielectric ball against Mie", run, 6.0
)
