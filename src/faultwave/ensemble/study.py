"""Declaration and reading of a study: the base case, the settings that vary, the design, the results and the executor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from faultwave.base.errors import Problem, Problems
from faultwave.base.types import Settings as Data
from faultwave.base.units import Quantity
from faultwave.case.settings.common import InputFile, OutputFolder, Settings, need
from faultwave.case.settings_file import Where, markdown_tables, read_contents, validated
from faultwave.case.validate import Location, dotted

Number = float | str
"""Number, or text with a unit, in a distribution or limit."""


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class Variable(Settings):
    """Setting of the base case that differs between members."""

    setting: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_as_tuple)] = Field(
        description="Dotted path of the setting, such as fault.parameters.constant.mu_s or sources[0].location[2]; "
        "a list of paths receives the same value.",
        min_length=1,
    )
    values: tuple[Any, ...] | None = Field(None, description="Values of the setting, files too.")
    column: str | None = Field(None, description="Column of the table; by default the name of the variable.")
    distribution: str | None = Field(None, description="Distribution of scipy.stats, such as norm, uniform, lognorm.")
    parameters: dict[str, Number] = Field(
        default_factory=dict, description="Parameters of the distribution; loc and scale may have units."
    )
    lower: Number | None = Field(None, description="Lower limit at which the distribution is truncated.")
    upper: Number | None = Field(None, description="Upper limit at which the distribution is truncated.")
    seed: bool = Field(False, description="Assign each member an integer seed of its own.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [self.values is not None, self.column is not None, self.distribution is not None, self.seed]
        need(
            (sum(kinds) <= 1, "needs one of values, column, distribution and seed, not several"),
            (self.values is None or len(self.values) > 0, "values is empty"),
            (
                self.distribution is not None
                or not (self.parameters or self.lower is not None or self.upper is not None),
                "parameters, lower and upper belong to a distribution",
            ),
        )
        return self


class Design(Settings):
    """Design: how the values of the variables are combined into members."""

    kind: Literal["list", "table", "grid", "random", "latin-hypercube", "sobol"] = Field(
        description="list: one member for each position in the lists of values; table: one for each row of a CSV file; grid: all "
        "combinations of values; random, latin-hypercube, sobol: samples of the distributions."
    )
    members: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] | None = Field(
        None, description="Number of members of a sample."
    )
    file: InputFile | None = Field(None, description="CSV file of the design table, with a header.")

    @property
    def samples(self) -> bool:
        """True for designs that sample the unit cube."""
        return self.kind in ("random", "latin-hypercube", "sobol")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        need(
            (not self.samples or self.members is not None, f"members is missing, which the design {self.kind} needs"),
            (
                self.samples or self.members is None,
                f"members does nothing with kind {self.kind}: the values determine it",
            ),
            (self.kind != "table" or self.file is not None, "file is missing, which the design table needs"),
            (self.kind == "table" or self.file is None, f"file does nothing with kind {self.kind}"),
        )
        return self


class Correlation(Settings):
    """Rank correlation of two variables."""

    variables: tuple[str, str] = Field(description="Names of the two variables.")
    rank: Annotated[float, Field(ge=-1, le=1)] = Field(description="Spearman's rank correlation.")


class ResultSettings(Settings):
    """Results of an ensemble."""

    store: Literal["members", "statistics"] = Field(
        "members",
        description="members: seismograms and maps of every member; statistics: only statistics of the maps, and scalars of every member.",
    )
    stations: bool = Field(True, description="Store the seismograms of receivers and the histories of fault receivers.")
    maps: tuple[str, ...] | Literal["all"] = Field(
        "all", description="Maps of the rupture and of intensity to combine."
    )
    percentiles: tuple[Annotated[float, Field(ge=0, le=100)], ...] = Field(
        (16, 50, 84), description="Percentiles of maps."
    )
    exceedance: dict[str, tuple[Number, ...]] = Field(
        default_factory=dict, description="Levels, by map, whose probability of exceedance is computed at every place."
    )
    runs: bool = Field(False, description="Also write the complete output of every member, in runs/NUMBER.")


class Slurm(Settings):
    """Job array of Slurm."""

    jobs: Annotated[int, Field(ge=1, le=10_000)] = Field(1, description="Number of jobs of the array.")
    at_once: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Largest number of jobs that run at the same time."
    )
    time: str = Field("24:00:00", description="Time limit of a job, as Slurm writes it.")
    partition: str = Field("", description="Slurm's partition.")
    account: str = Field("", description="Slurm's account.")
    options: tuple[str, ...] = Field((), description="Further options of sbatch, such as --mem=64G.")


class Execution(Settings):
    """Execution of the members."""

    executor: Literal["local", "mpi", "dask", "slurm"] = Field("local", description="Where the members run.")
    workers: Annotated[int, Field(ge=1, le=4096)] | None = Field(
        None, description="Number of members that run at the same time; by default as many as the cores allow."
    )
    threads: Annotated[int, Field(ge=1, le=4096)] | Literal["auto"] = Field(
        1, description="Threads of a member; auto divides the cores among the workers."
    )
    processes: Annotated[int, Field(ge=1, le=4096)] = Field(1, description="MPI processes of a member.")
    time_limit: Quantity("s", gt=0) | None = Field(
        None, description="Wall-clock time after which a member is ended and counts as failed."
    )
    retries: Annotated[int, Field(ge=0, le=100)] = Field(
        1, description="New attempts for a member whose process was killed."
    )
    scheduler: str | None = Field(None, description="Address of a Dask scheduler; by default workers on this machine.")
    slurm: Slurm = Field(default_factory=Slurm, description="Job array of Slurm.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        need(
            (
                self.processes == 1 or self.executor in ("local", "slurm"),
                f"processes is {self.processes}: members of several processes run with the executors local and slurm",
            ),
            (self.scheduler is None or self.executor == "dask", "scheduler belongs to the executor dask"),
            ("slurm" not in self.model_fields_set or self.executor == "slurm", "slurm belongs to the executor slurm"),
            (
                self.threads != "auto" or self.workers is not None,
                "threads is auto: state the number of workers among which the cores are divided",
            ),
            (
                self.workers is None or self.executor != "mpi",
                "workers does nothing with the executor mpi: the launcher determines the number of processes",
            ),
        )
        return self


class Serve(Settings):
    """Model that `faultwave serve` offers to clients."""

    name: str = Field("forward", description="Name of the model.", min_length=1)
    outputs: tuple[str, ...] = Field((), description="Scalar results that clients receive, in this order.")
    config: tuple[str, ...] = Field(
        ("numerics.order", "grid.spacing"),
        description="Settings of the case that clients may replace in an evaluation, by their dotted paths.",
    )


class Study(Settings):
    """Ensemble: a base case, the settings that vary, and what becomes of the members."""

    title: str = Field("", description="Title.")
    case: str | dict[str, Any] = Field(description="Base case: a file, the name of an example, or settings.")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="Seed of all random numbers.")
    design: Design = Field(description="Combination of values into members.")
    vary: dict[str, Variable] = Field(description="Variables by name.", min_length=1)
    correlations: tuple[Correlation, ...] = Field((), description="Rank correlations of sampled variables.")
    results: ResultSettings = Field(default_factory=ResultSettings, description="What is stored and computed.")
    execution: Execution = Field(default_factory=Execution, description="Where and how the members run.")
    serve: Serve = Field(default_factory=Serve, description="Model that `faultwave serve` offers.")
    folder: OutputFolder | None = Field(
        None, description="Folder of the ensemble; by default the name of the study file, in the working directory."
    )


def load_study(source: object, changes: Mapping[str, object] | None = None) -> tuple[Study, Where]:
    """Read a study.

    Parameters
    ----------
    source : str, PathLike or mapping
        Study file (YAML), or its contents.
    changes : mapping, optional
        Settings of ``execution`` to replace, and ``folder``; None means not given.

    Returns
    -------
    study : Study
        Valid study; ``case`` is absolute if it is a file next to the study.
    where : callable
        Place of a setting of the study.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    problems = Problems()
    data, folders, where = read_contents(source, "study", problems)
    problems.raise_errors()
    data = _changed(data, {k: v for k, v in (changes or {}).items() if v is not None})
    study = validated(Study, data, folders, where, "study")
    for name in study.vary:
        if not name.isidentifier():
            problems.error(
                where(("vary", name)), f"'{name}' is no name of a variable", "letters, digits and underscores"
            )
    problems.raise_errors()
    if study.folder is None:
        name = Path(str(source)).stem if not isinstance(source, Mapping) else "ensemble"
        study = study.model_copy(update={"folder": Path.cwd() / name})
    return study.model_copy(update={"case": _base(study.case, folders)}), where


def _changed(data: Data, changes: Mapping[str, object]) -> Data:
    found = dict(data)
    execution = {k: v for k, v in changes.items() if k != "folder"}
    if execution and isinstance(found.get("execution") or {}, Mapping):
        found["execution"] = {**(found.get("execution") or {}), **execution}
    if "folder" in changes:
        found["folder"] = changes["folder"]
    return found


def _base(case: str | Data, folders: Sequence[Path]) -> str | Data:
    """Return a case file next to the study as an absolute path, and anything else unchanged."""
    if isinstance(case, str):
        for folder in folders:
            if (folder / Path(case).expanduser()).is_file():
                return str((folder / Path(case).expanduser()).absolute())
    return case


def study_markdown() -> str:
    """Return the reference of the settings of a study: a table for each group."""
    groups: tuple[tuple[str, type[Settings]], ...] = (
        ("A study", Study), ("`vary.NAME`", Variable), ("`design`", Design), ("`correlations[]`", Correlation),
        ("`results`", ResultSettings), ("`execution`", Execution), ("`execution.slurm`", Slurm), ("`serve`", Serve),
    )  # fmt: skip
    return markdown_tables(groups)


def study_problem(where: Where, location: Location, what: str, allowed: str = "", advice: str = "") -> Problem:
    """Return a problem at a setting of the study."""
    return Problem(where(location), f"{dotted(location)}: {what}", allowed, advice)


def number_or_none(value: object) -> float | None:
    """Return a finite number, None for anything else."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None  # type: ignore[arg-type]
