"""Checks of the accuracy of a planned run: source spectra, layer reflections, fluids next to rock and single precision.

Waves above that frequency disperse, and they contribute to peak values.

A matched layer absorbs travelling waves to some thousandths. Near sources, and for waves at grazing incidence, much of
the motion is evanescent across the layer. Damping does not act on it: the part that remains at the outer end of the
layer is reflected. It is the larger, the nearer the side and the thinner the layer, both measured in wavelengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Case
from faultwave.engine.precision import ERROR_OF_GRIDS, Estimate
from faultwave.fd.capability import FdPlan, GridCapabilityPlan
from faultwave.fd.contexts import PlacementContext
from faultwave.fd.method.absorbing import AbsorberKind
from faultwave.fd.method.effective_medium import Medium
from faultwave.fd.method.fluid_solid_interface import altered_end_planes
from faultwave.fd.method.grid import SIDES, SideKind
from faultwave.fd.method.grid_block import GridBlock
from faultwave.physics.friction import laws
from faultwave.physics.sources.point import PointSource, Sources
from faultwave.physics.sources.spectrum import QUIET, smoothing, spectrum


def check_band(
    sources: Sequence[PointSource],
    resolved: float,
    step: float,
    end_time: float,
    problems: Problems,
    lowpass: float | None = None,
) -> None:
    """Warn if the sources radiate above the frequency that the grid resolves everywhere.

    Parameters
    ----------
    sources : sequence of PointSource
    resolved : float
        Highest frequency [Hz] resolved in the whole grid.
    step, end_time : float
        Time step and end of the run [s].
    problems : Problems
        Receives the warning.
    lowpass : float or None
        Corner frequency [Hz] of the low-pass filter of the sources, if there is one.
    """
    if not sources or not np.isfinite(resolved):
        return
    frequencies, amplitudes = spectrum(sources, step, end_time)
    loudest = amplitudes.max()
    above = frequencies > resolved
    if not loudest > 0 or not above.any():
        return
    share = float(amplitudes[above].max() / loudest)
    if share > QUIET:
        corner = smoothing(frequencies, amplitudes, resolved, lowpass)
        smooth = "Raise"
        if corner and lowpass:
            smooth = f"Lower numerics.source_lowpass from {lowpass:.3g} to {corner:.3g} Hz, raise"
        elif corner:
            smooth = f"Smooth the sources (numerics.source_lowpass: {corner:.3g} Hz), raise"
        problems.warn(
            "sources",
            (
                f"radiate above {resolved:.3g} Hz, the frequency resolved everywhere: up to {100 * share:.0f} % of "
                "their largest amplitude"
            ),
            advice=f"{smooth} grid.frequency, or use results below it only; peak values include dispersed waves.",
        )


LARGEST, DECAY = 2.3, 4.16
"""Coefficients of the estimate: error = LARGEST exp(-DECAY path / wavelength).

The path leads from source or receiver (their mean) to the outer end of the layer. The fit uses the displacement of
SPECFEM3D's layered half-space against propagator matrices, with layers of 2.5 to 7.5 km and sides at 6 and 15 km for
waves of 16 km (25, 16, 7 and less than 1 %).
"""
LARGEST_FITTED = 0.3
TOLERATED_REFLECTION = 0.03
MAX_EXAMINED = 200
"""Largest number of sources, and of receivers, that are examined."""


@dataclass(frozen=True)
class Reflection:
    """Largest expected error of a seismogram through reflections.

    Attributes
    ----------
    error : float
        Amplitude of the reflection relative to the motion at the receiver.
    side : str
        Side that reflects, as ``x-``.
    receiver : int
        Index of the receiver.
    path : float
        Path to the outer end of the layer [m], as in ``LARGEST``.
    """

    error: float
    side: str
    receiver: int
    path: float


def dominant_frequency(sources: Sources, step: float, end_time: float) -> float:
    """Return the frequency [Hz] at which the far-field velocity of the sources is largest.

    0 if they radiate nothing.
    """
    frequencies, amplitudes = spectrum(sources, step, end_time)
    return float(frequencies[np.argmax(frequencies * amplitudes)])


def largest_reflection(
    sources: np.ndarray, receivers: np.ndarray, sides: Mapping[str, float], thickness: float, wavelength: float
) -> Reflection:
    """Return the largest expected reflection among all sides, sources and receivers.

    Parameters
    ----------
    sources : ndarray (n, 3)
        Places [m], n at least 1.
    receivers : ndarray (m, 3)
        Places [m], m at least 1.
    sides : mapping of str to float
        Coordinate [m] of each absorbing side by name, as ``x-``.
    thickness : float
        Thickness of the layers [m].
    wavelength : float
        Wavelength of the fastest waves at their dominant frequency [m].

    Returns
    -------
    Reflection
    """
    distance = np.linalg.norm(receivers[:, None] - sources, axis=2)
    found = [Reflection(0.0, "", 0, np.inf)]
    for side, at in sides.items():
        k = "xyz".index(side[0])
        to_side = np.abs(receivers[:, None, k] - at) + np.abs(sources[:, k] - at)
        path = 0.5 * to_side + thickness
        farther = distance / np.hypot(distance, to_side)
        error = LARGEST * np.exp(-DECAY * path / wavelength) * farther
        receiver, source = np.unravel_index(int(error.argmax()), error.shape)
        found.append(Reflection(float(error[receiver, source]), side, int(receiver), float(path[receiver, source])))
    return max(found, key=lambda reflection: reflection.error)


def check_reflections(
    placing: PlacementContext,
    sides: Mapping[str, str],
    parts: Mapping[str, GridCapabilityPlan],
    fastest: float,
    step: float,
) -> None:
    """Warn if matched layers are too thin, or too near, for the waves of the sources."""
    setting, case = placing.case.grid, placing.case
    assert setting is not None
    if AbsorberKind(setting.absorbing.kind) is not AbsorberKind.CPML or not {"sources", "receivers"} <= parts.keys():
        return
    bottom = placing.blocks[-1]
    thickness, of_sources = bottom.width * bottom.grid.spacing, parts["sources"].radiating
    corners = {"-": placing.lower, "+": placing.upper}
    absorbing: dict[str, float] = {
        s: float(corners[s[1]]["xyz".index(s[0])]) for s in SIDES if sides[s] == SideKind.ABSORBING
    }
    sources, receivers = (_some(parts[name].places) for name in ("sources", "receivers"))
    frequency = dominant_frequency(of_sources, step, case.end_time)
    if not len(receivers) or not frequency > 0 or not absorbing:
        return
    wavelength = fastest / frequency
    found = largest_reflection(sources, receivers, absorbing, thickness, wavelength)
    if found.error <= TOLERATED_REFLECTION:
        return
    more = wavelength / DECAY * np.log(found.error / TOLERATED_REFLECTION)
    points = int(np.ceil((thickness + more) / bottom.grid.spacing))
    where = ", ".join(f"{x:g}" for x in receivers[found.receiver])
    problems: Problems = placing.problems
    problems.warn(
        "grid.absorbing",
        f"reflections of the side {found.side} cause errors of displacement of roughly "
        f"{_percent(found.error)}, largest at the receiver ({where}): the layer ends "
        f"{found.path / wavelength:.2g} wavelengths from there and from the source, of {wavelength:.4g} m at "
        f"{frequency:.3g} Hz",
        f"{100 * TOLERATED_REFLECTION:g} % or less",
        f"Raise grid.absorbing.width from {bottom.width} to {points} points, or move the side away by {more:.3g} m.",
    )


def _percent(error: float) -> str:
    """Return an expected error in words, bounded by the largest one of the fit."""
    return f"about {100 * error:.2g} %" if error < LARGEST_FITTED else f"{100 * LARGEST_FITTED:g} % or more"


def _some(places: np.ndarray) -> np.ndarray:
    """Return at most MAX_EXAMINED of the places (n, 3), evenly chosen."""
    return places[:: max(1, -(-len(places) // MAX_EXAMINED))]


SHALLOW_FLUID = altered_end_planes(4)[1]
"""Number of planes below the free surface in which fluid-solid interfaces have no special treatment."""


def has_fluid_and_rock(modulus: np.ndarray) -> bool:
    """Return True if a box has both fluid and rock; ``modulus`` is mu [Pa] on a coarse lattice of the box."""
    fluid = modulus == 0
    return bool(fluid.any() and not fluid.all())


def check_fluids(blocks: Sequence[GridBlock], media: Sequence[Medium], problems: Problems) -> None:
    """Report problems of fluid-solid interfaces.

    A warning is issued if differences reach across an interface, because stress that remains in rock within two
    points of a fluid pushes the fluid forever. An interface near a face between blocks is an error: the face must lie
    in one of both.
    """
    for n, (upper, lower) in enumerate(zip(blocks, blocks[1:], strict=False)):
        if len(media[n].below | media[n + 1].above) > 1:
            z, planes = float(upper.lower[2]), [altered_end_planes(b.order)[at] for at, b in ((0, upper), (1, lower))]
            available = [count * block.grid.spacing for count, block in zip(planes, (upper, lower), strict=True)]
            what = f"the face at z = {z:g} m lies within {available[0]:g} m below or {available[1]:g} m above a border of fluid and rock"
            allowed = "faces farther from the sea floor, in rock or in fluid"
            problems.error(
                f"grid.blocks[{n}].below",
                what,
                allowed,
                "The stencils of block faces and of fluid-solid interfaces cannot overlap.",
            )
    cared = [block.grid.relief is None and block.order == 4 for block in blocks]
    if any(medium.shallow and not c for medium, c in zip(media, cared, strict=True)):
        where, advice = "on a grid of order 8 or below a topography", "Use order 4 and a flat surface"
    elif media[0].shallow:
        where, advice = f"within {SHALLOW_FLUID} cells of the surface", "Use a smaller spacing"
    else:
        return
    what = f"contains fluid next to rock {where}, where permanent stress in the rock continues to accelerate the fluid"
    advice += (
        ", engine: dg, or assign a shear speed to the fluid. Otherwise do not use long periods or displacement there."
    )
    problems.warn("material", what, advice=advice)


HALF_ROUNDING = 2.0**-11
"""Largest relative error of a coefficient in sixteen bits."""
FRICTION, ATTENUATION, YIELDING = 4.0, 2.0, 4.0
"""Factors on the estimate for waves in elastic rock."""


def estimate_rounding_error(plan: FdPlan) -> Estimate:
    """Return the estimated rounding error of a planned run.

    Single precision stores coefficients in sixteen bits, rounded such that their means are right. The error grows
    with the number of periods, as waves pass over more of them.
    """
    case, more = plan.case, dict[str, float]()
    if case.fault is not None:
        more[f"friction {case.fault.friction}"] = FRICTION
    if case.attenuation is not None:
        more["attenuation"] = ATTENUATION
    if case.yields:
        more["yielding"] = YIELDING
    periods = case.end_time * plan.frequency
    return Estimate(plan.steps, ERROR_OF_GRIDS, more, 0.5 * HALF_ROUNDING * math.sqrt(1.0 + periods))


def needs_double(case: Case) -> bool:
    """Return True if the friction law needs double precision to keep its balance of forces."""
    law = None if case.fault is None else laws().get(case.fault.friction)
    return law is not None and law.double
