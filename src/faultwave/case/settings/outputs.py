"""Settings of the output of a run, of derived measurements and of checkpoints."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import (
    Geographic,
    InputFile,
    OutputFolder,
    Settings,
    Vector,
    check_ascending,
    need,
    only,
)
from faultwave.case.settings.grid import IntensityOutput
from faultwave.case.settings.sources import BoxOutput


class Flux(Settings):
    """Energy flow through a surface."""

    surface: str | int = Field(description="Physical surface, by name or tag.")
    out_of: str | int | None = Field(
        None, description="Volume from which the flow is counted; required for surfaces inside the mesh."
    )
    interval: Quantity("s", gt=0) = Field(description="Time between samples.")


class Spectrum(Settings):
    """Resonances in receiver records: frequencies and quality factors by harmonic inversion."""

    band: tuple[Quantity("Hz", gt=0), Quantity("Hz", gt=0)] = Field(
        description="Lowest and highest frequency of the search."
    )
    start: Quantity("s", ge=0) = Field(
        0.0, description=("Start of the analysed samples; choose a time after the sources have ended.")
    )
    floor: float = Field(0.01, gt=0, lt=1, description="Omit resonances weaker than this fraction of the strongest.")
    resolution: float = Field(1e-6, gt=0, lt=1, description="Relative amplitude that is considered noise.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need((self.band[0] < self.band[1], "band must be lowest, highest frequency"))
        return self


def _mode(text: str) -> str:
    if not re.fullmatch(r"T[EM][0-9][0-9]", text):
        raise ValueError(f"'{text}' is not a mode; TEmn or TMmn with two digits, such as TE10")
    low = min(text[2:])
    if text[2:] == "00" or (text[1] == "M" and low == "0"):
        raise ValueError(f"{text} does not exist in a rectangular guide: {'TM' if text[1] == 'M' else 'TE'} "
                         f"modes have {'both indices' if text[1] == 'M' else 'at least one index'} above 0")  # fmt: skip
    return text


class PortSurface(Settings):
    """Waveguide port, a plane rectangular surface across a waveguide."""

    surface: str | int = Field(description="Physical surface, by name or tag; a boundary of kind absorbing.")
    mode: Annotated[str, AfterValidator(_mode)] = Field(
        "TE10", description="TEmn or TMmn; the first index counts along the longer side, or along `along`."
    )
    along: tuple[float, float, float] | None = Field(
        None,
        description=(
            "Direction of the side that the mode's first index counts along; required if both sides are equally long."
        ),
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need((self.along is None or any(self.along), "along must not be zero"))
        return self


class Ports(Settings):
    """Waveguide ports, and the band of their scattering parameters."""

    surfaces: list[PortSurface] = Field(min_length=1, description="Ports 1, 2, ... in this order.")
    band: tuple[Quantity("Hz", gt=0), Quantity("Hz", gt=0)] = Field(description="Lowest and highest frequency.")
    points: Annotated[int, Field(ge=2, le=100_001)] = Field(201, description="Frequencies in the band.")
    drive: int = Field(
        1, ge=1, description="Port that a single run excites; scattering parameters need one run per port."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need(
            (self.band[0] < self.band[1], "band must be lowest, highest frequency"),
            (self.drive <= len(self.surfaces), f"drive is {self.drive}, but the case has {len(self.surfaces)} ports"),
        )
        return self


class Checkpoints(Settings):
    """Checkpoints from which an interrupted run resumes; one is also written when a run is stopped."""

    interval: Quantity("s", gt=0) | None = Field(None, description="Simulated time between checkpoints.")
    wall_time: Quantity("s", gt=0) | None = Field(None, description="Wall-clock time between checkpoints.")
    keep: int = Field(2, ge=1, description="Number of checkpoints to retain.")


class FarField(Settings):
    """Radar cross section from the scattered field around volumes."""

    volumes: list[str | int] = Field(min_length=1, description="Volumes inside the closed surface.")
    frequencies: list[Quantity("Hz", gt=0)] = Field(min_length=1, description="Frequencies.")
    theta: list[Quantity("deg")] = Field(min_length=1, description="Angles from the z axis.")
    phi: list[Quantity("deg")] = Field(
        [0.0], min_length=1, description="Angles around the z axis, from x; each with every theta."
    )
    interval: Quantity("s", gt=0) | None = Field(
        None, description="Sampling interval; default: a twentieth of the shortest period."
    )


MOST_DEGREE = 8
"""Largest degree of high-order output cells."""


def _utc(value: object) -> datetime:
    """Convert a date and time to UTC; without an offset it is UTC.

    A bare number is rejected, since its epoch is unknown.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"'{value}' is not a date and time") from None
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r} is not a date and time")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


OriginTime = Annotated[
    datetime,
    Field(json_schema_extra={"words": "a date with optional time: 2019-07-06T03:19:53.04Z"}),
    BeforeValidator(_utc),
]
StationCode = Annotated[
    str,
    Field(
        pattern="^[A-Za-z0-9_-]{0,7}[A-Za-z][A-Za-z0-9_-]{0,7}$",
        max_length=8,
        json_schema_extra={"words": "1 to 8 letters, digits, - and _, with at least one letter"},
    ),
]
NetworkCode = Annotated[
    str, Field(pattern="^[A-Za-z0-9]{1,8}$", json_schema_extra={"words": "1 to 8 letters and digits"})
]


class Receivers(Settings):
    """Seismograms at points in the volume."""

    points: list[Vector] = Field(default_factory=list, description="Receiver coordinates.")
    geographic: list[Geographic] = Field(
        default_factory=list, description="Receivers by longitude, latitude and z; the case needs a projection."
    )
    file: InputFile | None = Field(
        None, description="Text file, one 'x y z' a line; followed by optional codes of station and network."
    )
    geographic_file: InputFile | None = Field(
        None,
        description=(
            "Text file, one 'longitude latitude z' a line; followed by optional codes of station and network."
        ),
    )
    stations: InputFile | None = Field(
        None,
        description="Stations by longitude and latitude: StationXML, SPECFEM's STATIONS, SW4's rec lines, or "
        "CSV with columns station, longitude, latitude and, optionally, network and depth [m]. "
        "Stations are at the ground, or at their depth below it.",
    )
    names: list[StationCode] | None = Field(
        None, description="Station codes of `points` followed by `geographic`, one each; default R0001, R0002, ..."
    )
    network: NetworkCode = Field("FW", description="Network code of stations without a network code in the file.")
    interval: Quantity("s", gt=0) = Field(0.005, description="Sampling interval.")
    outside: Literal["error", "skip"] | None = Field(
        None,
        description="Receivers outside of the mesh: an error (the default), or skip: a warning, and NaN in "
        "their records, as in decks.",
        json_schema_extra=only("dg"),
    )
    rotation: bool = Field(False, description="Also write the curl of the velocity, which is twice the rotation rate.")
    strain_rate: bool = Field(False, description="Also write the strain rate.")

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        given = self.points or self.geographic or self.file or self.geographic_file or self.stations
        listed = len(self.points) + len(self.geographic)
        need(
            (given, "set points or a file, by x, y, z or geographic"),
            (
                self.names is None or len(self.names) == listed,
                f"names has {len(self.names or ())} for {listed} points and geographic ones",
            ),
        )
        return self


class FaultReceivers(Settings):
    """Time series at points on the fault."""

    points: list[Vector] = Field(default_factory=list, description="Points; they are moved to the nearest fault face.")
    file: InputFile | None = Field(None, description="Text file, one 'x y z' a line.")
    every: int = Field(1, ge=1, description="Write every n-th step of the point's cluster.")
    position: Literal["exact", "nearest"] | None = Field(
        None,
        description="Interpolate at the point, or use the nearest point at which friction is solved. Default: "
        "nearest on tetrahedra, exact on grids.",
    )
    maximum_distance: Quantity("m", gt=0) | None = Field(
        None,
        description=(
            "Largest distance from the fault; farther points are an error. Default: points are moved, with a warning."
        ),
    )
    fields: list[str] | None = Field(None, description="Quantities; default all.")

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        need((self.points or self.file, "set points or a file"))
        return self


class SoilOutput(Settings):
    """Strain and stress of soft soil at points, and maps of its peak strain."""

    points: list[Vector] = Field(
        default_factory=list,
        description=("Points in soil; strain and stress are those of the cell that contains the point."),
    )
    file: InputFile | None = Field(None, description="Text file of points in soil, one 'x y z' a line.")
    interval: Quantity("s", gt=0) = Field(0.005, description="Sampling interval.")


class FieldOutput(Settings):
    """Snapshots of a field."""

    interval: Quantity("s", gt=0) = Field(description="Time between snapshots.")
    fields: list[str] | None = Field(None, description="Quantities; default: the usual ones.")
    formats: list[str] = Field(
        default_factory=lambda: ["vtkhdf"],
        min_length=1,
        description="Engine fd: vtkhdf (ParaView; the file is NetCDF-4, too), netcdf (the same content, named "
        ".nc), awp (flat float32 files as AWP-ODC writes), essi (volume only, as SW4 writes for "
        "soil-structure models), or a format of an installed package.",
    )
    every: int = Field(1, ge=1, description="Engine fd: every n-th point along each axis.")
    refinement: int = Field(
        0, ge=0, le=3, description="Faces of fault and surface: 4^n triangles; cells: n = 0, 1, 2, 3 is 1, 4, 8, 32."
    )
    degree: int | None = Field(
        None,
        ge=1,
        le=MOST_DEGREE,
        description="Engine dg: fields as polynomials of this degree in each cell (VTK's Lagrange cells) "
        "instead of one value; order - 1 is the full solution.",
        json_schema_extra=only("dg", "cells of high degree exist on tetrahedra only"),
    )


class FaultOutput(FieldOutput):
    """Snapshots of the whole fault."""

    split: Literal["four", "three"] = Field(
        "four",
        description=(
            "Subdivision of a triangle per level of refinement: at the midpoints of its edges, or "
            "into three around its centre."
        ),
    )


class SurfaceOutput(FieldOutput):
    """Snapshots of the free surface, the sea surface and the sea floor."""

    sea_floor: bool = Field(
        False,
        description="Also write both sides of the sea floor: faces between rock and water.",
        json_schema_extra=only("dg"),
    )


class VolumeOutput(FieldOutput):
    """Snapshots of the wave field, or of a part of it."""

    region: tuple[Quantity("m"), Quantity("m"), Quantity("m"), Quantity("m"), Quantity("m"), Quantity("m")] | None = (
        Field(None, description="Restrict to cells whose centre is in xmin xmax ymin ymax zmin zmax.")
    )
    groups: list[int] | None = Field(None, description="Restrict to cells of these mesh groups.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.region is not None:
            r = self.region
            need(check_ascending(r[::2], r[1::2], "region must be xmin xmax ymin ymax zmin zmax, each min < max"))
        return self


class EnergyOutput(Settings):
    """Energies, frictional work, potency, moment and momentum."""

    interval: Quantity("s", gt=0) = Field(description="Time between rows.")
    slip_from_velocity: bool = Field(False, description="Potency from the velocity jump instead of the friction solve.")
    plain_mean: bool = Field(False, description="Average slip over points without weights, as in SeisSol.")
    isotropic: bool = Field(
        False,
        description="Energies and momentum of attenuating, anisotropic and porous rock by the formulas of "
        "isotropic elasticity, as in SeisSol; the correct values are written in addition as "
        "true_elastic_energy and so on.",
        json_schema_extra=only("dg"),
    )


class RuptureOutput(Settings):
    """Maps of the finished rupture, moment rate and its spectrum, source parameters."""

    interval: Quantity("s", gt=0) = Field(
        0.01, description="Time between rows of the moment rate, rounded up to a number of largest time steps."
    )
    slip_interval: Quantity("s", gt=0) | None = Field(
        None,
        description="Also store the slip of the whole fault, at this interval or at that of the rows if it is longer, "
        "for `faultwave convert` to finite sources (srf, nrf, fsrm, fsp, param, rupture-json).",
    )


class Output(Settings):
    """All files that a run writes."""

    folder: OutputFolder = Field(
        Path("output"),
        validate_default=True,
        description="Folder of every output file, relative to the working directory; created.",
    )
    prefix: str = Field(
        "run",
        pattern=r"^[^/\s][^/]*$",
        json_schema_extra={"words": "a non-empty string without / and without a leading space"},
        description="First part of every file name.",
    )
    origin_time: OriginTime | None = Field(
        None,
        description="Date and time (UTC) at which the simulated time begins, as 2019-07-06T03:19:53; it is "
        "written to seismograms. Without it SAC and StationXML contain no dates; miniSEED and "
        "ShakeMap, which require one, use 1970-01-01 and state this.",
    )
    receivers: Receivers | None = Field(None, description="Seismograms at points in the volume.")
    fault_receivers: FaultReceivers | None = Field(None, description="Histories at points on the fault.")
    fault: FaultOutput | None = Field(None, description="Snapshots of the whole fault.")
    rupture: RuptureOutput | None = Field(
        None,
        description="Maps of the final rupture, moment rate and its spectrum, source parameters.",
    )
    surface: SurfaceOutput | None = Field(None, description="Snapshots of the free surface and of the sea surface.")
    intensity: IntensityOutput | None = Field(
        None,
        description="Maps of ground motion intensity.",
        json_schema_extra=only("fd", "maps of intensity exist on grids only"),
    )
    soil: SoilOutput | None = Field(
        None,
        description="Strain and stress of soft soil at points, and maps of its peak strain.",
        json_schema_extra=only("fd", "soft soil exists on grids only"),
    )
    volume: VolumeOutput | None = Field(None, description="Snapshots of the wave field.")
    box: BoxOutput | None = Field(None, description="Wave field around a box, for injection into another run.")
    energies: EnergyOutput | None = Field(None, description="Energies, work and moment.")
    flux: list[Flux] = Field(
        default_factory=list, description="Energy flow through surfaces.", json_schema_extra=only("dg")
    )
    far_field: FarField | None = Field(None, description="Radar cross section.", json_schema_extra=only("dg"))
    spectrum: Spectrum | None = Field(
        None, description="Resonances of the receivers' records.", json_schema_extra=only("dg")
    )
    error_norms: bool = Field(
        False,
        description="Errors at the end against the exact solution of the initial state, by norm and quantity.",
        json_schema_extra=only("dg"),
    )
    checkpoint: Checkpoints | None = Field(None, description="Checkpoints, for `faultwave resume`.")
    precision: Literal["single", "double"] = Field("single", description="Precision of field files.")
    shared_files: Literal["auto", "mpi", "posix"] = Field(
        "auto",
        description=(
            "Writing of one file by several processes: MPI-IO if MPI supports several threads, or system calls."
        ),
    )
    xdmf: bool = Field(False, description="Also write XDMF.")
    seissol_layout: bool = Field(False, description="Also write receivers and energies as SeisSol's .dat and .csv.")
    sync: bool = Field(False, description="Shorten steps to meet output times exactly, as in SeisSol.")
