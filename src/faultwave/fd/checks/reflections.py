"""Estimate of the reflections of absorbing layers before a run, for waves that are long compared with the layers.

A matched layer absorbs travelling waves to some thousandths. Near sources, and for waves at grazing incidence, much of
the motion is evanescent across the layer. Damping does not act on it: the part that remains at the outer end of the
layer is reflected. It is the larger, the nearer the side and the thinner the layer, both measured in wavelengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.fd.capability import GridCapabilityPlan, PlacementContext
from faultwave.fd.method.grid import SIDES
from faultwave.physics.sources.point import Sources
from faultwave.physics.sources.spectrum import spectrum

LARGEST, DECAY = 2.3, 4.16
"""Coefficients of the estimate: error = LARGEST exp(-DECAY path / wavelength).

The path leads from source or receiver (their mean) to the outer end of the layer. The fit uses the displacement of
SPECFEM3D's layered half-space against propagator matrices, with layers of 2.5 to 7.5 km and sides at 6 and 15 km for
waves of 16 km (25, 16, 7 and less than 1 %).
"""
LARGEST_FITTED = 0.3
TOLERATED = 0.03
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
    if setting.absorbing.kind != "cpml" or not {"sources", "receivers"} <= parts.keys():
        return
    bottom = placing.blocks[-1]
    thickness, of_sources = bottom.width * bottom.grid.spacing, parts["sources"].radiating
    corners = {"-": placing.lower, "+": placing.upper}
    absorbing = {s: float(corners[s[1]]["xyz".index(s[0])]) for s in SIDES if sides[s] == "absorbing"}
    sources, receivers = (_some(parts[name].places) for name in ("sources", "receivers"))
    frequency = dominant_frequency(of_sources, step, case.end_time)
    if not len(receivers) or not frequency > 0 or not absorbing:
        return
    wavelength = fastest / frequency
    found = largest_reflection(sources, receivers, absorbing, thickness, wavelength)
    if found.error <= TOLERATED:
        return
    more = wavelength / DECAY * np.log(found.error / TOLERATED)
    points = int(np.ceil((thickness + more) / bottom.grid.spacing))
    where = ", ".join(f"{x:g}" for x in receivers[found.receiver])
    problems: Problems = placing.problems
    problems.warn(
        "grid.absorbing",
        f"displacements err by {_percent(found.error)}, by a rough estimate, through what the side {found.side} sends back, "
        f"most at the receiver ({where}): the layer ends {found.path / wavelength:.2g} wavelengths from there and from the source, "
        f"of {wavelength:.4g} m at {frequency:.3g} Hz",
        f"{100 * TOLERATED:g} % or less",
        f"Raise grid.absorbing.width from {bottom.width} to {points} points, or move the side away by {more:.3g} m.",
    )


def _percent(error: float) -> str:
    """Return an expected error in words, bounded by the largest one of the fit."""
    return f"about {100 * error:.2g} %" if error < LARGEST_FITTED else f"{100 * LARGEST_FITTED:g} % or more"


def _some(places: np.ndarray) -> np.ndarray:
    """Return at most MAX_EXAMINED of the places (n, 3), evenly chosen."""
    return places[:: max(1, -(-len(places) // MAX_EXAMINED))]


__all__ = ["Reflection", "check_reflections", "dominant_frequency", "largest_reflection"]
