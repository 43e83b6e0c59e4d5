"""Result of an inversion in a NetCDF file: slip, its uncertainty, and the fit of every channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.output.atomic import atomic_path, translate_os_errors

NAME = "inversion.nc"
LARGE = 2.0
"""Misfit above which residuals are no noise of the stated size."""
DIRECTIONS = ("along", "across")
REDUCTIONS = (
    ("variance reduction", "variance_reduction"),
    ("variance reduction of offsets", "offset_variance_reduction"),
)


@dataclass(frozen=True)
class InversionResult:
    """Posterior of slip, with the fit of the data.

    Attributes
    ----------
    mean : ndarray (windows, directions, subfaults)
        Posterior mean of slip in time windows [m].
    slip, deviation, resolution : ndarray (directions, subfaults)
        Mean and standard deviation of total slip [m], and one minus the ratio of posterior and prior variance.
    samples : ndarray (samples, windows, directions, subfaults)
        Samples of the posterior [m].
    geographic : ndarray (subfaults, 3)
        Longitude, latitude [deg] and depth [km] of subfaults.
    along, down : ndarray (subfaults,)
        Coordinates of subfaults on their segments [m].
    segment : ndarray (subfaults,)
        Number of the segment, from 1.
    onset : ndarray (subfaults,)
        Onset of the first time window [s].
    channels : tuple of str
        Names of the channels.
    time : ndarray (samples,)
        Times of the data [s].
    data, predicted, deviations : ndarray (channels, samples)
        Processed data, prediction of the mean, and standard deviation of the noise [m/s].
    offset_names : tuple of str
        Names of the static offsets.
    offset_place, offset_direction : ndarray (offsets, 2), ndarray (offsets, 3)
        Places x, y [m], and unit vectors along x, y and z.
    offset_data, offset_predicted, offset_deviations : ndarray (offsets,)
        Static offsets, prediction of the mean, and standard deviation of the noise [m].
    numbers : dict of str to float
        Moment, magnitude, fit, evidence and settings that were estimated.
    """

    mean: np.ndarray
    slip: np.ndarray
    deviation: np.ndarray
    resolution: np.ndarray
    samples: np.ndarray
    geographic: np.ndarray
    along: np.ndarray
    down: np.ndarray
    segment: np.ndarray
    onset: np.ndarray
    channels: tuple[str, ...]
    time: np.ndarray
    data: np.ndarray
    predicted: np.ndarray
    deviations: np.ndarray
    offset_names: tuple[str, ...]
    offset_place: np.ndarray
    offset_direction: np.ndarray
    offset_data: np.ndarray
    offset_predicted: np.ndarray
    offset_deviations: np.ndarray
    numbers: dict[str, float]

    @property
    def residuals(self) -> np.ndarray:
        """Data minus prediction (channels, samples) [m/s]."""
        return self.data - self.predicted

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of the summary."""
        n = self.numbers
        found = [
            ("moment along the rake", f"{n['moment']:.4g} +- {n['moment_deviation']:.2g} N m"),
            ("magnitude", f"{n['magnitude']:.3f} +- {n['magnitude_deviation']:.3f}"
             if np.isfinite(n["magnitude"]) else "none: the mean moment is not positive"),
            *((name, f"{100 * n[key]:.1f} %") for name, key in REDUCTIONS if np.isfinite(n[key])),
            ("misfit", f"{n['chi2']:.3g} (squared residuals over noise variance, mean)"
             + ("; intervals are too narrow" if n["chi2"] > LARGE else "")),
        ]  # fmt: skip
        if np.isfinite(n["offset_chi2"]) and len(self.channels):
            found.append(("misfit of offsets", f"{n['offset_chi2']:.3g}"))
        if np.isfinite(n["log_evidence"]):
            found.append(("log evidence", f"{n['log_evidence']:.2f}"))
        found += [
            ("slip", f"{self.slip[0].min():.3g} to {self.slip[0].max():.3g} m along the rake"
             + (", nowhere negative" if n["nonnegative"] else "")),
            ("prior", f"{n['amplitude']:.4g} m, correlation {n['length_strike']:.4g} m x {n['length_dip']:.4g} m"
             + (", an end of its range" if n["length_limited"] else "")),
            ("noise", f"factor {n['noise_scale']:.4g}"),
        ]  # fmt: skip
        return found

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


DIMENSIONS = {
    "mean": (("window", "direction", "subfault"), "m", "posterior mean of slip in time windows"),
    "slip": (("direction", "subfault"), "m", "posterior mean of total slip"),
    "deviation": (("direction", "subfault"), "m", "posterior standard deviation of total slip"),
    "resolution": (("direction", "subfault"), "1", "one minus posterior variance over prior variance"),
    "samples": (("sample", "window", "direction", "subfault"), "m", "samples of the posterior"),
    "geographic": (("subfault", "place"), "", "longitude [deg], latitude [deg], depth [km]"),
    "along": (("subfault",), "m", "coordinate along strike"),
    "down": (("subfault",), "m", "coordinate down dip"),
    "segment": (("subfault",), "1", "number of the segment"),
    "onset": (("subfault",), "s", "onset of the first time window"),
    "time": (("time",), "s", "time of the data"),
    "data": (("channel", "time"), "m/s", "processed velocity"),
    "predicted": (("channel", "time"), "m/s", "velocity predicted from the posterior mean"),
    "deviations": (("channel", "time"), "m/s", "standard deviation of the noise"),
    "offset_place": (("offset", "horizontal"), "m", "places x, y of static offsets"),
    "offset_direction": (("offset", "axis"), "1", "unit vectors of static offsets along x, y, z"),
    "offset_data": (("offset",), "m", "static offsets"),
    "offset_predicted": (("offset",), "m", "static offsets predicted from the posterior mean"),
    "offset_deviations": (("offset",), "m", "standard deviation of the noise of static offsets"),
}


def write_result(path: Path, result: InversionResult, title: str) -> Path:
    """Write a result atomically and return its path."""
    arrays = {name: getattr(result, name) for name in DIMENSIONS} | {"residuals": result.residuals}
    texts = {"channel_name": ("channel", result.channels), "offset_name": ("offset", result.offset_names)}
    about = DIMENSIONS | {"residuals": (("channel", "time"), "m/s", "data minus prediction")}
    return write_arrays(path, {"title": title, **result.numbers}, about, arrays, texts)


def write_arrays(
    path: Path,
    attributes: Mapping[str, str | float],
    about: Mapping[str, tuple[tuple[str, ...], str, str]],
    arrays: Mapping[str, np.ndarray],
    texts: Mapping[str, tuple[str, tuple[str, ...]]],
) -> Path:
    """Write arrays with their dimensions, units and texts, and lists of names by dimension, to a file atomically."""
    import netCDF4

    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary, netCDF4.Dataset(temporary, "w") as file:
        file.setncatts({"Conventions": "CF-1.10", **attributes})
        for name, (dims, unit, text) in about.items():
            values = arrays[name]
            for dim, size in zip(dims, values.shape, strict=True):
                if dim not in file.dimensions:
                    file.createDimension(dim, size)
            made = file.createVariable(name, "f8", dims, zlib=values.ndim > 1, complevel=1)
            made.units, made.long_name = unit, text
            made[:] = values
        for name, (dim, names) in texts.items():
            made = file.createVariable(name, str, (dim,))
            made[:] = np.array(names, object)
    return path


def read_result(path: Path) -> InversionResult:
    """Read a result; raise InputError if the file contains none."""
    import netCDF4

    try:
        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            arrays = {name: np.asarray(file[name][:]) for name in DIMENSIONS}
            numbers = {n: float(file.getncattr(n)) for n in file.ncattrs() if n not in ("Conventions", "title")}
            channels, offsets = (tuple(map(str, file[name][:])) for name in ("channel_name", "offset_name"))
            return InversionResult(**arrays, channels=channels, offset_names=offsets, numbers=numbers)
    except (OSError, RuntimeError, AttributeError, IndexError) as error:
        raise InputError(Problem(str(path), f"cannot be read as the result of an inversion: {error}")) from error
