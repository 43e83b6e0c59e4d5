"""Declaration and reading of an inversion: tensors, data, noise, and the slip to find."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from faultwave.base.errors import Problems
from faultwave.base.units import Quantity
from faultwave.campaign.settings import LaterFile
from faultwave.case.settings.common import Geographic, InputFile, OutputFolder, Settings, need
from faultwave.case.settings.grid import Projection
from faultwave.case.settings_file import Where, markdown_tables, read_contents, validated


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str | Path) else value


class BandSettings(Settings):
    """Band of data and Green's functions."""

    low: Quantity("Hz", gt=0) | None = Field(
        None, description="Corner of the high-pass (Butterworth, order four, forwards and backwards); none by default."
    )
    high: Quantity("Hz", gt=0) = Field(
        description="Frequency up to which amplitudes are unchanged; from it to 1.5 times it they decrease to zero."
    )

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        need((self.low is None or self.low < self.high, "low must be below high"))
        return self


class NoiseSettings(Settings):
    """Covariance of noise: the sum of three parts."""

    pre_event: Quantity("s", gt=0) | None = Field(
        None, description="Duration before `window` from which the autocovariance of each channel is estimated."
    )
    fraction: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Standard deviation of all components of a station as a fraction of the largest root mean square of one.",
    )
    level: Quantity("m/s", ge=0) = Field(0.0, description="Standard deviation of all channels.")
    scale: Literal["auto"] | Annotated[float, Field(gt=0)] = Field(
        1.0, description="Factor of all standard deviations; `auto`: that of the largest evidence."
    )

    @model_validator(mode="after")
    def _some(self) -> Self:
        need((self.pre_event or self.fraction or self.level, "needs pre_event, fraction or level"))
        return self


class GnssSettings(Settings):
    """Static offsets of GNSS stations."""

    file: InputFile = Field(
        description="Table (CSV): station, x and y [m] or longitude and latitude [deg], east, north, up, sigma_east, sigma_north, sigma_up."
    )
    unit: Literal["m", "cm", "mm"] = Field("m", description="Unit of offsets and standard deviations.")


class InsarSettings(Settings):
    """Static offsets in the line of sight of a satellite."""

    file: InputFile = Field(
        description="Table (CSV): x and y or longitude and latitude, offset, sigma, look_east, look_north, look_up."
    )
    unit: Literal["m", "cm", "mm"] = Field("m", description="Unit of offsets and standard deviations.")
    sill: Quantity("m^2", ge=0) = Field(
        0.0, description="Variance of noise that is correlated in space, in addition to `sigma` of each place."
    )
    range: Quantity("m", gt=0) | None = Field(
        None, description="Distance over which this noise is correlated: its covariance is sill exp(-distance / range)."
    )
    constant: Quantity("m", ge=0) = Field(
        0.0, description="Standard deviation of an unknown constant that all offsets of the file contain."
    )

    @model_validator(mode="after")
    def _both(self) -> Self:
        need(((self.sill > 0.0) == (self.range is not None), "sill and range belong together"))
        return self


class OffsetSettings(Settings):
    """Static offsets, in addition to seismograms or alone."""

    gnss: tuple[GnssSettings, ...] = Field((), description="Files of GNSS stations, a list of groups.")
    insar: tuple[InsarSettings, ...] = Field((), description="Files of InSAR, a list of groups.")
    nearest: Quantity("m", ge=0) = Field(
        10.0, description="Largest horizontal distance between an offset and the site whose tensors it uses."
    )

    @model_validator(mode="after")
    def _some(self) -> Self:
        need((bool(self.gnss or self.insar), "needs gnss or insar"))
        return self


class PlaneSettings(Settings):
    """Rectangular plane of equal subfaults."""

    top: Geographic = Field(
        description="Longitude, latitude [deg] and z [m], negative below sea level, of the middle of the upper edge."
    )
    strike: Quantity("deg", ge=-360, le=360) = Field(
        description="Strike, clockwise from north; the plane dips to its right."
    )
    dip: Quantity("deg", ge=0, le=90) = Field(description="Dip.")
    rake: Quantity("deg", ge=-360, le=360) = Field(description="Rake, the direction of slip along the rake.")
    length: Quantity("m", gt=0) = Field(description="Length along strike.")
    width: Quantity("m", gt=0) = Field(description="Width down dip.")
    subfaults: tuple[Annotated[int, Field(ge=1, le=10_000)], Annotated[int, Field(ge=1, le=10_000)]] = Field(
        description="Number of subfaults along strike and down dip."
    )


class SlipSettings(Settings):
    """Kinematic slip on the subfaults of SRF files and of planes."""

    faults: Annotated[tuple[InputFile, ...], BeforeValidator(_as_tuple)] = Field(
        (), description="SRF files with places, areas, angles and rakes of subfaults; their slip is not used."
    )
    planes: tuple[PlaneSettings, ...] = Field((), description="Planes of subfaults, a list of groups.")
    hypocentre: Geographic = Field(
        description="Longitude, latitude [deg] and z [m], negative below sea level, where the rupture front begins."
    )
    front_speed: Quantity("m/s", ge=100, le=2e4) = Field(
        description="Speed of the rupture front, with which the first time window of each subfault begins."
    )
    onset: Quantity("s") = Field(0.0, description="Time at which the rupture front begins.")
    windows: int = Field(
        1, ge=1, le=100, description="Number of time windows; each begins half a window after the last."
    )
    window_duration: Quantity("s", gt=0) = Field(description="Duration of a time window, a triangle of slip rate.")
    across: float = Field(
        0.5, ge=0, le=1, description="Standard deviation of slip across the rake over that along it; 0: along it only."
    )
    amplitude: Literal["auto"] | Quantity(
        "m", gt=0
    ) = Field("auto", description="Standard deviation of slip; `auto`: that of the largest evidence.")
    correlation_length: Literal["auto"] | tuple[Quantity("m", gt=0), Quantity("m", gt=0)] = Field(
        "auto", description="Correlation lengths along strike and down dip; `auto`: those of the largest evidence."
    )
    hurst: float = Field(0.75, gt=0, le=1, description="Hurst exponent of von Karman's correlation.")
    nonnegative: bool = Field(
        False, description="Whether slip in each window is restricted to directions within 45 degrees of the rake."
    )

    @model_validator(mode="after")
    def _on_earth(self) -> Self:
        longitude, latitude = np.asarray(self.hypocentre, float)[:2]
        on_earth = abs(longitude) <= 360.0 and abs(latitude) <= 90.0
        need((bool(self.faults or self.planes), "needs faults or planes"))
        need((on_earth, f"hypocentre has longitude {longitude:g} and latitude {latitude:g}: longitude is first"))
        return self


class MomentTensorSettings(Settings):
    """Moment tensor of a point source, whose place and time are searched."""

    kind: Literal["full", "deviatoric", "double-couple"] = Field(
        "deviatoric", description="Tensors: all, those without change of volume, or slip on a plane."
    )
    half_duration: Quantity("s", gt=0) = Field(
        description="Half the duration of the triangle of moment rate of a time window."
    )
    windows: int = Field(
        1,
        ge=1,
        le=50,
        description="Number of time windows with a tensor each; each begins `half_duration` after the last.",
    )
    times: tuple[Quantity("s"), Quantity("s")] = Field(
        description="First and last time that is tried for the middle of the first time window."
    )
    time_step: Quantity("s", gt=0) | None = Field(
        None, description="Step of these times; by default the interval of the data."
    )
    near: Geographic | None = Field(
        None,
        description="Longitude, latitude [deg] and z [m] around which points of the tensors are tried; all by default.",
    )
    within: Quantity("m", gt=0) | None = Field(None, description="Largest distance of these points from `near`.")

    @model_validator(mode="after")
    def _ranges(self) -> Self:
        need(
            (self.times[0] <= self.times[1], "the last of times is before the first"),
            ((self.near is None) == (self.within is None), "near and within belong together"),
        )
        return self


class InversionSettings(Settings):
    """Inversion of seismograms and static offsets for slip or for a moment tensor."""

    title: str = Field("", description="Title.")
    tensors: Annotated[tuple[LaterFile, ...], BeforeValidator(_as_tuple)] = Field(
        description="Files that `faultwave sgt` wrote, each with one or more sites.", min_length=1
    )
    projection: Projection | None = Field(
        None, description="Map projection of the case of the tensors; needed only before they exist."
    )
    data: Path | None = Field(
        None,
        description="Folder of a run with receivers, or of miniSEED, SAC, GSE or K-NET files with StationXML; none with `offsets` alone.",
    )
    unit: Literal["m/s", "m"] | None = Field(
        None, description="Unit of the data, needed with `data`. Counts are an error."
    )
    origin_time: datetime | None = Field(
        None, description="UTC time zero of the source; needed for seismological files."
    )
    band: BandSettings | None = Field(None, description="Band of data and Green's functions, needed with `data`.")
    window: tuple[Quantity("s"), Quantity("s")] | None = Field(
        None, description="First and last time of the data, needed with `data`."
    )
    offsets: OffsetSettings | None = Field(None, description="Static offsets of GNSS and InSAR.")
    nearest: Quantity("m", ge=0) = Field(
        1.0,
        description="Largest distance between a subfault, or a point of another file, and the point whose tensors it uses.",
    )
    noise: NoiseSettings | None = Field(None, description="Covariance of noise of the data, needed with `data`.")
    slip: SlipSettings | None = Field(None, description="Slip on faults to find; this or `moment_tensor`.")
    moment_tensor: MomentTensorSettings | None = Field(
        None, description="Moment tensor of a point source to find, with its centroid; this or `slip`."
    )
    solver: Literal["auto", "cholesky", "conjugate-gradients"] = Field(
        "auto", description="Solution in data space; `auto`: Cholesky factor up to 10,000 samples."
    )
    samples: int = Field(20, ge=2, le=10_000, description="Number of samples of the posterior.")
    seed: int = Field(0, ge=0, description="Seed of the samples.")
    folder: OutputFolder | None = Field(
        None, description="Folder of the results; by default the name of the inversion file."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        needed = {"unit": self.unit, "band": self.band, "window": self.window, "noise": self.noise}
        waveforms, slip = self.data is not None, self.slip is not None
        need(
            (slip != (self.moment_tensor is not None), "needs either slip or moment_tensor"),
            (slip or self.solver == "auto", "solver has no effect with moment_tensor"),
            (waveforms or self.offsets is not None, "needs data, offsets or both"),
            *(
                (not waveforms or value is not None, f"{name} is missing, which data needs")
                for name, value in needed.items()
            ),
            *((waveforms or value is None, f"{name} has no effect without data") for name, value in needed.items()),
            (self.window is None or self.window[0] < self.window[1], "window must end after it begins"),
        )
        return self

    @property
    def records(self) -> Path:
        """Folder of the seismograms of an inversion that has some."""
        assert self.data is not None
        return self.data

    @property
    def motion_unit(self) -> str:
        """Unit of the seismograms of an inversion that has some."""
        assert self.unit is not None
        return self.unit

    @property
    def passband(self) -> BandSettings:
        """Band of an inversion that has seismograms."""
        assert self.band is not None
        return self.band

    @property
    def noise_scale(self) -> float | Literal["auto"]:
        """Factor of all standard deviations of noise."""
        return 1.0 if self.noise is None else self.noise.scale

    @property
    def kinematic(self) -> SlipSettings:
        """Slip of an inversion for slip."""
        assert self.slip is not None
        return self.slip

    @property
    def point_source(self) -> MomentTensorSettings:
        """Moment tensor of an inversion for a moment tensor."""
        assert self.moment_tensor is not None
        return self.moment_tensor

    @property
    def results(self) -> Path:
        """Folder of the results."""
        assert self.folder is not None
        return Path(self.folder)


def load_inversion(source: object, folder: str | Path | None = None) -> tuple[InversionSettings, Where]:
    """Read an inversion from a file (YAML) or its contents, and return valid settings and the place of a setting.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    problems = Problems()
    data, folders, where = read_contents(source, "inversion", problems)
    problems.raise_errors()
    found = validated(InversionSettings, data, folders, where, "inversion")
    name = Path(str(source)).stem if not isinstance(source, Mapping) else "inversion"
    results = Path(folder).absolute() if folder is not None else found.folder or Path.cwd() / name
    changes: dict[str, Path] = {"folder": results}
    if found.data is not None:
        changes["data"] = (folders[0] / found.data.expanduser()).absolute()
    return found.model_copy(update=changes), where


def inversion_markdown() -> str:
    """Return the reference of the settings of an inversion: a table for each group."""
    groups = (
        ("An inversion", InversionSettings), ("`band`", BandSettings), ("`noise`", NoiseSettings), ("`offsets`", OffsetSettings),
        ("`offsets.gnss`", GnssSettings), ("`offsets.insar`", InsarSettings), ("`slip`", SlipSettings), ("`slip.planes`", PlaneSettings),
        ("`moment_tensor`", MomentTensorSettings),
    )  # fmt: skip
    return markdown_tables(groups)
