"""Result of an inversion for a moment tensor: tensor, centroid, misfit of every place, and fit of the data, with its files."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.campaign.sources import moment_magnitude
from faultwave.inversion.moment_tensor.mechanism import COMPONENTS, planes, scalar_moment
from faultwave.inversion.result import DIMENSIONS as DATA
from faultwave.inversion.result import LARGE, REDUCTIONS, write_arrays
from faultwave.output.atomic import atomic_text

NAME = "moment_tensor.nc"
TABLE = "centroids.csv"
SIDES = (
    (("at smaller x", "at larger x"), "outward_x"),
    (("at smaller y", "at larger y"), "outward_y"),
    (("deeper", "shallower"), "outward_z"),
)
TOWARDS = 0.3
"""Component of a unit vector from which on it counts as a direction."""


@dataclass(frozen=True)
class MomentTensorResult:
    """Moment tensor with its centroid, and the fit of the data.

    Attributes
    ----------
    tensor : ndarray (6,)
        Mrr, Mtt, Mpp, Mrt, Mrp, Mtp, sum of all time windows [N m].
    covariance : ndarray (6, 6)
        Covariance of the tensor at the best centroid [N^2 m^2].
    window_tensors : ndarray (windows, 6)
        Tensor of each time window [N m].
    planes : ndarray (2, 3)
        Strike, dip and rake of both planes [deg].
    plane_deviations : ndarray (3,)
        Standard deviations of strike, dip and rake of the first plane of a double couple [deg], else NaN.
    samples : ndarray (samples, 6)
        Samples of the tensor, whose places and times vary with their probability [N m].
    sample_centroid : ndarray (samples, 4)
        Longitude, latitude [deg], z [m] and time [s] of the samples.
    place : ndarray (places, 3)
        Longitude, latitude [deg] and z [m] of the places that were tried.
    times : ndarray (times,)
        Times of the middle of the first time window that were tried [s].
    misfit, probability : ndarray (places, times)
        Smallest squared residuals over the noise, infinite where data do not determine a tensor, and probability of each place and time.
    place_tensor : ndarray (places, 6)
        Tensor of each place at its best time [N m].
    place_time : ndarray (places,)
        Time of the centroid of all time windows of each place at its best time [s].
    channels : tuple of str
        Names of the channels.
    time : ndarray (samples,)
        Times of the data [s].
    data, predicted, deviations : ndarray (channels, samples)
        Processed data, prediction, and standard deviation of the noise [m/s].
    offset_names : tuple of str
        Names of the static offsets.
    offset_place, offset_direction : ndarray (offsets, 2), ndarray (offsets, 3)
        Places x, y [m], and unit vectors along x, y and z.
    offset_data, offset_predicted, offset_deviations : ndarray (offsets,)
        Static offsets, prediction, and standard deviation of the noise [m].
    numbers : dict of str to float
        Moment, magnitude, centroid, decomposition and fit.
    """

    tensor: np.ndarray
    covariance: np.ndarray
    window_tensors: np.ndarray
    planes: np.ndarray
    plane_deviations: np.ndarray
    samples: np.ndarray
    sample_centroid: np.ndarray
    place: np.ndarray
    times: np.ndarray
    misfit: np.ndarray
    probability: np.ndarray
    place_tensor: np.ndarray
    place_time: np.ndarray
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

    def _deviation(self, axis: str, unit: str, digits: str) -> str:
        """Return the standard deviation of a coordinate of the centroid, or its limit by the spacing of the search, as text."""
        size, step = self.numbers[f"{axis}_deviation"], self.numbers[f"{axis}_spacing"]
        if step == size == 0.0:
            return f"{axis} fixed"
        return f"{axis} {'< ' if size == step else '+- '}{size:{digits}} {unit}" + (
            " (spacing)" if size == step else ""
        )

    @property
    def sides(self) -> tuple[str, ...]:
        """Sides on which the centroid is at the edge of the places, such as 'deeper'."""
        found = (name for names, key in SIDES for name, sign in zip(names, (-1, 1), strict=True)
                 if sign * self.numbers[key] > TOWARDS)  # fmt: skip
        return tuple(found)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Warnings of places without result, and of a centroid at an edge of places or times, beyond which the misfit may be smaller."""
        found = list[Problem]()
        if count := int(self.numbers["undetermined"]):
            what = (
                f"the data do not determine the tensor at {count:,} of {len(self.place):,} places, which are excluded"
            )
            advice = "At the free surface some components cause no motion. Use deeper points, or more stations or components."
            found.append(Problem("moment_tensor", what, advice=advice, severity="warning"))
        if self.sides:
            what = f"the centroid is at the edge of the places: none is {' or '.join(self.sides)}"
            advice = "The misfit may be smaller there. Increase within, or compute the tensors at more points."
            found.append(Problem("moment_tensor", what, advice=advice, severity="warning"))
        if self.numbers["time_limited"]:
            first = int(self.misfit.min(0).argmin()) == 0
            time, end = (self.times[0], "first") if first else (self.times[-1], "last")
            what = f"the best time is the {end} one of the times, {time:g} s"
            advice = f"The misfit may be smaller {'before' if first else 'after'} it. Extend times."
            found.append(Problem("moment_tensor.times", what, advice=advice, severity="warning"))
        return tuple(found)

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of the summary."""
        n, sigma = self.numbers, np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        unit = 10.0 ** np.floor(np.log10(max(float(np.abs(self.tensor).max()), 1e-300)))
        parts = (f"{m / unit:.3f} +- {s / unit:.3f}" for m, s in zip(self.tensor, sigma, strict=True))
        unsure = self.plane_deviations
        angles = ["strike {:.1f}, dip {:.1f}, rake {:.1f} deg".format(*plane) for plane in self.planes]
        if np.isfinite(unsure).all():
            angles[0] += " +- {:.1f}, {:.1f}, {:.1f}".format(*unsure)
        found = [
            ("moment", f"{n['moment']:.4g} +- {n['moment_deviation']:.2g} N m"),
            ("magnitude", f"{n['magnitude']:.3f} +- {n['magnitude_deviation']:.3f}"),
            (f"tensor [{unit:.0e} N m]", ", ".join(f"{c} {p}" for c, p in zip(COMPONENTS, parts, strict=True))),
            ("first plane", angles[0]),
            ("second plane", angles[1]),
            ("decomposition", f"double couple {100 * n['double_couple']:.0f} %, CLVD {100 * n['clvd']:.0f} %, "
             f"isotropic {100 * n['isotropic']:.0f} %"),
            ("centroid", f"longitude {n['longitude']:.5f}, latitude {n['latitude']:.5f} deg, z {n['z']:.0f} m"
             f"; {', '.join(self._deviation(a, 'm', '.0f') for a in 'xyz')}"
             + (f", at the edge of the places: none is {' or '.join(self.sides)}" if self.sides else "")),
            ("centroid time", f"{n['centroid_time']:.3f} s; {self._deviation('time', 's', '.3f')}"
             + (", an end of the times" if n["time_limited"] else "")),
            *((name, f"{100 * n[key]:.1f} %") for name, key in REDUCTIONS if np.isfinite(n[key])),
            ("misfit", f"{n['chi2']:.3g} (squared residuals over noise variance, mean)"
             + ("; uncertainties are too small" if n["chi2"] > LARGE else "")),
        ]  # fmt: skip
        if np.isfinite(n["offset_chi2"]) and len(self.channels):
            found.append(("misfit of offsets", f"{n['offset_chi2']:.3g}"))
        return [*found, ("noise", f"factor {n['noise_scale']:.4g}")]

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


SHARED = (
    "time", "data", "predicted", "deviations", "offset_place", "offset_direction", "offset_data", "offset_predicted",
    "offset_deviations",
)  # fmt: skip
DIMENSIONS = {
    "tensor": (("component",), "N m", "Mrr Mtt Mpp Mrt Mrp Mtp: r up, t south, p east"),
    "covariance": (("component", "component_too"), "N2 m2", "covariance of the tensor at the best centroid"),
    "window_tensors": (("window", "component"), "N m", "tensor of each time window"),
    "planes": (("plane", "angle"), "deg", "strike, dip and rake"),
    "plane_deviations": (("angle",), "deg", "standard deviations of strike, dip and rake of a double couple"),
    "samples": (("sample", "component"), "N m", "samples of the tensor"),
    "sample_centroid": (
        ("sample", "coordinate"),
        "",
        "longitude [deg], latitude [deg], z [m], time [s] of the samples",
    ),
    "place": (("place", "geographic"), "", "longitude [deg], latitude [deg], z [m]"),
    "times": (("centroid_time",), "s", "times of the middle of the first time window"),
    "misfit": (("place", "centroid_time"), "1", "smallest squared residuals over the noise"),
    "probability": (("place", "centroid_time"), "1", "probability of each place and time"),
    "place_tensor": (("place", "component"), "N m", "tensor of each place at its best time"),
    "place_time": (("place",), "s", "time of the centroid of all time windows at the best time"),
    **{name: DATA[name] for name in SHARED},
}


def write_moment_tensor(path: Path, result: MomentTensorResult, title: str) -> Path:
    """Write a result atomically and return its path."""
    arrays = {name: getattr(result, name) for name in DIMENSIONS}
    texts = {"channel_name": ("channel", result.channels), "offset_name": ("offset", result.offset_names)}
    return write_arrays(path, {"title": title, **result.numbers}, DIMENSIONS, arrays, texts)


def read_moment_tensor(path: Path) -> MomentTensorResult:
    """Read a result; raise InputError if the file contains none."""
    import netCDF4

    try:
        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            arrays = {name: np.asarray(file[name][:]) for name in DIMENSIONS}
            numbers = {n: float(file.getncattr(n)) for n in file.ncattrs() if n not in ("Conventions", "title")}
            channels, offsets = (tuple(map(str, file[name][:])) for name in ("channel_name", "offset_name"))
            return MomentTensorResult(**arrays, channels=channels, offset_names=offsets, numbers=numbers)
    except (OSError, RuntimeError, AttributeError, IndexError) as error:
        what = f"cannot be read as the result of an inversion for a moment tensor: {error}"
        raise InputError(Problem(str(path), what)) from error


def write_centroids(path: Path, result: MomentTensorResult) -> Path:
    """Write the table of places, the smallest misfit first, and return its path."""
    header = [
        "longitude",
        "latitude",
        "depth_km",
        "time",
        "misfit",
        "probability",
        "magnitude",
        "strike",
        "dip",
        "rake",
    ]
    with atomic_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*header, *COMPONENTS])
        smallest = result.misfit.min(1)
        for place in np.argsort(smallest, kind="stable")[: int(np.isfinite(smallest).sum())]:
            longitude, latitude, z = result.place[place]
            tensor, time = result.place_tensor[place], result.place_time[place]
            writer.writerow([
                f"{longitude:.6f}", f"{latitude:.6f}", f"{0.0 - 1e-3 * z:.5f}", f"{time:.6g}",
                f"{smallest[place]:.6g}", f"{result.probability[place].sum():.6g}",
                f"{moment_magnitude(float(scalar_moment(tensor))):.4f}", *(f"{a:.2f}" for a in planes(tensor)[0]),
                *(f"{m:.6g}" for m in tensor),
            ])  # fmt: skip
    return path
