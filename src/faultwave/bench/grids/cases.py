"""Boxes on grids whose time steps are compared: a plain one, and others that add one feature each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from faultwave.base.types import Settings

SPACING = 100.0
ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
SLOW = 1e4
"""Relaxation time [s] of yielding rock, so long that waves lose hardly any amplitude during the measurement."""
STRENGTH = 28.0
"""Cohesion [Pa] at a tenth of the box from its middle; with the waves of ``grids`` about 1 % of the points yield."""


@dataclass(frozen=True)
class Box:
    """Box with ``cells`` grid cells along each axis and the ``numerics`` of its cases."""

    cells: int
    numerics: Mapping[str, object] = field(default_factory=dict)

    def case(
        self, sides: Mapping[str, str], upper: float | None = None, low: float | None = None, **more: object
    ) -> Settings:
        """Return a case on a grid from ``low`` cells up to z = 0 and ``upper`` cells along x and y.

        ``more`` goes into the settings of the grid.
        """
        h, wide = SPACING, self.cells if upper is None else upper
        bottom = -self.cells if low is None else low
        grid = {
            "lower": [0, 0, bottom * h],
            "upper": [wide * h, wide * h, 0],
            "spacing": h,
            "boundaries": sides,
            **more,
        }
        return {
            "engine": "fd", "end_time": 1e4, "material": {"constant": ROCK}, "grid": grid, "sources": [], "output": {},
            "numerics": {"backend": "cpu", **self.numerics},
        }  # fmt: skip

    @property
    def edge(self) -> float:
        """Edge length of the box [m]."""
        return self.cells * SPACING


RIGID = dict.fromkeys(("x", "y", "z-", "z+"), "rigid")
FREE = RIGID | {"z+": "free-surface"}
LOSSY = {
    "attenuation": {"low": "0.05 Hz", "high": "5 Hz"},
    "material": {"constant": ROCK | {"Qp": 100.0, "Qs": 50.0}},
}


def cases(box: Box) -> dict[str, Settings]:
    """Return all cases by name; all but ``blocks`` have about as many points as the plain box."""
    n = box.cells
    halves = [{"below": n // 2 * SPACING, "spacing": 2 * SPACING}]
    return {
        "plain": box.case(RIGID),
        "attenuation": box.case(RIGID) | LOSSY,
        "surface": box.case(FREE),
        "hill": _hill(box),
        "blocks": box.case(FREE, blocks=halves),
        "everything": _everything(box),
        "fault": _fault(box),
        "few-yield": _yielding(box, f"{100.0 * STRENGTH / box.edge**2} * ({_from_middle(box, 'xyz')})"),
        "all-yield": _yielding(box, "1e-6"),
        "soil": _soil(box),
    }


def _from_middle(box: Box, axes: str) -> str:
    """Return, as an expression, the squared distance from the middle of the box along some axes."""
    middle = {"x": 0.5, "y": 0.5, "z": -0.5}
    away = [f"({a} - {middle[a] * box.edge})" for a in axes]
    return " + ".join(f"{d}*{d}" for d in away)


def _hill(box: Box) -> Settings:
    """Return a box below a Gaussian hill."""
    relief = 0.05 * box.edge
    shape = f"{relief} * exp(-({_from_middle(box, 'xy')}) / {(0.2 * box.edge) ** 2})"
    made = box.case(FREE, topography={"expression": shape, "receivers": "depth", "sources": "depth"})
    made["grid"]["upper"][2] = 2 * relief
    return dict(made)


def _everything(box: Box) -> Settings:
    """Return a box with absorbing layers of ten points, attenuation, a free surface and receivers."""
    n, h = box.cells, SPACING
    inner = n - 20
    points = [[inner * h * k / 11, inner * h / 2, 0.0] for k in range(1, 11)]
    layers = box.case({"z+": "free-surface"}, inner, 10 - n, absorbing={"width": 10})
    return layers | LOSSY | {"output": {"receivers": {"points": points, "interval": 1.0}}}


def _fault(box: Box) -> Settings:
    """Return a box with a vertical fault that slips everywhere, from the free surface to mid-depth."""
    n, h = box.cells, SPACING
    first, last, deep, across = n // 8, n - n // 8, n // 2, n // 2 + 0.5
    plane = {"lower": [first * h, across * h, -deep * h], "upper": [last * h, across * h, 0]}
    friction = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_s": 81.6e6, "T_d": 0.0}
    fault = {
        "friction": "linear-slip-weakening", "reference_method": "direction", "reference": [0.0, 1.0, 0.0],
        "parameters": {"constant": friction},
    }  # fmt: skip
    return box.case(FREE, fault=plane) | {"fault": fault}


def _yielding(box: Box, cohesion: str) -> Settings:
    """Return a box with plasticity, without initial stress, and with the cohesion [Pa] as an expression."""
    rest = dict.fromkeys(("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"), 0.0)
    given = {"constant": {"bulk_friction": 0.0, **rest}, "expression": {"plastic_cohesion": cohesion}}
    return box.case(RIGID) | {"plasticity": {"parameters": given, "constants": {"relaxation_time": SLOW}}}


def _soil(box: Box) -> Settings:
    """Return a box whose uppermost tenth is soil with ten yield surfaces."""
    slow = f"if (z > {-0.1 * box.edge}) {{ return 300; }} return {ROCK['vs']};"
    material = {"expression": {n: str(v) for n, v in ROCK.items()} | {"vs": slow}}
    soil = {"slower_than": 500, "surfaces": 10, "parameters": {"constant": {"reference_strain": 1e-7}}}
    return box.case(FREE) | {"material": material, "soil": soil}


__all__ = ["SPACING", "Box", "cases"]
