"""Moment tensor and centroid as an event in QuakeML."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.inversion.moment_tensor.mechanism import COMPONENTS
from faultwave.inversion.moment_tensor.result import MomentTensorResult
from faultwave.output.atomic import atomic_path

if TYPE_CHECKING:
    from obspy.core.event import Event, FocalMechanism, Magnitude, Origin, ResourceIdentifier

NAME = "moment_tensor.xml"
DEGREE = 111.195e3
"""Length of a degree of latitude [m]."""


def write_quakeml(path: Path, result: MomentTensorResult, title: str, origin_time: datetime) -> Path:
    """Write the event atomically and return its path; times count from ``origin_time`` (UTC)."""
    from obspy.core.event import Catalog

    event = _event(result, title, origin_time)
    with atomic_path(path) as temporary:
        Catalog([event], resource_id=_id("catalog")).write(str(temporary), format="QUAKEML")
    return path


def _id(name: str) -> ResourceIdentifier:
    """Return an identifier that is the same in every run."""
    from obspy.core.event import ResourceIdentifier

    return ResourceIdentifier(f"smi:local/faultwave/{name}")


def _event(result: MomentTensorResult, title: str, origin_time: datetime) -> Event:
    from obspy import UTCDateTime
    from obspy.core import event as quakeml

    n = result.numbers
    start = origin_time.replace(tzinfo=UTC) if origin_time.tzinfo is None else origin_time.astimezone(UTC)
    time = start + timedelta(seconds=n["centroid_time"])
    origin = quakeml.Origin(
        resource_id=_id("centroid"), origin_type="centroid", time=UTCDateTime(time), longitude=n["longitude"],
        latitude=n["latitude"], depth=0.0 - n["z"],
    )  # fmt: skip
    origin.time_errors = quakeml.QuantityError(uncertainty=n["time_deviation"])
    origin.depth_errors = quakeml.QuantityError(uncertainty=n["z_deviation"])
    across = float(np.hypot(n["x_deviation"], n["y_deviation"]) / np.sqrt(2.0)) / DEGREE
    origin.latitude_errors = quakeml.QuantityError(uncertainty=across)
    narrow = max(float(np.cos(np.radians(n["latitude"]))), 1e-3)
    origin.longitude_errors = quakeml.QuantityError(uncertainty=across / narrow)
    magnitude = quakeml.Magnitude(
        resource_id=_id("magnitude"), mag=n["magnitude"], magnitude_type="Mw", origin_id=origin.resource_id
    )
    magnitude.mag_errors = quakeml.QuantityError(uncertainty=n["magnitude_deviation"])
    return quakeml.Event(
        resource_id=_id("event"), event_type="earthquake", origins=[origin], magnitudes=[magnitude],
        focal_mechanisms=[_mechanism(result, origin, magnitude)], preferred_origin_id=origin.resource_id,
        preferred_magnitude_id=magnitude.resource_id, preferred_focal_mechanism_id=_id("mechanism"),
        event_descriptions=[quakeml.EventDescription(text=title)] if title else [],
    )  # fmt: skip


def _mechanism(result: MomentTensorResult, origin: Origin, magnitude: Magnitude) -> FocalMechanism:
    from obspy.core import event as quakeml

    n, sigma = result.numbers, np.sqrt(np.maximum(np.diagonal(result.covariance), 0.0))
    names = [f"m_{name[1:]}" for name in COMPONENTS]
    tensor = quakeml.Tensor(**{name: float(m) for name, m in zip(names, result.tensor, strict=True)})
    for name, s in zip(names, sigma, strict=True):
        setattr(tensor, f"{name}_errors", quakeml.QuantityError(uncertainty=float(s)))
    planes = [quakeml.NodalPlane(strike=float(s), dip=float(d), rake=float(r)) for s, d, r in result.planes]
    moment = quakeml.MomentTensor(
        resource_id=_id("moment_tensor"), derived_origin_id=origin.resource_id, moment_magnitude_id=magnitude.resource_id,
        scalar_moment=n["moment"], tensor=tensor, double_couple=n["double_couple"], clvd=n["clvd"], iso=n["isotropic"],
        source_time_function=quakeml.SourceTimeFunction(type="triangle", duration=2.0 * n["half_duration"]),
    )  # fmt: skip
    moment.scalar_moment_errors = quakeml.QuantityError(uncertainty=n["moment_deviation"])
    if np.isfinite(n["variance_reduction"]):
        moment.variance_reduction = 100.0 * n["variance_reduction"]
    if len(result.window_tensors) > 1:  # no triangle
        moment.source_time_function = quakeml.SourceTimeFunction(type="unknown")
    return quakeml.FocalMechanism(
        resource_id=_id("mechanism"), moment_tensor=moment,
        nodal_planes=quakeml.NodalPlanes(nodal_plane_1=planes[0], nodal_plane_2=planes[1]),
    )  # fmt: skip
