"""Every setting of a case, declared once: type, default, bounds, unit and help text.

The native YAML schema, the settings reference in the docs and the loaders of foreign decks all follow from these
declarations. Values are SI; text may carry its unit ('70 MPa').
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from faultwave.base.units import Quantity

Vector = tuple[Quantity("m"), Quantity("m"), Quantity("m")]  # type: ignore[valid-type]


class Settings(BaseModel):
    """Base of all groups: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, arbitrary_types_allowed=True)


class FieldSetting(Settings):
    """A set of named parameters in space. Exactly one of the ways below, or several merged by parameter name."""

    easi: Path | None = Field(None, description="easi YAML model file.")
    constant: dict[str, float | str] = Field(
        default_factory=dict, description="Parameter: value, the same everywhere; text may carry a unit."
    )
    expression: dict[str, str] = Field(
        default_factory=dict, description="Parameter: body in the easi function language, inputs x, y, z (and t)."
    )
    layers: Path | None = Field(
        None, description="Text table of layers: header 'depth vp vs rho [Qp Qs]', SI, depth of layer top below z = 0."
    )


class Mesh(Settings):
    file: Path | None = Field(None, description="PUML HDF5 or Gmsh 2.2/4.1 mesh.")
    format: Literal["auto", "puml", "gmsh"] = Field("auto", description="Mesh file format; auto looks into the file.")
    generate: dict[str, Any] | None = Field(
        None, description="Built-in mesh instead of a file: {shape: box|tpv5, ...}; see the mesh guide."
    )
    boundary_format: Literal["auto", "i32", "i64", "i32x4"] = Field("auto", description="Packing of PUML face tags.")
    topology_format: Literal["auto", "geometric", "identify-face", "identify-vertex"] = Field(
        "auto", description="How a PUML file states which vertices are one (periodic meshes)."
    )
    boundaries: dict[str, list[int | str]] | None = Field(
        None,
        description="Boundary kind: list of face tags or ranges 'a-b', 'a-'. Kinds: regular, free-surface, absorbing, "
        "fault, rigid, symmetry, periodic. Default: the community's tags (1, 5, 3 and >= 65).",
    )
    displacement: Vector = Field((0.0, 0.0, 0.0), description="Added to every vertex after scaling.")
    scaling: tuple[tuple[float, float, float], ...] = Field(
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), description="3x3 matrix applied to every vertex."
    )


class Nucleation(Settings):
    start: Quantity("s") = Field(0.0, description="Start time of the episode.")  # type: ignore[valid-type]
    duration: Quantity("s", ge=0) = Field(0.0, description="Duration of the smooth ramp; 0 applies it at once.")  # type: ignore[valid-type]
    stress: FieldSetting = Field(description="nuc_xx..nuc_xz (Cartesian) or Tnuc_n, Tnuc_s, Tnuc_d (tractions).")


class Fault(Settings):
    friction: str = Field(description="Name of a friction law; `faultwave laws` lists them.")
    parameters: FieldSetting = Field(description="Friction parameters and initial stress on the fault.")
    constants: dict[str, float] = Field(default_factory=dict, description="Constants of the law, e.g. rs_f0, rs_sr0.")
    reference: Vector = Field((0.0, 0.0, 0.0), description="Reference point or direction that names the plus side.")
    reference_method: Literal["point", "direction"] = Field(
        "point", description="point: plus is the side of the point; direction: the plus side's outward normal."
    )
    nucleation: list[Nucleation] = Field(default_factory=list, description="Nucleation stress episodes.")
    points: Literal["symmetric", "conical"] = Field(
        "symmetric", description="Quadrature of the fault: symmetric positive rule, or the conical rule of SeisSol."
    )
    time_points: int | None = Field(None, ge=1, description="Friction sub-steps a step; default the order.")
    slip_rate_output: Literal["friction", "velocity"] = Field(
        "friction", description="Slip rate from the friction solve or from the velocity jump."
    )
    damping: float = Field(1.0, gt=0, le=1, description="Factor on the normal impedance of the fault until damping_end.")
    damping_end: Quantity("s") | None = Field(None, description="When the damping stops; default never.")  # type: ignore[valid-type]
    forced_rupture_ramp: Quantity("s", ge=0) = Field(0.0, description="Ramp after forced_rupture_time; 0 is a step.")  # type: ignore[valid-type]
    healing_threshold: float = Field(-1.0, description="Slip rate below which slip weakening heals; < 0 never.")


class TimeFunction(Settings):
    """Source time function S(t). For a moment tensor it is the moment RATE with unit integral."""

    kind: Literal["brune", "ricker", "gaussian", "triangle", "yoffe", "error-function", "samples"] = Field(
        description="Shape: brune t/T^2 exp(-t/T), ricker, gaussian, triangle, yoffe, error-function, samples."
    )
    duration: Quantity("s", gt=0) = Field(1.0, description="T of the shape; for ricker 1/frequency.")  # type: ignore[valid-type]
    acceleration: Quantity("s", ge=0) = Field(0.0, description="tau_S of the Yoffe function.")  # type: ignore[valid-type]
    samples: list[float] = Field(default_factory=list, description="Values at multiples of the interval.")
    interval: Quantity("s", gt=0) = Field(1.0, description="Spacing of the samples.")  # type: ignore[valid-type]


class Source(Settings):
    kind: Literal["moment-tensor", "force", "nrf", "fsrm"] = Field(description="What acts, or the file's format.")
    location: Vector = Field((0.0, 0.0, 0.0), description="Where.")
    tensor: dict[Literal["xx", "yy", "zz", "xy", "yz", "xz"], Quantity("N*m")] = Field(  # type: ignore[valid-type]
        default_factory=dict, description="Moment tensor (physical sign), missing components are zero."
    )
    force: tuple[Quantity("N"), Quantity("N"), Quantity("N")] = Field((0.0, 0.0, 0.0), description="Force.")  # type: ignore[valid-type]
    onset: Quantity("s") = Field(0.0, description="Start of the time function.")  # type: ignore[valid-type]
    time_function: TimeFunction | None = Field(None, description="S(t); needed unless a file brings it.")
    file: Path | None = Field(None, description="NRF (NetCDF) or FSRM (text) source file.")


class Initial(Settings):
    kind: Literal["zero", "plane-wave", "easi", "scholte", "snell"] = Field("zero", description="Initial state.")
    wave: dict[str, Any] = Field(default_factory=dict, description="Plane wave: list of {mode, k, amplitude}.")
    field: FieldSetting | None = Field(None, description="Initial quantities by name (kind easi).")


class Clustering(Settings):
    rates: tuple[int, ...] = Field((2,), description="Ratios of neighbouring clusters; 1 is global time stepping.")
    wiggle_minimum: float = Field(1.0, gt=0, le=1, description="Smallest factor tried on the smallest step; 1: no search.")
    wiggle_step: float = Field(0.01, gt=0, description="Spacing of the wiggle search.")
    maximum: int | None = Field(None, ge=1, description="Largest number of clusters.")


class Numerics(Settings):
    order: int = Field(4, ge=2, le=8, description="Convergence order; polynomial degree + 1.")
    precision: Literal["double", "single"] = Field("double", description="Precision of the wave field.")
    backend: str = Field("cpu", description="Where kernels run: cpu (generated C) or numpy (reference).")
    threads: int | None = Field(None, ge=1, description="OpenMP threads; default all cores.")
    cfl: float | None = Field(None, gt=0, description="Fraction of the stable step; default 0.5 (order 7: 0.4, 8: 0.3).")
    largest_step: Quantity("s", gt=0) = Field(5000.0, description="Upper bound of any cell's step.")  # type: ignore[valid-type]
    clustering: Clustering = Field(default_factory=Clustering, description="Local time stepping.")
    homogenise: bool = Field(True, description="Average the material over each cell; else sample its barycentre.")
    source_window: Literal["centred", "end"] = Field(
        "centred", description="Window of the source integral: centred on the step (second order) or as SeisSol does."
    )


class Receivers(Settings):
    points: list[Vector] = Field(default_factory=list, description="Receiver coordinates.")
    file: Path | None = Field(None, description="Text file, one 'x y z' a line.")
    interval: Quantity("s", gt=0) = Field(0.005, description="Sampling interval.")  # type: ignore[valid-type]
    rotation: bool = Field(False, description="Also write the rotation rate.")
    strain_rate: bool = Field(False, description="Also write the strain rate.")


class FaultReceivers(Settings):
    points: list[Vector] = Field(default_factory=list, description="Points, moved to the nearest fault face.")
    file: Path | None = Field(None, description="Text file, one 'x y z' a line.")
    every: int = Field(1, ge=1, description="Write every n-th step of the point's cluster.")
    position: Literal["exact", "nearest"] = Field(
        "exact", description="Interpolate at the point, or take the nearest quadrature point as SeisSol does."
    )
    fields: list[str] | None = Field(None, description="Quantities; default all.")


class FieldOutput(Settings):
    interval: Quantity("s", gt=0) = Field(description="Time between snapshots.")  # type: ignore[valid-type]
    fields: list[str] | None = Field(None, description="Quantities; default the common ones.")
    refinement: int = Field(0, ge=0, le=3, description="Subdivisions of each cell or face.")
    region: tuple[float, float, float, float, float, float] | None = Field(
        None, description="Only cells with centre in xmin xmax ymin ymax zmin zmax."
    )
    groups: list[int] | None = Field(None, description="Only cells of these mesh groups.")


class EnergyOutput(Settings):
    interval: Quantity("s", gt=0) = Field(description="Time between rows.")  # type: ignore[valid-type]
    slip_from_velocity: bool = Field(False, description="Potency from the velocity jump instead of the friction solve.")
    plain_mean: bool = Field(False, description="Average slip over points unweighted, as SeisSol does.")


class Output(Settings):
    folder: Path = Field(Path("output"), description="Folder of every output file; created.")
    prefix: str = Field("run", description="First part of every file name.")
    receivers: Receivers | None = Field(None, description="Seismograms at points in the volume.")
    fault_receivers: FaultReceivers | None = Field(None, description="Histories at points on the fault.")
    fault: FieldOutput | None = Field(None, description="Snapshots of the whole fault.")
    surface: FieldOutput | None = Field(None, description="Snapshots of the free surface.")
    volume: FieldOutput | None = Field(None, description="Snapshots of the wave field.")
    energies: EnergyOutput | None = Field(None, description="Energies, work and moment.")
    precision: Literal["single", "double"] = Field("single", description="Precision of field files.")
    xdmf: bool = Field(False, description="Also write XDMF.")
    seissol_layout: bool = Field(False, description="Receivers and energies also as SeisSol's .dat and .csv.")
    sync: bool = Field(False, description="Shorten steps to meet output times exactly, as SeisSol does.")


class Stop(Settings):
    """Stop early once the rupture is over."""

    time_after_rupture: Quantity("s", gt=0) | None = Field(None, description="How long it must have been quiet.")  # type: ignore[valid-type]
    slip_rate_below: float | None = Field(None, description="Quiet: slip rate everywhere below this [m/s].")
    moment_rate_below: float | None = Field(None, description="Quiet: moment rate below this [N m/s].")


class Case(Settings):
    """A whole case as asked; every path absolute, every value SI."""

    title: str = Field("", description="One line on what this is.")
    engine: Literal["dg"] = Field("dg", description="Numerical engine.")
    law: str = Field("elastic", description="Wave physics: elastic, acoustic.")
    end_time: Quantity("s", gt=0) = Field(description="Simulated time.")  # type: ignore[valid-type]
    mesh: Mesh = Field(description="Mesh.")
    material: FieldSetting = Field(description="rho, mu, lambda (or rho, vp, vs), ...")
    fault: Fault | None = Field(None, description="Dynamic rupture; absent: fault faces are welded.")
    sources: list[Source] = Field(default_factory=list, description="Point and finite sources.")
    initial: Initial = Field(default_factory=Initial, description="Initial state.")
    numerics: Numerics = Field(default_factory=Numerics, description="Order, precision, time stepping, backend.")
    output: Output = Field(default_factory=Output, description="What is written.")
    stop: Stop = Field(default_factory=Stop, description="Early stop.")
    source_files: Annotated[tuple[Path, ...], Field(description="Files this case was read from.")] = ()
