"""Declaration and reading of a campaign: tensors of sites, ruptures, intensity measures, and hazard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from faultwave.base.errors import Problems
from faultwave.base.units import Quantity, to_si
from faultwave.case.settings.common import InputFile, OutputFolder, ParameterErrors, Settings, need
from faultwave.case.settings.grid import Projection
from faultwave.case.settings_file import Where, markdown_tables, read_contents, validated
from faultwave.observe.motions.measures import GRAVITY, UNITS
from faultwave.observe.motions.rotated import is_measure, spectral_period

Number = float | str
"""Number in SI units, or text with a unit."""
MEASURES = "PGA, PGV, PGD, SA(period), CAV, Arias, D5-75, D5-95"
DEFAULT_LEVELS = {"PGA": (1e-2, 20.0), "SA": (1e-3, 20.0), "PGV": (1e-3, 5.0), "PGD": (1e-3, 10.0), "CAV": (1e-2, 50.0),
                  "Arias": (1e-4, 20.0), "D5-75": (1.0, 200.0), "D5-95": (1.0, 200.0)}  # fmt: skip
"""Smallest and largest default level by measure, in SI units."""
LEVELS = 40
"""Number of default levels."""


def _absolute(path: Path, info: ValidationInfo) -> Path:
    """Return the absolute path of a file that may not exist yet, relative to the folder of the campaign."""
    folder = info.context["folders"][0] if info.context else Path.cwd()
    return Path(folder / path.expanduser()).absolute()


LaterFile = Annotated[Path, AfterValidator(_absolute)]
"""File that exists when the campaign is computed."""


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str | Path) else value


def _as_mapping(value: object) -> object:
    """Convert a list of measures into a mapping without levels."""
    if not isinstance(value, list | tuple):
        return value
    names = list(map(str, value))
    if repeated := sorted({n for n in names if names.count(n) > 1}):
        raise ValueError(f"{repeated[0]} occurs {names.count(repeated[0])} times; list each measure once")
    return dict.fromkeys(names)


def year_text(years: float) -> str:
    """Return years as they appear in names of files."""
    return f"{years:g}"


def unit_of(measure: str) -> str:
    """Return the SI unit of a measure."""
    return UNITS["SA" if measure.startswith("SA(") else measure]


def default_levels(measure: str) -> tuple[float, ...]:
    """Return the default levels of a measure in SI units, in geometric progression."""
    low, high = DEFAULT_LEVELS["SA" if measure.startswith("SA(") else measure]
    return tuple(float(f"{x:.4g}") for x in np.geomspace(low, high, LEVELS))


def level_to_si(value: Number, measure: str) -> float:
    """Return a level in SI units; accelerations may be in g, as 0.1 g."""
    unit = unit_of(measure)
    text = value.strip() if isinstance(value, str) else ""
    if unit == "m/s^2" and text.endswith(" g"):
        return GRAVITY * to_si(text.removesuffix(" g"), "")
    return to_si(value, unit)


class Disaggregation(Settings):
    """Level of a measure whose hazard is divided into contributions of ruptures."""

    measure: str = Field(description="One of the campaign's measures.")
    level: Number | None = Field(None, description="Level, as in `measures`.")
    probability: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description="Probability of exceedance in the first of `years` that defines the level, instead of `level`.",
    )

    @model_validator(mode="after")
    def _one_level(self) -> Self:
        need(((self.level is None) != (self.probability is None), "needs either level or probability"))
        return self


class CampaignSettings(Settings):
    """Campaign: stored tensors of sites, ruptures with annual rates, and the hazard that follows."""

    title: str = Field("", description="Title.")
    tensors: Annotated[tuple[LaterFile, ...], BeforeValidator(_as_tuple)] = Field(
        description="Files that `faultwave sgt` wrote, each with one or more sites.", min_length=1
    )
    ruptures: InputFile = Field(description="CSV table of the ruptures, one variation in a row.")
    projection: Projection | None = Field(
        None, description="Map projection of the case of the tensors; needed only if their files do not contain it."
    )
    nearest: Quantity("m", ge=0) = Field(
        1.0, description="Largest distance between a subfault and the point whose tensors it uses."
    )
    duration: Quantity("s", gt=0) | None = Field(
        None, description="Duration of the seismograms; by default as long as the tensors allow."
    )
    max_frequency: Quantity("Hz", gt=0) | None = Field(
        None,
        description="Frequency up to which the smoothing by the forces of the tensors is removed; from it to 1.5 times it, amplitudes "
        "decrease to zero. By default the smoothing remains.",
    )
    measures: Annotated[dict[str, tuple[Number, ...] | None], BeforeValidator(_as_mapping)] = Field(
        description=f"Intensity measures ({MEASURES}), with the levels of their hazard curves, or as a list with default levels.",
        min_length=1,
    )
    component: Literal["RotD50", "RotD100"] = Field(
        "RotD50", description="Median or maximum over the horizontal directions."
    )
    years: Annotated[tuple[Annotated[float, Field(gt=0)], ...], BeforeValidator(_as_tuple)] = Field(
        (50.0,), description="Investigation times of probabilities [years].", min_length=1
    )
    disaggregation: tuple[Disaggregation, ...] = Field((), description="Levels whose hazard is disaggregated.")
    magnitude_bin: float = Field(0.2, gt=0, description="Width of the magnitude bins of disaggregations.")
    distance_bin: Quantity("m", gt=0) = Field(10e3, description="Width of the distance bins of disaggregations.")
    seismograms: bool = Field(False, description="Store the seismograms in the files of the sites.")
    cybershake: bool = Field(
        False, description="Write the stored seismograms in the files of CyberShake, too, in the folder `cybershake`."
    )
    folder: OutputFolder | None = Field(
        None, description="Folder of the results; by default the name of the campaign file, in the working directory."
    )

    @field_validator("measures")
    @classmethod
    def _known_measures(cls, given: dict[str, tuple[Number, ...] | None]) -> dict[str, tuple[float, ...]]:
        """Return the levels of each measure in SI units, in ascending order."""
        wrong, found = dict[str, str](), dict[str, tuple[float, ...]]()
        for name, levels in given.items():
            if not is_measure(name):
                wrong[name] = f"is not an intensity measure; these are {MEASURES}"
                continue
            try:
                values = sorted(level_to_si(v, name) for v in levels) if levels else default_levels(name)
            except ValueError as error:
                wrong[name] = str(error)
                continue
            if min(values) <= 0:
                wrong[name] = f"levels must be positive, the smallest is {min(values):g}"
            found[name] = tuple(values)
        periods = dict[float, str]()
        for name in found:
            if (period := spectral_period(name)) is not None and (other := periods.setdefault(period, name)) != name:
                wrong[name] = f"is the same measure as {other}; list each measure once"
        if wrong:
            raise ParameterErrors(wrong)
        return found

    @field_validator("years")
    @classmethod
    def _distinct_years(cls, given: tuple[float, ...]) -> tuple[float, ...]:
        """Return years whose files have different names."""
        names = [year_text(y) for y in given]
        alike = [(n, names.count(n)) for n in dict.fromkeys(names) if names.count(n) > 1]
        need(
            *(
                (False, f"{count} of the years read {n} with six digits, as in the names of files; they must differ")
                for n, count in alike
            )
        )
        return given

    @model_validator(mode="after")
    def _sound_cybershake(self) -> Self:
        need((self.seismograms or not self.cybershake, "cybershake needs seismograms: true"))
        return self

    @model_validator(mode="after")
    def _sound_disaggregation(self) -> Self:
        for number, item in enumerate(self.disaggregation):
            need((item.measure in self.measures, f"disaggregation[{number}]: {item.measure} is not in measures"))
            if item.level is not None:
                level_to_si(item.level, item.measure)
        return self

    @property
    def levels(self) -> dict[str, tuple[float, ...]]:
        """Levels of each measure in SI units."""
        return self.measures  # type: ignore[return-value]

    @property
    def results(self) -> Path:
        """Folder of the results."""
        assert self.folder is not None
        return Path(self.folder)

    @property
    def percentile(self) -> float:
        """Percentile over the horizontal directions."""
        return 50.0 if self.component == "RotD50" else 100.0


def load_campaign(source: object, folder: str | Path | None = None) -> tuple[CampaignSettings, Where]:
    """Read a campaign.

    Parameters
    ----------
    source : str, PathLike or mapping
        CampaignSettings file (YAML), or its contents.
    folder : str or Path, optional
        Folder of the results instead of the one of the file.

    Returns
    -------
    campaign : CampaignSettings
        Valid settings.
    where : callable
        Place of a setting.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    problems = Problems()
    data, folders, where = read_contents(source, "campaign", problems)
    problems.raise_errors()
    campaign = validated(CampaignSettings, data, folders, where, "campaign")
    if folder is not None:
        return campaign.model_copy(update={"folder": Path(folder).absolute()}), where
    if campaign.folder is None:
        name = Path(str(source)).stem if not isinstance(source, Mapping) else "campaign"
        return campaign.model_copy(update={"folder": Path.cwd() / name}), where
    return campaign, where


def campaign_markdown() -> str:
    """Return the reference of the settings of a campaign: a table for each group."""
    return markdown_tables((("A campaign", CampaignSettings), ("`disaggregation[]`", Disaggregation)))
