"""Earthquake parameters of a run (place, depth, onset, magnitude), for file formats that store them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.base.formulas import magnitude
from faultwave.base.log import get_logger
from faultwave.base.projection import Projection
from faultwave.base.types import Settings
from faultwave.case.settings.model import Case
from faultwave.observe.dataset import Result
from faultwave.physics.sources.acting import moments_of
from faultwave.physics.sources.load import load_sources

log = get_logger(__name__)

OF_EVENTS = ("receivers", "fault_receivers")
"""Kinds of results that state the event."""


def with_event(case: Case, found: Sequence[Result]) -> list[Result]:
    """Return the results with attributes of the event added to receivers, as far as it is known.

    The attributes are ``event_location`` (3,) [m], ``event_onset`` [s] after the simulated time began, ``event_depth`` [m] below z = 0,
    ``event_longitude`` and ``event_latitude`` [deg], and ``event_magnitude``.
    """
    if not any(result.kind in OF_EVENTS for result in found):
        return list(found)
    try:
        event = _of_rupture(found) if case.fault is not None else _of_sources(case)
        if "event_location" in event:
            event |= _placed(case, event["event_location"])
    except (
        Exception
    ) as error:  # results without the event are better than none, whatever error a reader of sources raises
        log.warning("results do not state the event: %s: %s", type(error).__name__, error)
        return list(found)
    return [
        replace(r, data=replace(r.data, attrs={**r.data.attrs, **event})) if r.kind in OF_EVENTS else r for r in found
    ]


def _of_sources(case: Case) -> Settings:
    """Return place and onset of the earliest source, and the magnitude of all if no moment depends on the rock."""
    try:
        sources = load_sources(case.sources, projection=case.projection, warned=Problems())
    except InputError:  # a file was removed since the run began
        return {}
    acting = sources.chosen(sources.acting)
    if not len(acting):
        return {}
    first = int(np.argmin(acting.onset))
    found: Settings = {
        "event_location": [float(x) for x in acting.location[first]],
        "event_onset": float(acting.onset[first]),
    }
    volume, own = acting.potency[:, :3].sum(1) != 0, acting.potency.any(1)  # sources whose moment depends on the rock
    moduli = np.stack([np.where(volume, np.nan, 0.0), np.where(own, np.nan, 0.0)], 1)
    moment = moments_of(acting, acting.moment_tensors(*moduli.T), case.end_time).scalar
    return found | ({"event_magnitude": float(magnitude(moment))} if np.isfinite(moment) and moment > 0 else {})


def _of_rupture(found: Sequence[Result]) -> Settings:
    """Return place and onset of the rupture from its map, and the magnitude from the recorded moment."""
    data = {result.kind: result.data for result in found}
    event: Settings = {}
    if "rupture_map" in data:
        time = data["rupture_map"]["rupture_time"]
        if np.isfinite(time).any():
            face = int(np.nanargmin(time))
            corners = data["rupture_map"]["points"].reshape(-1, 3, 3)[face]
            event = {"event_location": [float(x) for x in corners.mean(0)], "event_onset": float(time[face])}
    moment = 0.0
    if "energies" in data and "seismic_moment" in data["energies"] and len(data["energies"]["seismic_moment"]):
        moment = float(np.asarray(data["energies"]["seismic_moment"])[-1])
    if "source_parameters" in data:
        moment = float(data["source_parameters"]["seismic_moment"])
    return event | ({"event_magnitude": float(magnitude(moment))} if moment > 0 else {})


def _placed(case: Case, location: Sequence[float]) -> dict[str, float]:
    found = {"event_depth": -float(location[2])}
    if case.projection is None:
        return found
    mapped = Projection(case.projection.crs, case.projection.origin, case.projection.azimuth)
    longitude, latitude = mapped.to_geographic(np.array([location[:2]]))[0]
    return found | {"event_longitude": float(longitude), "event_latitude": float(latitude)}
