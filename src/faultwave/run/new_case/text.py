"""Text of the case that `faultwave new` writes: every group with comments on its purpose and its numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LAYERS = """\
# Crust and uppermost mantle of IASP91 (Kennett & Engdahl, Geophys. J. Int. 105, 1991), an average of all continents: rock without
# sediments. Put the layers of your place here; depth of each layer's top below z = 0.
depth[km] vp[km/s] vs[km/s] rho[g/cm^3]
0         5.80     3.36     2.7200
20        6.50     3.75     2.9200
35        8.04     4.47     3.3198
"""
SLOWEST_S_SPEED = 3360.0
"""S-wave speed of the first layer [m/s]."""
FASTEST_P_SPEED = 8040.0
"""P-wave speed of the last layer [m/s]."""
GAUSSIAN_WIDTH = 0.39
"""Standard deviation of a Gaussian times the frequency at which its spectrum has decreased to 5 %."""
GAUSSIAN_DURATION = 10.0
"""Number of standard deviations after which the Gaussian has ended."""
STATIC, DYNAMIC, INITIAL_STRESS_RATIO = 0.6, 0.3, 0.45
"""Static and dynamic friction, and initial ratio of shear to normal stress: the strength parameter S is 1."""
LARGEST_NORMAL_STRESS = 60e6
"""Effective normal stress below the depth at which it stops increasing [Pa]."""
MODULUS = 2720.0 * SLOWEST_S_SPEED**2 / (1 - 0.25)
"""Modulus mu/(1 - nu) of the first layer [Pa]."""


def shear_modulus_at(depth: np.ndarray) -> np.ndarray:
    """Return the shear modulus of the layers of a new case at depths [m] [Pa]."""
    rows = np.array([[float(w) for w in line.split()] for line in LAYERS.splitlines() if line[:1].isdigit()])
    layer = np.searchsorted(1e3 * rows[:, 0], depth, side="right") - 1
    return np.asarray(1e9 * rows[:, 3] * rows[:, 2] ** 2)[np.maximum(layer, 0)]


@dataclass(frozen=True)
class Box:
    """Region from -``half`` to ``half`` along x and y and down to ``depth`` [m].

    Reflections from the sides of a mesh return after ``late`` [s]; ``too_early`` is True if that is before the end of the run.
    """

    half: float
    depth: float
    late: float
    too_early: bool


@dataclass(frozen=True)
class Rupture:
    """Parameters of a spontaneous rupture.

    Attributes
    ----------
    cohesive_zone : float
        Length of the cohesive zone [m].
    size : float
        Element edge on faults [m].
    centre : ndarray, shape (3,)
        Centre of the nucleation patch [m].
    radius : float
        Radius of the nucleation patch [m].
    reference : ndarray, shape (3,)
        Outward normal of the upper fault block.
    rake : float
        Rake [deg].
    """

    cohesive_zone: float
    size: float
    centre: np.ndarray
    radius: float
    reference: np.ndarray
    rake: float

    @property
    def slip_weakening(self) -> float:
        """Slip-weakening distance d_c [m] that yields the cohesive zone (Day et al. 2005)."""
        return self.cohesive_zone * (STATIC - DYNAMIC) * LARGEST_NORMAL_STRESS / (9 * np.pi / 32 * MODULUS)


def number(value: float) -> str:
    """Return a number with four significant digits."""
    return f"{value:.4g}"


def quoted(words: str) -> str:
    """Return a text in YAML quotes; JSON strings are valid YAML."""
    return json.dumps(words, ensure_ascii=False)


def kilometres(value: float) -> str:
    """Return a length [m] as text in kilometres."""
    return f"{value / 1e3:.6g} km"


def _square(axis: str, value: float) -> str:
    """Return (axis - value)^2 in the expression language."""
    side = f"({axis} {'-' if value >= 0 else '+'} {abs(value):.1f})"
    return f"{side} * {side}"


def _shear(factor: float, rupture: Rupture, about: str) -> str:
    """Return an expression of shear stress: a fraction of the normal stress, and above the strength in the patch."""
    if abs(factor) < 1e-9:
        return f'"0"                   # {about}'
    sign = "" if factor == 1.0 else f"{factor:.6f} * "
    distance = " + ".join(_square(axis, v) for axis, v in zip("xyz", rupture.centre, strict=True))
    return f"""|                     # {about}
        normal = min({LARGEST_NORMAL_STRESS:.1f}, max(1000000.0, 1000000.0 - 16400.0 * z));
        r2 = {distance};
        if (r2 < {rupture.radius**2:.1f}) {{ return {sign}(510000.0 + {1.02 * STATIC:g} * normal); }}
        return {sign}{INITIAL_STRESS_RATIO:g} * normal;"""


def fault_text(rupture: Rupture) -> str:
    """Return the text of the group ``fault``."""
    rake = np.radians(rupture.rake)
    strike, dip = -float(np.cos(rake)), float(np.sin(rake))
    reference = ", ".join(f"{v:.4f}" for v in rupture.reference)
    zone = number(rupture.cohesive_zone)
    ratio, largest = f"{INITIAL_STRESS_RATIO:g}", f"{LARGEST_NORMAL_STRESS / 1e6:g} MPa"
    return f"""\
# Spontaneous rupture. The shear stress is {ratio} of the normal stress, between friction before ({STATIC:g}) and after ({DYNAMIC:g}).
# Effective normal stress grows by 16.4 MPa a kilometre to {largest}. These are common assumptions, nothing that is
# known of your fault. A patch of {number(rupture.radius)} m about ({", ".join(number(v) for v in rupture.centre)}) m breaks first.
fault:
  friction: linear-slip-weakening
  reference: [{reference}]      # outward normal of the hanging wall
  reference_method: direction
  parameters:
    constant:
      mu_s: {STATIC:g}
      mu_d: {DYNAMIC:g}
      d_c: {rupture.slip_weakening:.3g} m            # makes the cohesive zone {zone} m long; less wants a smaller fault_size
      cohesion: -0.5 MPa
    expression:
      T_n: "return -min({LARGEST_NORMAL_STRESS:.1f}, max(1000000.0, 1000000.0 - 16400.0 * z));"
      T_s: {_shear(strike, rupture, f"positive is right-lateral; the rake is {rupture.rake:g} degrees")}
      T_d: {_shear(dip, rupture, "positive is reverse faulting")}
"""


Ground = tuple[str, str | None, bool]
"""File of heights, its coordinate system, and True if there is a sea."""


def mesh_text(
    box: Box,
    frequency: float,
    faults: Sequence[str],
    rupture: Rupture | None,
    topography: Ground | None,
) -> str:
    """Return the text of the group ``mesh``.

    Parameters
    ----------
    box : Box
        Region.
    frequency : float
        Highest resolved frequency [Hz].
    faults : sequence of str
        Line of each fault.
    rupture : Rupture or None
        Rupture, which determines the element size on faults.
    topography : Ground or None
        Raster of heights.
    """
    why = (
        "after this time, which is BEFORE the end: maps have a largest size"
        if box.too_early
        else "after the end of the run"
    )
    lines = [
        (
            "# Tetrahedra, generated by Gmsh when the case is first planned, and stored. Their sizes follow the "
            "local slowest wave."
        ),
        "mesh:",
        "  build:",
        f"    lower: [{kilometres(-box.half)}, {kilometres(-box.half)}]",
        f"    upper: [{kilometres(box.half)}, {kilometres(box.half)}]",
        f"    depth: {kilometres(box.depth)}",
        f"    frequency: {frequency:g} Hz          # highest one that is resolved",
        (
            "    # The mesh extends beyond this region in growing elements, so that reflections of its sides and "
            "bottom return"
        ),
        f"    reflections_after: {number(box.late)} s    # {why}. Remove this line to end the mesh at the region",
    ]
    if topography is not None:
        file, crs, sea = topography
        named = f", crs: {quoted(crs)}" if crs else ""
        top = "the water, or the ground where it is dry" if sea else "the ground"
        lines.append(
            f"    topography: {{ file: {quoted(file)}{named}, receivers: depth }}   # z of stations: from {top}"
        )
        lines.append(f"    sea: {'true' if sea else 'false'}                  # water where the ground is below z = 0")
    if rupture is not None:
        lines.append(
            f"    fault_size: {number(rupture.size)} m         # three points in the cohesive zone, see fault.parameters"
        )
        lines += ["    faults:", *faults]
    return "\n".join(lines) + "\n"


def grid_text(box: Box, frequencies: tuple[float, float], topography: Ground | None) -> str:
    """Return the text of the group ``grid``.

    Parameters
    ----------
    box : Box
        Region.
    frequencies : tuple of float
        Requested frequency, and frequency of a grid fine enough for the source [Hz].
    topography : Ground or None
        Raster of heights.
    """
    frequency, finer = frequencies
    why = "highest one that is resolved"
    if finer > frequency:
        why = f"{frequency:g} Hz was requested; a source at this depth needs a finer grid"
    lines = [
        (
            "# A regular grid: its spacing follows from the slowest wave and the frequency. The upper side is a "
            "free surface, the others absorb."
        ),
        "grid:",
        f"  lower: [{kilometres(-box.half)}, {kilometres(-box.half)}, {kilometres(-box.depth)}]",
        f"  upper: [{kilometres(box.half)}, {kilometres(box.half)}, {'0' if topography is None else '9 km'}]",
        f"  frequency: {number(finer)} Hz            # {why}",
    ]
    if topography is not None:
        file, crs, _ = topography
        named = f", crs: {quoted(crs)}" if crs else ""
        lines.append(
            f"  topography: {{ file: {quoted(file)}{named}, sources: elevation, receivers: depth }}   # z of stations: from the ground"
        )
    return "\n".join(lines) + "\n"


def double_couple_text(values: Mapping[str, str], place: Sequence[float], duration: float) -> str:
    """Return the text of a point source.

    Parameters
    ----------
    values : mapping of str to str
        strike, dip, rake and magnitude.
    place : sequence of float
        Longitude, latitude [deg] and z [m].
    duration : float
        Standard deviation of the source time function [s].
    """
    lon, lat, z = place
    angles = "\n".join(f"    {name}: {value}" for name, value in values.items())
    return f"""\
sources:
  - kind: double-couple            # angles as in docs/guide/sources.md; magnitude Mw
    geographic: [{lon:.8g}, {lat:.8g}, {z:.8g}]
{angles}
    time_function: {{ kind: gaussian, duration: {number(duration)} s }}   # its spectrum has fallen to 5 % at the frequency above
"""
