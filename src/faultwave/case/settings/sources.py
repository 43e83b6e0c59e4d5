"""Settings of wave sources: point and finite sources, incident and injected waves, and faces with a prescribed motion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from faultwave.base.registry import entries
from faultwave.base.units import LARGEST, Quantity
from faultwave.case.settings.common import (
    Geographic,
    InputFile,
    Kinds,
    Settings,
    Vector,
    check_ascending,
    need,
    one_of,
    only_for_kinds,
)
from faultwave.case.settings.fields import FieldSetting


class TimeFunction(Kinds):
    """Source time function S(t); for a moment tensor it is the moment rate with unit integral."""

    kind: Literal["brune", "ricker", "gaussian", "triangle", "yoffe", "error-function", "burst", "samples"] = Field(
        description="Shape of the time function: brune t/T^2 exp(-t/T), ricker, gaussian, triangle, yoffe, "
        "error-function, burst exp(-((t - 4 T)/T)^2) sin(2 pi f (t - 4 T)), samples."
    )
    duration: Quantity("s", gt=0) = Field(
        1.0,
        description="T of the shape: of a gaussian its standard deviation, of a ricker 1/frequency.",
        json_schema_extra=only_for_kinds("brune", "ricker", "gaussian", "triangle", "yoffe", "error-function", "burst"),
    )
    frequency: Quantity("Hz", gt=0) | None = Field(
        None,
        description="f of the burst; of a ricker instead of its duration.",
        json_schema_extra=only_for_kinds("ricker", "burst"),
    )
    acceleration: Quantity("s", ge=0) = Field(
        0.0, description="tau_S of the Yoffe function.", json_schema_extra=only_for_kinds("yoffe")
    )
    samples: list[Annotated[float, Field(ge=-LARGEST, le=LARGEST)]] = Field(
        default_factory=list,
        description="Values at multiples of the interval.",
        json_schema_extra=only_for_kinds("samples"),
    )
    interval: Quantity("s", gt=0) = Field(
        1.0, description="Spacing of the samples.", json_schema_extra=only_for_kinds("samples")
    )

    def conditions(self) -> Iterable[tuple[object, str]]:
        return (
            (self.kind != "samples" or len(self.samples) >= 2, "kind samples needs at least two samples"),
            (self.kind != "yoffe" or self.acceleration > 0, "kind yoffe needs acceleration (tau_S) > 0"),
            (self.kind != "burst" or self.frequency, "kind burst needs a frequency"),
            (
                self.kind != "ricker" or not {"duration", "frequency"} <= self.model_fields_set or not self.frequency,
                "a ricker takes either frequency or duration (1/frequency), not both",
            ),
        )


class AwpNodes(Settings):
    """Positions and time steps of AWP-ODC's source file, which does not contain them."""

    spacing: Quantity("m", gt=0) = Field(description="Between nodes.")
    origin: Vector = Field((0.0, 0.0, 0.0), description="x, y and z of node (1, 1, 1); z goes down from there.")
    interval: Quantity("s", gt=0) = Field(description="Between the rates.")
    steps: int = Field(ge=1, description="Number of rates of each component of a subfault.")


FILES = tuple(entries("faultwave.physics.sources.readers"))
POINTS = ("moment-tensor", "double-couple", "force")


class Source(Kinds):
    """Point source, or a file of sources."""

    kind: one_of("moment-tensor", "double-couple", "force", "plane-wave", *FILES) = Field(
        description="Kind of source, or format of the file."
    )
    location: Vector | None = Field(
        None, description="Location; required unless geographic is set.", json_schema_extra=only_for_kinds(*POINTS)
    )
    geographic: Geographic | None = Field(
        None,
        description=(
            "Location by longitude, latitude and z; the case needs a projection. Tensor and force stay along x, y, z."
        ),
        json_schema_extra=only_for_kinds(*POINTS),
    )
    tensor: dict[Literal["xx", "yy", "zz", "xy", "yz", "xz"], Quantity("N*m")] = Field(
        default_factory=dict,
        description="Moment tensor (physical sign), missing components are zero.",
        json_schema_extra=only_for_kinds("moment-tensor"),
    )
    strike: Quantity("deg", ge=-360, le=360) | None = Field(
        None,
        description="Strike of the fault plane, which dips to the right; clockwise from true north if the "
        "case has a projection, otherwise from y.",
        json_schema_extra=only_for_kinds("double-couple"),
    )
    dip: Quantity("deg", ge=0, le=90) | None = Field(
        None,
        description="Dip of the fault plane from the horizontal.",
        json_schema_extra=only_for_kinds("double-couple"),
    )
    rake: Quantity("deg", ge=-360, le=360) | None = Field(
        None,
        description="Direction in which the upper side slips: 0 is left-lateral, 90 a thrust, 180 right-lateral, -90 normal faulting.",
        json_schema_extra=only_for_kinds("double-couple"),
    )
    magnitude: float | None = Field(
        None, ge=-6, le=11, description="Moment magnitude Mw.", json_schema_extra=only_for_kinds("double-couple")
    )
    seismic_moment: Quantity("N*m", gt=0) | None = Field(
        None, description="Scalar moment, instead of the magnitude.", json_schema_extra=only_for_kinds("double-couple")
    )
    force: tuple[Quantity("N"), Quantity("N"), Quantity("N")] = Field(
        (0.0, 0.0, 0.0), description="Force.", json_schema_extra=only_for_kinds("force")
    )
    z: Quantity("m") | None = Field(
        None,
        description="Height of the plane at which the wave starts.",
        json_schema_extra=only_for_kinds("plane-wave"),
    )
    velocity: tuple[Quantity("m/s"), Quantity("m/s"), Quantity("m/s")] = Field(
        (0.0, 0.0, 0.0),
        description="Velocity of the rising wave (engine fd), times S(t): along x and y an S, along z a P wave.",
        json_schema_extra=only_for_kinds("plane-wave"),
    )
    onset: Quantity("s") = Field(0.0, description="Start of the time function; added to the times of a file.")
    time_function: TimeFunction | None = Field(
        None,
        description="S(t); source files contain their own.",
        json_schema_extra=only_for_kinds(*POINTS, "plane-wave"),
    )
    file: InputFile | None = Field(
        None,
        description="Source file: NRF (NetCDF), FSRM, SRF, FSP (SRCMOD), param (USGS), CMTSOLUTION (text), AWP's moment rates.",
        json_schema_extra=only_for_kinds(*FILES),
    )
    slip_rate: Literal["triangle", "cosine", "yoffe"] = Field(
        "triangle",
        description="Shape of the slip rate of a file that states rise times: each lasts for the rise time; yoffe is the "
        "regularised one with tau_S of a tenth of it.",
        json_schema_extra=only_for_kinds("fsp"),
    )
    nodes: AwpNodes | None = Field(
        None, description="Location of the nodes and time steps of the file.", json_schema_extra=only_for_kinds("awp")
    )

    def conditions(self) -> Iterable[tuple[object, str]]:
        plane, filed, point = self.kind == "plane-wave", self.kind in FILES, self.kind in POINTS
        places = (self.location is not None) + (self.geographic is not None)
        couple = self.kind == "double-couple"
        missing = [name for name in ("strike", "dip", "rake") if getattr(self, name) is None]
        return (
            (not couple or not missing, f"kind double-couple needs {', '.join(missing)}"),
            (
                not couple or (self.magnitude is None) != (self.seismic_moment is None),
                "a double-couple needs either magnitude (Mw) or seismic_moment (M0)",
            ),
            (self.kind != "awp" or self.nodes, "kind awp needs nodes: spacing, interval, steps"),
            (not filed or self.file, f"kind {self.kind} needs a file"),
            (not plane or self.z is not None, "kind plane-wave needs z, the height at which the wave starts"),
            (not plane or any(self.velocity), "kind plane-wave needs a velocity that is not zero"),
            (not point or places < 2, "set location or geographic, not both"),
            (not point or places > 0, f"kind {self.kind} needs a location: [x, y, z] (or geographic)"),
            (filed or self.time_function, f"kind {self.kind} needs a time_function"),
            (
                self.kind != "moment-tensor" or any(self.tensor.values()),
                "kind moment-tensor needs a tensor that is not zero",
            ),
            (self.kind != "force" or any(self.force), "kind force needs a force that is not zero"),
        )


class Current(Kinds):
    """Electric current density in a volume, on a surface or at a point."""

    kind: Literal["point", "sheet", "volume"] = Field(description="Where it flows.")
    moment: tuple[float, float, float] = Field(
        (0.0, 0.0, 0.0), description="Current times length at a point [A m].", json_schema_extra=only_for_kinds("point")
    )
    density: tuple[float, float, float] = Field(
        (0.0, 0.0, 0.0),
        description="Current density: [A/m] of a sheet, [A/m^2] in a volume.",
        json_schema_extra=only_for_kinds("sheet", "volume"),
    )
    location: Vector = Field(
        (0.0, 0.0, 0.0), description="Location of a point current.", json_schema_extra=only_for_kinds("point")
    )
    surface: str | int | None = Field(
        None,
        description="Physical surface inside the mesh that carries the sheet.",
        json_schema_extra=only_for_kinds("sheet"),
    )
    volumes: list[str | int] = Field(
        default_factory=list,
        description="Physical volumes in which the current flows.",
        json_schema_extra=only_for_kinds("volume"),
    )
    onset: Quantity("s") = Field(0.0, description="Start of the time function.")
    time_function: TimeFunction = Field(description="S(t), times the vector.")

    def conditions(self) -> Iterable[tuple[object, str]]:
        return (
            (self.kind != "point" or any(self.moment), "kind point needs a moment that is not zero"),
            (self.kind == "point" or any(self.density), f"kind {self.kind} needs a density that is not zero"),
            (self.kind != "sheet" or self.surface is not None, "kind sheet needs a surface"),
            (self.kind != "volume" or self.volumes, "kind volume needs volumes"),
        )


class Incident(Settings):
    """Incident plane wave amplitude S(t - direction . (x - reference)/c), through one surface or around volumes."""

    direction: tuple[float, float, float] = Field(description="Direction of propagation.")
    amplitude: tuple[float, float, float] = Field(description="Electric field at S = 1 [V/m], orthogonal to direction.")
    reference: Vector | None = Field(
        None,
        description=(
            "Point at which S arrives without delay; default: the first point on the entry surface or volume."
        ),
    )
    surface: str | int | None = Field(
        None, description="Absorbing boundary surface, by name or tag, through which the wave enters."
    )
    volumes: list[str | int] = Field(
        default_factory=list,
        description="Physical volumes of the total field; outside of them only the scattered field is simulated.",
    )
    onset: Quantity("s") = Field(0.0, description="Start of the time function.")
    time_function: TimeFunction = Field(description="S(t).")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        d, e = self.direction, self.amplitude
        along = sum(a * b for a, b in zip(d, e, strict=True))
        size = (sum(a * a for a in d) * sum(a * a for a in e)) ** 0.5
        need(
            (any(d), "direction must not be zero"),
            (any(e), "amplitude must not be zero"),
            (abs(along) <= 1e-9 * size, "amplitude must be orthogonal to direction"),
            ((self.surface is None) == bool(self.volumes), "set either surface or volumes"),
        )
        return self


class MatchedLayer(Settings):
    """Matched layer just inside flat sides of the mesh that lets waves out without reflection."""

    sides: list[Literal["x-", "x+", "y-", "y+", "z-", "z+"]] = Field(
        min_length=1, description="Sides of the bounding box of the mesh with a layer."
    )
    thickness: Quantity("m", gt=0) = Field(description="Thickness, usually a few cells.")
    reflection: float = Field(1e-6, gt=0, lt=1, description="Theoretical reflection coefficient at normal incidence.")


_Row = tuple[float, float, float]


class BoxOutput(Settings):
    """Wave field around a box, for `injection` of a later run or for structural engineers."""

    lower: Vector = Field(description="Lower corner of the box.")
    upper: Vector = Field(
        description=("Upper corner; a box that reaches the free surface has five faces, otherwise six.")
    )
    spacing: Quantity("m", gt=0) | None = Field(
        None,
        description="Spacing of the recorded lattice, which is common to all quantities and divides the box. "
        "Default on grids: the points of the grid, which the same grid reproduces exactly. "
        "Required by engine dg and the format h5drm.",
    )
    interval: Quantity("s", gt=0) | None = Field(
        None,
        description="Sampling interval; required with a spacing. Points of the grid are recorded in every step.",
    )
    formats: list[Literal["box", "h5drm"]] = Field(
        default_factory=lambda: ["box"],
        min_length=1,
        description="box (PREFIX-box.h5, what `injection` reads) and h5drm (PREFIX.h5drm for OpenSees, as ShakerMaker writes).",
    )
    layers: Annotated[int, Field(ge=1, le=16)] = Field(
        1,
        description=(
            "Number of layers of elements around the box in h5drm; OpenSees needs 1, `injection` of a finer grid 3."
        ),
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need(
            check_ascending(self.lower, self.upper),
            ((self.spacing is None) == (self.interval is None), "spacing and interval must be set together"),
            (
                self.spacing is not None or "h5drm" not in self.formats,
                "h5drm needs a spacing, the edge of its elements, and an interval",
            ),
            (self.layers == 1 or "h5drm" in self.formats, "layers apply to h5drm only"),
        )
        return self


class Pulse(Settings):
    """Plane wave v = velocity d S(t - n.(x - reference) / c) along n; d is n for P, across it for S."""

    mode: Literal["P", "S"] = Field(description="Which wave.")
    direction: tuple[float, float, float] = Field(description="Direction of propagation, of any length.")
    polarisation: tuple[float, float, float] | None = Field(
        None, description="Direction of motion of an S wave; the part along the direction of propagation is removed."
    )
    velocity: Quantity("m/s") = Field(1.0, description="Particle velocity at S(t) = 1.")
    reference: Vector = Field((0.0, 0.0, 0.0), description="Point at which the wave follows S(t - onset).")
    onset: Quantity("s") = Field(0.0, description="Start of the time function at the reference.")
    time_function: TimeFunction = Field(description="S(t).")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        across = np.cross(self.direction, self.polarisation or (0.0, 0.0, 0.0))
        need(
            (any(self.direction), "direction must not be zero"),
            (self.mode == "P" or across.any(), "an S wave needs a polarisation that is not along its direction"),
            (self.mode == "S" or self.polarisation is None, "polarisation has no effect with mode P"),
            (self.velocity != 0, "velocity must not be zero"),
        )
        return self


class H5drmAxes(Settings):
    """Placement of an H5DRM file in the case, as in OpenSees.

    x = axes (x in the file - its drmbox_x0) scale + origin.
    """

    scale: float = Field(1.0, gt=0, description="Metres per unit of length of the file: 1000 for kilometres.")
    axes: tuple[_Row, _Row, _Row] = Field(
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        description="Rotation from the file's axes to x, y, z up: [[0,1,0],[1,0,0],[0,0,-1]] for x north, y east, z down.",
    )
    origin: Vector | None = Field(
        None,
        description=(
            "Location of the file's drmbox_x0 in the case. Default: the coordinates of the file, rotated and scaled."
        ),
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        turned = np.array(self.axes)
        axes = np.allclose(turned @ turned.T, np.eye(3)) and set(np.abs(turned).round(9).ravel()) == {0.0, 1.0}
        need((axes, "axes must be a rotation or reflection that maps axes to axes"))
        return self


class Injection(Settings):
    """Waves that enter or leave a box: the total field on one side of its faces, the scattered field on the other."""

    file: InputFile | None = Field(
        None,
        description="Record of an earlier run (its output.box), of this or a coarser grid or of engine dg, or an H5DRM file.",
    )
    plane_wave: Pulse | None = Field(
        None, description="A plane wave in uniform rock, including reflections at the free surface."
    )
    total_field: Literal["inside", "outside"] = Field(
        "inside",
        description="inside: waves of sources outside the box enter it. outside: waves of sources in the box leave it, "
        "and inside remains what returns.",
    )
    lower: Vector | None = Field(None, description="Lower corner of the box; default: that of the record.")
    upper: Vector | None = Field(None, description="Upper corner of the box; default: that of the record.")
    h5drm: H5drmAxes | None = Field(None, description="Location of an H5DRM file in the case.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        corners = None not in (self.lower, self.upper)
        need(
            ((self.file is None) != (self.plane_wave is None), "set either file or plane_wave"),
            (corners or (self.lower is None and self.upper is None), "set both lower and upper, or neither"),
            (self.plane_wave is None or corners, "a plane_wave needs lower and upper of the box"),
            (
                self.plane_wave is None or self.total_field == "inside",
                "total_field outside needs a file: plane waves have no source in the box",
            ),
            (self.h5drm is None or self.file is not None, "h5drm applies to files only"),
            check_ascending(self.lower, self.upper),
        )
        return self


class Dirichlet(Settings):
    """Boundary condition on faces of kind dirichlet."""

    surfaces: list[str | int] = Field(
        default_factory=list, description="Boundary surfaces, by name or tag; default all faces of kind dirichlet."
    )
    velocity: FieldSetting | None = Field(
        None,
        description=(
            "Velocity v1, v2, v3 of the faces; in fluids only the normal component acts. Missing components are zero."
        ),
    )
    traction: FieldSetting | None = Field(
        None,
        description=(
            "Traction T1, T2, T3 along the axes that acts on the faces, or pressure. Missing components are zero."
        ),
    )
    ghost: FieldSetting | None = Field(
        None, description="State outside of the faces as in SeisSol's boundary files: const_u, map_u_u and so on."
    )
    time_function: TimeFunction | None = Field(
        None,
        description="Factor S(t) of velocity or traction; default 1. Most time functions have unit integral: "
        "the amplitude then equals the final displacement.",
    )
    onset: Quantity("s") = Field(0.0, description="Start of the time function.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [n for n in ("velocity", "traction", "ghost") if getattr(self, n) is not None]
        need(
            (len(given) == 1, "set one of velocity, traction, ghost"),
            (self.time_function is None or self.ghost is None, "ghost has no time_function"),
            (self.time_function is not None or not self.onset, "onset has no effect without time_function"),
        )
        return self
