"""A run with two stations on the map, and records of them in the files of seismology."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from faultwave.observe.dataset import receivers_from_arrays, with_places
from faultwave.observe.stations.codes import Station, with_stations
from faultwave.output.formats.receivers_hdf5 import write_receivers
from faultwave.output.trace import Results, Trace

ORIGIN = datetime(2019, 7, 6, 3, 19, 53, tzinfo=UTC)
STEP, TIME = 0.02, 0.02 * np.arange(1501)
PLACES = np.array([[-117.6, 35.7, 20.0], [-117.5, 35.8, 20.0]])
"""Longitude, latitude, and where y points."""


def motion(seed: int) -> np.ndarray:
    """(n, 3) along x, y, z: pulses of 0.3 to 3 Hz after 5 s."""
    found = np.zeros((len(TIME), 3))
    rng = np.random.default_rng(seed)
    for column in range(3):
        for frequency in rng.uniform(0.3, 3.0, 4):
            t = TIME - rng.uniform(5.0, 12.0)
            found[:, column] += np.where(t > 0, t * np.exp(-t) * np.sin(2 * np.pi * frequency * t), 0.0)
    return 0.01 * found


def run(folder: Path, origin: datetime | None = ORIGIN, extra: dict[str, np.ndarray] | None = None) -> Path:
    """A folder of results with the stations CI.CCC and CI.TOW2."""
    folder.mkdir(parents=True, exist_ok=True)
    values = np.stack([motion(1), motion(2)], axis=1)
    names = ["v1", "v2", "v3"]
    for name, column in (extra or {}).items():
        names.append(name)
        values = np.concatenate([values, np.broadcast_to(column[:, None, None], (len(TIME), 2, 1))], axis=2)
    data = receivers_from_arrays(TIME, values, names, np.array([[0.0, 0.0, 0.0], [9e3, 11e3, 0.0]]))
    data = with_places(data, PLACES)
    data = with_stations(data, (Station("CCC", "CI"), Station("TOW2", "CI")), origin)
    write_receivers(folder / "run-receivers.h5", [data])
    return folder


def to_map(values: np.ndarray, turned: float = 20.0) -> np.ndarray:
    """(3, n) east, north, up of (n, 3) along x, y, z."""
    a = np.radians(turned)
    x, y, z = values.T
    return np.array([np.cos(a) * x + np.sin(a) * y, -np.sin(a) * x + np.cos(a) * y, z])


def stream(
    values: np.ndarray, codes: tuple[str, str, str] = ("HHE", "HHN", "HHZ"), start: float = 0.0, station: str = "CCC"
):
    """Of (3, n) components."""
    import obspy

    header = {"network": "CI", "station": station, "delta": STEP, "starttime": obspy.UTCDateTime(ORIGIN) + start}
    return obspy.Stream(
        [obspy.Trace(np.ascontiguousarray(v), {**header, "channel": c}) for v, c in zip(values, codes, strict=True)]
    )


__all__ = ["ORIGIN", "PLACES", "STEP", "TIME", "Results", "Trace", "motion", "run", "stream", "to_map"]
