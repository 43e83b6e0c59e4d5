"""Kinematic models on lattices: one slip, rake, onset and rise time for each subfault, for formats without slip rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.observe.finite_source import FiniteSource, SlipTimes
from faultwave.output.formats.finite_sources.request import Request, azimuths, depths

MOST_INCLINED = 5.0
"""Largest angle [deg] between a subfault that slips and the plane of its segment."""


@dataclass(frozen=True)
class LatticeModel:
    """Subfaults at the centres of the lattices of all segments.

    Attributes
    ----------
    lonlat : ndarray of shape (n, 2)
        Longitude and latitude [deg].
    from_epicentre : ndarray of shape (n, 2)
        Distance from the epicentre to the east and north [m].
    depth : ndarray of shape (n,)
        Depth below z = 0 [m].
    slip : ndarray of shape (n,)
        Slip over the whole area of a lattice cell, which releases the moment of the subfault [m].
    rake : ndarray of shape (n,)
        Rake in the plane of the segment [deg].
    moment : ndarray of shape (n,)
        Scalar moment [N m].
    times : SlipTimes
        Times of slip.
    strikes, dips, tops : ndarray of shape (segments,)
        Angles [deg] and depth of the upper edge [m] of each segment.
    hypocentre_lonlat : ndarray of shape (2,)
        Longitude and latitude of the subfault that slips first [deg].
    hypocentre_depth : float
        Its depth [m].
    distance : ndarray of shape (n,)
        Distance of the subfaults from the one that slips first [m].
    """

    lonlat: np.ndarray
    from_epicentre: np.ndarray
    depth: np.ndarray
    slip: np.ndarray
    rake: np.ndarray
    moment: np.ndarray
    times: SlipTimes
    strikes: np.ndarray
    dips: np.ndarray
    tops: np.ndarray
    hypocentre_lonlat: np.ndarray
    hypocentre_depth: float
    distance: np.ndarray

    @property
    def onset(self) -> np.ndarray:
        """Onset (n,) of slip [s], NaN without slip."""
        return self.times.onset

    @property
    def rise(self) -> np.ndarray:
        """Duration (n,) [s] of an isosceles triangle from the onset with the mean time of the slip, NaN without slip."""
        return np.asarray(2.0 * (self.times.centroid - self.times.onset))

    def speed(self) -> float:
        """Return the mean speed of the rupture [km/s], weighted by moment: distance from the hypocentre over time; 0 if unknown."""
        slips = self.moment > 0
        delay = self.onset[slips] - np.nanmin(self.onset)
        total = float(self.moment[slips] @ delay)
        return 1e-3 * float(self.moment[slips] @ self.distance[slips]) / total if total > 0 else 0.0


def slip_over_cells(source: FiniteSource) -> np.ndarray:
    """Return the slip (n,) over the whole area of the cells of the lattices which releases the moment of the subfaults [m]."""
    cells = np.concatenate([np.full(s.end - s.first, s.edges[0] * s.edges[1]) for s in source.segments])
    return np.asarray(np.linalg.norm(source.slip, axis=1) * source.area / cells)


def lattice_model(request: Request) -> LatticeModel:
    """Return the model of a source on lattices, with one mechanism of each segment.

    Raises
    ------
    InputError
        If a segment bends, or lies above z = 0.
    """
    source, earth = request.source, request.earth
    place = np.concatenate([s.centres for s in source.segments])
    normals = np.concatenate([np.tile(np.cross(s.dip, s.strike), (s.end - s.first, 1)) for s in source.segments])
    _check_planes(request, normals)
    direction, rake = source.directions[:, 0], np.zeros(len(place))
    for s in source.segments:
        items = slice(s.first, s.end)
        rake[items] = np.degrees(np.arctan2(-direction[items] @ s.dip, direction[items] @ s.strike))
    hypocentre = source.place[source.first]
    tops = np.stack([s.top_centre for s in source.segments])
    along = np.stack([s.strike for s in source.segments])
    lonlat = earth.to_continuous(np.concatenate([place, hypocentre[None]])[:, :2])
    north = earth.norths(*lonlat[-1:].T)[0]
    away = place - hypocentre
    return LatticeModel(
        lonlat[:-1], np.stack([away[:, :2] @ [north[1], -north[0]], away[:, :2] @ north], 1),
        depths(request, place[:, 2]), slip_over_cells(source), rake, source.moments, source.times,
        azimuths(earth, tops, along), np.degrees([np.arcsin(np.clip(-s.dip[2], 0.0, 1.0)) for s in source.segments]),
        np.maximum(0.0, -tops[:, 2]), lonlat[-1], float(-hypocentre[2]), np.linalg.norm(away, axis=1),
    )  # fmt: skip


def _check_planes(request: Request, normals: np.ndarray) -> None:
    """Raise InputError if subfaults that slip are inclined to the planes of their segments, of normals (n, 3)."""
    source = request.source
    cosines = np.abs((source.normal * normals).sum(1))[source.slipping]
    angle = float(np.degrees(np.arccos(np.clip(cosines.min(), 0.0, 1.0))))
    if angle > MOST_INCLINED:
        what = f"subfaults are inclined by up to {angle:.3g} degrees to the plane of their segment, which has one strike and dip"
        raise InputError(
            Problem(
                str(request.folder),
                what,
                f"up to {MOST_INCLINED:g} degrees",
                "Use srf, nrf or param, or one tag for each plane part of the fault.",
            )
        )
