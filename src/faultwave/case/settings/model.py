"""Declarations of all settings of a case, also of capabilities from other packages.

The native YAML schema, the settings reference and the loaders of other programs' decks derive from these declarations. Values are in
SI units; text may carry its unit ('70 MPa').
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, WrapValidator, create_model, field_validator, model_validator

from faultwave.base.errors import Problem, suggest
from faultwave.base.processes import host
from faultwave.base.registry import entries, installed
from faultwave.base.types import JsonObject
from faultwave.base.units import Quantity
from faultwave.base.wording import printable
from faultwave.case.settings.common import (
    Constants,
    InputFile,
    Location,
    Scaling,
    Settings,
    Vector,
    WrongSettings,
    misplaced_settings,
    need,
    one_of,
    only,
)
from faultwave.case.settings.fields import FieldSetting
from faultwave.case.settings.grid import Attenuation, Grid, Projection
from faultwave.case.settings.initial import Initial
from faultwave.case.settings.meshes import Build, GenerateBox, GenerateTpv5
from faultwave.case.settings.outputs import Output, Ports
from faultwave.case.settings.sources import Current, Dirichlet, Incident, Injection, MatchedLayer, Source
from faultwave.case.settings.yielding import Plasticity, Soil


def plugin_settings(engine: str) -> dict[str, type[Settings]]:
    """Return the settings classes of an engine's installed plug-in capabilities, by capability name."""
    loaded = {entry.name: entry.load() for entry in installed(f"faultwave.{engine}.parts")}
    return {name: module.Setting for name, module in loaded.items() if hasattr(module, "Setting")}


def part_settings(given: object, engine: str, context: object) -> object:
    """Validate settings by the declarations of plug-in capabilities.

    Parameters
    ----------
    given : object
        Settings by the capability's name.
    engine : str
        Engine of the case.
    context : object
        Validation context of pydantic.

    Raises
    ------
    ValueError
        If a capability is not installed.
    """
    if not isinstance(given, Mapping) or not given:
        return given
    known = plugin_settings(engine)
    for name in given:
        if name not in known:
            advice = suggest(str(name), known)
            text = f"no installed package has a part '{name}' for the engine {engine}"
            raise ValueError(f"{text} (installed: {', '.join(known) or 'none'})" + (f", {advice}" if advice else ""))
    fields: JsonObject = {name: (known[name], ...) for name in given}
    read = create_model("Parts", __base__=Settings, **fields).model_validate(given, context=context)
    return {name: getattr(read, name) for name in given}


def described(schema: JsonObject) -> JsonObject:
    """Return the JSON schema of a case, extended by the settings of all installed plug-in capabilities."""
    engines = entries("faultwave", "engine", "faultwave.engines")
    settings = {name: kind for engine in engines for name, kind in plugin_settings(engine).items()}
    groups: JsonObject = {}
    places: JsonObject = {}
    for name, kind in settings.items():
        own = kind.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        nested = {f"{name}.{group}": node for group, node in own.pop("$defs", {}).items()} | {name: own}
        groups |= {key: {**node, "title": key} for key, node in nested.items()}
        places[name] = {"$ref": f"#/$defs/{name}"}
    if not places:
        return schema
    parts = {"type": "object", "title": "Parts", "properties": places}
    return {
        **schema,
        "$defs": {**schema["$defs"], **groups},
        "properties": {**schema["properties"], "parts": {**schema["properties"]["parts"], **parts}},
    }


class Mesh(Settings):
    """Mesh from a file or a generator, and the meaning of its face tags."""

    file: InputFile | None = Field(
        None,
        description="PUML HDF5, Gmsh 2.2/4.1 or SeisSol netCDF mesh, or a geometry that Gmsh meshes: .geo, .step, .brep, .iges.",
    )
    size: Quantity("m", gt=0) | None = Field(None, description="Largest edge when a geometry is meshed.")
    format: Literal["auto", "puml", "gmsh", "netcdf"] = Field("auto", description="Mesh file format; auto detects it.")
    generate: Annotated[GenerateBox | GenerateTpv5, Field(discriminator="shape")] | None = Field(
        None, description="Built-in mesh instead of a file: shape box or tpv5."
    )
    build: Build | None = Field(
        None,
        description=(
            "Mesh of a real location: faults from traces, relief from rasters, element sizes from wave speeds."
        ),
    )
    boundary_format: Literal["auto", "i32", "i64", "i32x4"] = Field("auto", description="Packing of PUML face tags.")
    topology_format: Literal["auto", "geometric", "identify-face", "identify-vertex"] = Field(
        "auto", description="Representation of identified vertices (periodic meshes) in a PUML file."
    )
    boundaries: dict[str, list[int | str]] | None = Field(
        None,
        description="Boundary kind: list of face tags, ranges 'a-b', 'a-', or names of physical surfaces. "
        "Kinds: regular, free-surface, sealed-surface, gravity, absorbing, fault, rigid, "
        "symmetry, periodic, impedance, dirichlet, analytic, pec, pmc. Default: the common tags "
        "(1 free-surface, 2 gravity, 3 and >= 65 fault, 4 dirichlet, 5 absorbing, 7 analytic).",
    )
    displacement: Vector = Field((0.0, 0.0, 0.0), description="Added to every vertex after scaling.")
    scaling: Scaling = Field(
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        description="Factor for every vertex (0.001 for a mesh in millimetres), one for each axis, or a 3x3 matrix.",
    )

    @model_validator(mode="after")
    def _one_mesh(self) -> Self:
        (a, b, c), (d, e, f), (g, h, i) = self.scaling
        of_files = [
            n
            for n in ("size", "format", "boundary_format", "topology_format")
            if getattr(self, n) not in (None, "auto")
        ]
        need(
            (self.file or not of_files, f"{', '.join(of_files)}: for mesh files only, and this mesh is generated"),
            (
                sum(way is not None for way in (self.file, self.generate, self.build)) == 1,
                "set one of file, generate and build",
            ),
            (
                self.build is None or not {"displacement", "scaling"} & self.model_fields_set,
                "displacement and scaling apply to mesh files only, not to generated meshes",
            ),
            (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) != 0, "scaling must be invertible"),
        )
        return self


class Nucleation(Settings):
    """Stress added smoothly to the fault's initial stress."""

    start: Quantity("s") = Field(0.0, description="Start time of the episode, not before 0.")
    duration: Quantity("s", ge=0) = Field(0.0, description="Duration of the smooth ramp; 0 applies it at once.")
    stress: FieldSetting = Field(
        description="nuc_xx..nuc_xz (Cartesian) or Tnuc_n, Tnuc_s, Tnuc_d (tractions), and pore pressure nuc_p."
    )
    number: int = Field(
        1,
        ge=1,
        le=16,
        description="Set of names in the field: 1 is nuc_xx or Tnuc_n, 2 is nuc2_xx or Tnuc2_n, ...",
    )

    @model_validator(mode="after")
    def _after_zero(self) -> Self:
        what = f"start is {self.start:g} s, before the run, and the stress applied until 0 s would be lost"
        advice = "add the stress applied before 0 s to the initial stress in fault.parameters"
        need((self.start >= 0, f"{what}: {advice}"))
        return self


class Fault(Settings):
    """Dynamic rupture on the faces tagged as fault."""

    friction: str = Field(description="Name of a friction law; `faultwave laws` lists them.")
    modifiers: list[str] = Field(
        default_factory=list,
        description=(
            "Modifiers of normal traction or strength, such as thermal-pressurisation; `faultwave laws` lists all."
        ),
        json_schema_extra={"words": f"list of {', '.join(entries('faultwave.physics.friction.modifiers'))}"},
    )
    parameters: FieldSetting = Field(description="Friction parameters and initial stress on the fault.")
    constants: Constants = Field(default_factory=dict, description="Constants of the law, e.g. rs_f0, rs_sr0.")
    pore_pressure: bool = Field(
        True,
        description="Read pore pressure: `p`, and `nuc_p` in nucleation; positive values reduce compression.",
    )
    reference: Vector = Field((0.0, 0.0, 0.0), description="Reference point or direction that defines the plus side.")
    reference_method: Literal["point", "direction"] = Field(
        "point", description="point: plus is the side of the point; direction: the plus side's outward normal."
    )
    nucleation: list[Nucleation] = Field(default_factory=list, description="Nucleation stress episodes.")
    points: Literal["symmetric", "conical"] = Field(
        "symmetric", description="Quadrature of the fault: symmetric positive rule, or the conical rule of SeisSol."
    )
    time_points: int | None = Field(
        None, ge=1, description="Points in time of a step at which friction is solved; default the order."
    )
    slip_rate_output: Literal["friction", "velocity"] = Field(
        "friction", description="Compute slip rate from the friction solve or from the velocity jump."
    )
    normal_traction: Literal["linear", "full"] = Field(
        "linear",
        description="Part of the variation of normal traction within a face that affects strength: its linear "
        "part, which keeps slip smooth next to steps of stress, or all of it, as in SeisSol.",
    )
    weakening: Literal["quadratic", "full"] = Field(
        "full",
        description="Part of the slip within a face that weakens friction: all of it, or its quadratic part, "
        "which further smooths slip next to steps of stress and changes rupture times by a few "
        "ms; for linear-slip-weakening above order 3.",
    )
    sliding: Literal["smooth", "full"] = Field(
        "smooth",
        description="Slip rate of a weakened face (mean slip above 1.1 d_c): smooth omits the highest "
        "polynomial degree, which would amplify slip of single triangles; full includes all "
        "degrees, as in SeisSol. For linear-slip-weakening.",
    )
    pore_density: Literal["bulk", "grains"] = Field(
        "bulk",
        description="In porous rock, the density in the S impedance of the friction solve: that of rock and "
        "fluid, or that of the grains alone, as in SeisSol.",
    )
    damping: float = Field(
        1.0, gt=0, le=1, description="Factor on the normal impedance of the fault until damping_end."
    )
    damping_end: Quantity("s") | None = Field(None, description="When the damping stops; default never.")
    forced_rupture_ramp: Quantity("s", ge=0) = Field(0.0, description="Ramp after forced_rupture_time; 0 is a step.")
    healing_threshold: Quantity("m/s") = Field(
        -1.0, description="Slip rate below which slip weakening heals; < 0 never."
    )


class Clustering(Settings):
    """Local time stepping."""

    rates: tuple[Annotated[int, Field(ge=1, le=1000)], ...] = Field(
        (2,), min_length=1, description="Ratios of neighbouring clusters, the last repeats; 1 is global time stepping."
    )
    wiggle_minimum: float = Field(
        1.0, gt=0, le=1, description="Smallest factor tried on the smallest step; 1: no search."
    )
    wiggle_step: float = Field(0.01, ge=1e-3, description="Spacing of the wiggle search.")
    maximum: int | None = Field(None, ge=1, description="Largest number of clusters.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        lowest = 1 / self.rates[0]
        need(
            (1 not in self.rates[:-1], "a rate of 1 ends the list, so it can only be the last"),
            (
                self.wiggle_minimum > lowest or self.wiggle_minimum == 1,
                f"wiggle_minimum must be above 1/rate = {lowest:g}",
            ),
        )
        return self


class Numerics(Settings):
    """Order, precision, time stepping and backend."""

    order: int = Field(4, ge=2, le=8, description="Convergence order; polynomial degree + 1.")
    precision: Literal["double", "single", "auto"] = Field(
        "double",
        description="Precision of the wave field: double, single, or auto (single where the estimate of what "
        "it changes is within precision_error). Default of engine fd: single.",
    )
    precision_error: float = Field(
        1e-4,
        gt=0.0,
        le=1.0,
        description=(
            "Largest relative change of seismograms and slip by single precision: auto respects it, "
            "single warns if it is exceeded."
        ),
    )
    compensated: bool = Field(
        False,
        json_schema_extra=only("dg", "is for waves on tetrahedra"),
        description="Compensated summation in single precision: carry the rounding errors of the wave field, "
        "and in isotropic elastic rock those of constants, into the next step. Rounding errors "
        "are up to nine times smaller; runs take 20 to 70 % longer. Integrator ader only.",
    )
    stored_waves: Literal["single"] | None = Field(
        None,
        json_schema_extra=only("dg", "is for waves on tetrahedra"),
        description="single: store the waves exchanged between cells, and traces stored until the end of a "
        "step, in single precision, which reduces memory and traffic. Everything else remains "
        "double. Precision double and integrator ader only. Default: as precision.",
    )
    backend: str = Field(
        "cpu",
        description=(
            "Where kernels run: cpu, cuda, hip, opencl, numpy, one of an installed package, or auto (the fastest)."
        ),
    )
    threads: int | None = Field(None, ge=1, le=host.MAX_THREADS, description="OpenMP threads; default: all cores.")
    progress: Literal["polling", "thread"] = Field(
        "polling",
        description="Progress of messages between processes while kernels run: polling between kernels, or a "
        "thread on a reserved core.",
    )
    progress_cores: list[int] | None = Field(
        None,
        description=(
            "Cores for the progress thread; default: the last core of the process if the launcher binds processes."
        ),
    )
    halo: Literal["auto", "direct", "host"] = Field(
        "auto",
        description="Messages between devices: direct (MPI accesses device memory), host (through pinned host "
        "memory), or auto (direct if a test message arrives that way).",
    )
    halo_compression: str = Field(
        "exact",
        pattern="^(exact|single|zfp-([89]|[1-5][0-9]|6[0-4]))$",
        json_schema_extra={"words": "exact, single, zfp-8 to zfp-64"},
        description="Waves sent to other processes: exact, single (32 bits a number, relative error 6e-8), or zfp-BITS (8 to 64 bits "
        "a number in blocks, error relative to a block's largest). Faults are always exact.",
    )
    integrator: Literal["ader", "rk4", "leapfrog"] = Field(
        "ader",
        description="ader: same order in time as in space, local steps; rk4: classical Runge-Kutta; leapfrog: "
        "second order, conserves energy. The last two use one global step.",
    )
    flux: str | None = Field(
        None,
        json_schema_extra={"words": "godunov, rusanov, centred, or one of an installed package"},
        description="Flux between cells: godunov (upwind) damps unresolved waves; rusanov damps all jumps "
        "like P waves (laws elastic and anisotropic, ader only); centred conserves energy. "
        "Default: centred with leapfrog, else godunov.",
    )
    flux_near_faults: str | None = Field(
        None,
        json_schema_extra={"words": "godunov, rusanov, or one of an installed package"},
        description=(
            "Flux on the remaining faces of cells that touch a fault with friction. Default: that of all cells."
        ),
    )
    cfl: float | None = Field(
        None,
        ge=1e-6,
        description="Fraction of the stable step; default 0.5 (order 7: 0.4, 8: 0.3; acoustic 0.8 of that).",
    )
    largest_step: Quantity("s", gt=0) = Field(5000.0, description="Upper bound of the time steps of all cells.")
    clustering: Clustering = Field(default_factory=Clustering, description="Local time stepping.")
    homogenise: bool = Field(
        True, description=("Average the material over each cell; otherwise sample it at the barycentre.")
    )
    source_window: Literal["centred", "end"] = Field(
        "centred", description="Window of the source integral: centred on the step (second order) or as in SeisSol."
    )
    source_spread: Literal["cells", "point"] | None = Field(
        None,
        description="Point sources: cells spreads each source over the cells within about one edge, with the "
        "moments of a point; point uses one cell, as in SeisSol. Default: cells for up to 10,000 "
        "source locations, otherwise point.",
    )
    source_spread_order: int | None = Field(
        None,
        ge=2,
        le=8,
        description="Order for which sources are spread over cells; default that of the waves. Runs of several orders that share it have "
        "the same sources.",
    )
    source_lowpass: Quantity("Hz", gt=0) | None = Field(
        None,
        description="Corner frequency of a causal four-pole Butterworth low-pass for all `sources`, on both "
        "engines; delays them by 0.416 / corner. Default: no filter, and a warning if sources "
        "radiate above the resolved frequency.",
    )

    @field_validator("flux", mode="before")
    @classmethod
    def _known_as(cls, value: object) -> object:
        return "godunov" if value == "upwind" else value

    @field_validator("halo", mode="before")
    @classmethod
    def _way(cls, value: object) -> object:
        rounding = isinstance(value, str) and value.startswith(("exact", "single", "zfp"))
        need((not rounding, f"halo is '{value}': set the rounding of messages in numerics.halo_compression"))
        return value

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need(
            (
                self.progress_cores is None or (self.progress == "thread" and self.progress_cores),
                "progress_cores names at least one core, of progress: thread",
            ),
            (
                self.halo_compression == "exact" or (self.integrator == "ader" and self.precision == "double"),
                "halo_compression rounds messages of double precision and integrator ader only",
            ),
            (
                not self.compensated or (self.integrator == "ader" and self.precision != "double"),
                "compensated is for precision single and integrator ader",
            ),
            (
                self.stored_waves is None or (self.integrator == "ader" and self.precision == "double"),
                "stored_waves: single is for precision double and integrator ader",
            ),
            (
                self.stored_waves is None or self.halo_compression == "exact",
                "stored_waves: single sends messages in single precision already: leave halo_compression exact",
            ),
            (
                self.integrator != "ader" or self.flux != "centred",
                "flux centred is unstable with ader at any time step: choose integrator rk4 or leapfrog",
            ),
            (
                self.integrator != "leapfrog" or self.flux in (None, "centred"),
                f"leapfrog cannot step the damping of flux {self.flux}: choose flux centred, or integrator rk4",
            ),
            (
                self.integrator != "rk4" or self.flux in (None, "godunov", "centred"),
                f"flux {self.flux} requires integrator ader; rk4 supports godunov and centred",
            ),
        )
        return self


class Stop(Settings):
    """Early stop once the rupture is over."""

    time_after_rupture: Quantity("s", gt=0) | None = Field(None, description="Duration of quiet before the run stops.")
    slip_rate_below: Quantity("m/s", gt=0) | None = Field(
        None, description="Quiet: all slip rates are below this value."
    )
    moment_rate_below: Quantity("N*m/s", gt=0) | None = Field(
        None, description="Quiet: the moment rate is below this value."
    )

    energy_below: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Stop when the total energy is below this fraction of its maximum so far.",
        json_schema_extra=only("dg"),
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        quiet = self.slip_rate_below is not None or self.moment_rate_below is not None
        need(
            (
                quiet == (self.time_after_rupture is not None),
                "time_after_rupture needs slip_rate_below or moment_rate_below",
            )
        )
        return self


TetMesh = Annotated[Mesh, WrapValidator(lambda value, check: None if value is None else check(value))]
"""Mesh, or None if the engine is not dg."""


class Case(Settings):
    """Complete case, with absolute paths and SI values."""

    title: str = Field("", description="Title in one line.")
    engine: one_of(*entries("faultwave", "engine", "faultwave.engines")) = Field(
        "dg", description="Numerical engine: dg on a mesh of tetrahedra, fd on a regular grid."
    )
    law: str = Field("elastic", description="Wave physics: name of a law; `faultwave laws` lists them.")
    end_time: Quantity("s", gt=0) = Field(description="Simulated time.")
    mesh: TetMesh = Field(description="Mesh; not needed by the engine fd.")
    grid: Grid | None = Field(None, description="Regular grid; required by the engine fd.")
    material: FieldSetting = Field(description="rho, mu, lambda (or rho, vp, vs); relative_permittivity, ...")
    attenuation: Attenuation | None = Field(
        None, description="Attenuation; default: elastic. With attenuation the law on tetrahedra is viscoelastic."
    )
    impedances: dict[str | int, Annotated[float, Field(allow_inf_nan=True)]] = Field(
        default_factory=dict,
        description="Faces of kind impedance, by surface name or tag: impedance of the wall (SI: ohm, or Pa s/m for fluids).",
        json_schema_extra=only("dg"),
    )
    gravity: Quantity("m/s^2", gt=0) | None = Field(
        None,
        description="Gravity on sea surfaces, faces of kind gravity; default 9.81 m/s^2.",
        json_schema_extra=only("dg"),
    )
    dirichlet: list[Dirichlet] = Field(
        default_factory=list,
        description="Velocity or traction of the faces of kind dirichlet.",
        json_schema_extra=only("dg"),
    )
    fault: Fault | None = Field(None, description="Dynamic rupture; default: fault faces are welded.")
    plasticity: Plasticity | None = Field(
        None,
        description="Plastic yielding of rock; default: none.",
    )
    soil: Soil | None = Field(
        None,
        description="Soft soil whose stiffness decreases with strain; default: linear.",
        json_schema_extra=only("fd", "is simulated on grids only"),
    )
    sources: list[Source] = Field(default_factory=list, description="Point and finite sources.")
    matched_layer: MatchedLayer | None = Field(
        None, description="Perfectly matched layer along the sides of the mesh.", json_schema_extra=only("dg")
    )
    ports: Ports | None = Field(None, description="Waveguide ports.", json_schema_extra=only("dg"))
    currents: list[Current] = Field(
        default_factory=list, description="Electric currents that act as sources.", json_schema_extra=only("dg")
    )
    incident: list[Incident] = Field(
        default_factory=list, description="Incident plane waves.", json_schema_extra=only("dg")
    )
    injection: Injection | None = Field(
        None,
        description="Injection of waves of another run, or of plane waves, into a box.",
        json_schema_extra=only("fd", "is simulated on grids only"),
    )
    projection: Projection | None = Field(None, description="Map projection for longitudes and latitudes.")
    initial: Initial = Field(default_factory=Initial, description="Initial state.")
    numerics: Numerics = Field(default_factory=Numerics, description="Order, precision, time stepping, backend.")
    output: Output = Field(default_factory=Output, description="Results to write.")
    stop: Stop = Field(default_factory=Stop, description="Early stop.")
    parts: JsonObject = Field(
        default_factory=dict,
        description="Settings of capabilities of other installed packages, by name.",
        json_schema_extra={"words": "name: settings"},
    )
    source_files: Annotated[tuple[Path, ...], Field(description="Files this case was read from.")] = ()
    _overridden: tuple[str, ...] = ()
    _file: Path | None = None
    _left_out: tuple[tuple[str | int, ...], ...] = ()

    @field_validator("title")
    @classmethod
    def _title(cls, title: str) -> str:
        shown = printable(title)
        need(
            (
                shown == title,
                f"'{shown}' holds characters that cannot be shown, such as control characters or half a surrogate pair",
            )
        )
        return title

    @property
    def overridden(self) -> tuple[str, ...]:
        """Names of options that replaced a setting of the file, such as 'order'; messages refer to them."""
        return self._overridden

    @property
    def file(self) -> Path | None:
        """File that this case was read from and still represents.

        None for a case made of a mapping or of another Case.
        """
        return self._file

    @property
    def left_out(self) -> tuple[tuple[str | int, ...], ...]:
        """Locations of invalid user settings that this partial case lacks; it serves only to check the rest."""
        return self._left_out

    @property
    def yields(self) -> bool:
        """True if the ground yields plastically."""
        return self.plasticity is not None or self.soil is not None

    @property
    def source_lowpass(self) -> float | None:
        """Corner frequency [Hz] of the low-pass filter of all sources, None for none.

        ``grid.lowpass`` is the older name.
        """
        older = None if self.grid is None else self.grid.lowpass
        own = self.numerics.source_lowpass
        return older if own is None else own

    @property
    def sea_gravity(self) -> float:
        """Gravity on sea surfaces [m/s^2]."""
        return 9.81 if self.gravity is None else float(self.gravity)

    @model_validator(mode="before")
    @classmethod
    def _engine_defaults(cls, data: object) -> object:
        """Set defaults that depend on the engine.

        The engine fd uses single precision by default; attenuation on tetrahedra implies the viscoelastic law.
        """
        if not isinstance(data, dict):
            return data
        if data.get("engine") != "fd":
            attenuates = data.get("attenuation") is not None and "law" not in data
            return {**data, "law": "viscoelastic"} if attenuates else data
        numerics = data.get("numerics") or {}
        defaults = {"numerics": {"precision": "single", **numerics}} if isinstance(numerics, dict) else {}
        return {"mesh": None, **data, **defaults}

    @field_validator("parts", mode="before")
    @classmethod
    def _parts(cls, given: object, info: ValidationInfo) -> object:
        return part_settings(given, info.data.get("engine", "dg"), info.context)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        wrong = dict(misplaced_settings(self, self.engine))
        if wrong:
            raise WrongSettings(wrong)
        needed = (
            ("mesh", self.engine == "dg", "the engine dg needs one"),
            ("grid", self.engine == "fd", "the engine fd needs one"),
            ("fault", self.stop.time_after_rupture is not None, "stop refers to a rupture, so the case needs a fault"),
        )
        older, own = None if self.grid is None else self.grid.lowpass, self.numerics.source_lowpass
        if older is not None and own is not None and older != own:
            what = f"is {own:g} Hz where its older name grid.lowpass is {older:g} Hz"
            where = "numerics.source_lowpass"
            raise WrongSettings({("numerics", "source_lowpass"): Problem(where, what, "one of the two settings")})
        missing: dict[Location, Problem] = {
            (name,): Problem(name, f"missing, {why}")
            for name, needs, why in needed
            if needs and not getattr(self, name)
        }
        if missing:
            raise WrongSettings(missing)
        return self
