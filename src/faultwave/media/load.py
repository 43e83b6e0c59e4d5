"""Construction of fields from settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.units import as_float, to_si
from faultwave.media.easi.component import gather
from faultwave.media.easi.load import load_easi
from faultwave.media.field import (
    Constant,
    Converted,
    Expression,
    Field,
    Layers,
    Limited,
    Merged,
    RegionOverrides,
    Regions,
    Rule,
    derivable_parameters,
    source_of,
)
from faultwave.media.models import open_models
from faultwave.media.perturbed import Perturbation, Perturbed, Surveyed
from faultwave.media.random_fields import Taper, VonKarman

if TYPE_CHECKING:
    from faultwave.base.projection import ProjectionSettings


class Setting(Protocol):
    """Settings that describe a field (case.model.FieldSetting); numbers are in SI units."""

    @property
    def easi(self) -> Path | None: ...
    @property
    def constant(self) -> Mapping[str, float]: ...
    @property
    def expression(self) -> Mapping[str, str]: ...
    @property
    def layers(self) -> Path | None: ...


def load_field(
    setting: Setting,
    where: str = "field",
    time: bool | None = None,
    volumes: Mapping[str, int] | None = None,
    defaults: Mapping[str, float] | None = None,
    projection: ProjectionSettings | None = None,
    rules: Sequence[Rule] | None = (),
) -> Field:
    """Return the field that a setting describes, merged from all sources that it uses.

    Materials given by velocities also provide moduli, and the reverse.

    Parameters
    ----------
    setting : Setting
    where : str
        Path of the setting, for messages.
    time : bool, optional
        Dimensions of an easi file: t, x, y, z if True, x, y, z if False, the ones that it is written for if None.
    volumes : mapping of str to int, optional
        Numbers of the mesh's named volumes.
    defaults : mapping of str to float, optional
        Values of parameters that a region does not give.
    projection : optional
        Setting of the case's projection, for models in longitude and latitude.
    rules : sequence of Rule or None
        Rules for additional derived parameters; None: derive nothing, not even moduli from speeds.

    Raises
    ------
    InputError
        With every problem found: files, syntax, parameters given twice, nothing given.
    """
    ways = _descriptions(setting, where, time, projection)
    regions = getattr(setting, "regions", None)
    if regions:
        ways.append(partial(_regions, regions, f"{where}.regions", volumes or {}, defaults or {}, rules))
    if not ways:
        raise InputError(
            Problem(where, "no parameters are defined", "easi, constant, expression, layers, models, regions")
        )
    fields = gather(ways)
    least, most = getattr(setting, "minimum", None) or {}, getattr(setting, "maximum", None) or {}
    random = getattr(setting, "random", None)
    if random:  # limits apply to the perturbed values
        unlimited = _combined(fields, {}, {}, where, rules)
        perturbed = Perturbed.of(unlimited, _perturbations(random, f"{where}.random"), f"{where}.random")
        limited = Limited(perturbed, least, most, where) if least or most else perturbed
        return Converted.of(Surveyed(limited, perturbed), rules)
    return _combined(fields, least, most, where, rules)


def _combined(
    fields: Sequence[Field],
    least: Mapping[str, float],
    most: Mapping[str, float],
    where: str,
    rules: Sequence[Rule] | None,
) -> Field:
    """Return the union of fields, of which regions come last, with limits and derived parameters."""

    def converted(merged: Field) -> Field:
        return Converted.of(Limited(merged, least, most, where) if least or most else merged, rules)

    if isinstance(fields[-1], Regions) and len(fields) > 1:
        everywhere: Field = fields[0] if len(fields) == 2 else Merged(tuple(fields[:-1]))
        if derivable_parameters(everywhere.parameters) & derivable_parameters(fields[-1].parameters):
            return RegionOverrides(converted(everywhere), fields[-1])
    return converted(fields[0] if len(fields) == 1 else Merged(tuple(fields)))


def _descriptions(
    setting: Setting, where: str, time: bool | None, projection: ProjectionSettings | None
) -> list[Callable[[], Field]]:
    """Return functions that read the descriptions of a setting that hold everywhere; parameters as in ``load_field``."""
    ways: list[Callable[[], Field]] = []
    if setting.easi is not None:
        ways.append(partial(load_easi, setting.easi, time))
    if setting.constant:
        ways.append(partial(Constant, setting.constant, f"{where}.constant"))
    if setting.expression:
        ways.append(partial(Expression.of, setting.expression, f"{where}.expression"))
    if setting.layers is not None:
        ways.append(partial(read_layers, setting.layers))
    models = getattr(setting, "models", None)
    if models:
        ways.append(partial(open_models, models, f"{where}.models", projection))
    return ways


class RandomSetting(Protocol):
    """Settings of a random field (case.settings.fields.RandomField)."""

    @property
    def relative(self) -> Mapping[str, float]: ...
    @property
    def absolute(self) -> Mapping[str, float]: ...
    @property
    def correlation_length(self) -> Sequence[float]: ...
    @property
    def hurst(self) -> float: ...
    @property
    def shortest_wavelength(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def strike(self) -> float | None: ...
    @property
    def dip(self) -> float: ...
    @property
    def limit(self) -> float | None: ...
    @property
    def taper(self) -> TaperSetting | None: ...


class TaperSetting(Protocol):
    """Settings of a taper (case.settings.fields.RandomTaper)."""

    @property
    def x(self) -> tuple[float, float] | None: ...
    @property
    def y(self) -> tuple[float, float] | None: ...
    @property
    def z(self) -> tuple[float, float] | None: ...
    @property
    def width(self) -> float: ...


def _perturbations(settings: Mapping[str, RandomSetting], where: str) -> tuple[Perturbation, ...]:
    found = []
    for name, setting in settings.items():
        lengths = np.array(setting.correlation_length, float)
        lengths = lengths if len(lengths) > 1 else np.repeat(lengths, 3)
        axes = _axes(setting.strike, setting.dip)[: len(lengths)]
        random = VonKarman(
            setting.hurst, lengths, axes, setting.shortest_wavelength, setting.seed, name, f"{where}.{name}"
        )
        limit = np.inf if setting.limit is None else setting.limit
        taper = None
        if setting.taper is not None:
            ends = (setting.taper.x, setting.taper.y, setting.taper.z)
            taper = Taper(np.array([pair or (-np.inf, np.inf) for pair in ends]), setting.taper.width)
        found.append(Perturbation(random, setting.relative, setting.absolute, limit, taper))
    return tuple(found)


def _axes(strike: float | None, dip: float) -> np.ndarray:
    """Return the directions (3, 3) along strike, down dip and along the normal; without strike x, y and z."""
    if strike is None:
        return np.eye(3)
    s, d = np.radians([strike, dip])
    along = np.array([np.sin(s), np.cos(s), 0.0])
    down = np.array([np.cos(s) * np.cos(d), -np.sin(s) * np.cos(d), -np.sin(d)])
    return np.stack([along, down, np.cross(along, down)])


def _regions(
    settings: Mapping[str | int, Mapping[str, float]],
    where: str,
    volumes: Mapping[str, int],
    defaults: Mapping[str, float],
    rules: Sequence[Rule] | None = (),
) -> Regions:
    problems, fields = Problems(), {}
    for key, values in settings.items():
        number = volumes.get(str(key))
        if number is None and str(key).isdigit():
            number = int(key)
        if number is None:
            allowed = ", ".join(volumes) or "numbers of groups: the mesh has no named volumes"
            problems.error(f"{where}.{key}", f"the mesh has no volume '{key}'", allowed, suggest(str(key), volumes))
        elif number in fields:
            problems.error(f"{where}.{key}", f"volume {number} is defined twice", "each volume once, by name or number")
        else:
            fields[number] = Converted.of(Constant(values, f"{where}.{key}"), rules)
    problems.raise_errors()
    return Regions(fields, {n: f"volume '{name}'" for name, n in volumes.items()}, defaults, where)


def check_field(field: Field, needed: Iterable[str], where: str) -> Problems:
    """Return one error for each needed parameter that the field lacks; ``where`` names their user."""
    problems = Problems()
    for name in needed:
        if name not in field.parameters:
            given = ", ".join(sorted(field.parameters)) or "nothing"
            what = f"parameter {name} is required, but {source_of(field)} does not define it"
            problems.error(where, what, f"given are {given}", suggest(name, field.parameters))
    return problems


_LAYER_COLUMNS = {
    "depth": "m",
    "vp": "m/s",
    "vs": "m/s",
    "rho": "kg/m^3",
    "mu": "Pa",
    "lambda": "Pa",
    "Qp": "",
    "Qs": "",
}


def read_layers(path: Path) -> Layers:
    """Read a text table of layers with a header of column names and one row for each layer.

    Columns in any order: ``depth`` of the layer's top [m, positive down], ``vp vs`` [m/s], ``rho`` [kg/m^3] and,
    optionally, ``Qp Qs`` or moduli; a header ``vp[km/s]`` declares another unit. ``#`` starts a comment, which may be
    the header.

    Raises
    ------
    InputError
        With file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError:
        raise InputError(Problem(str(path), "not UTF-8 text")) from None
    rows = [(k, words) for k, line in enumerate(lines, 1) if (words := line.partition("#")[0].split())]
    if rows and as_float(rows[0][1][0]) is not None:  # the header may be a comment
        above = [(k, line.strip("# \t").split()) for k, line in enumerate(lines[: rows[0][0] - 1], 1)]
        header = next(((k, words) for k, words in above if _names(words)), None)
        if header is None:
            what, allowed = (
                "the first row contains numbers, so the columns have no names",
                "a header such as 'depth vp vs rho'",
            )
            raise InputError(
                Problem(f"{path}:{rows[0][0]}", what, allowed, "It may include units: depth[km] vp[km/s].")
            )
        rows = [header, *rows]
    if len(rows) < 2:
        raise InputError(Problem(str(path), "no layers", "a header 'depth vp vs rho' and one row a layer"))
    names, factors = _header(f"{path}:{rows[0][0]}", rows[0][1])
    table = np.array(gather(partial(_layer, f"{path}:{k}", words, len(names)) for k, words in rows[1:])) * factors
    tops = table[:, names.index("depth")]
    for k in np.flatnonzero(np.diff(tops) <= 0):
        what = f"depth {tops[k + 1]:g} m is not below the layer before ({tops[k]:g} m)"
        raise InputError(Problem(f"{path}:{rows[k + 2][0]}", what, "depths of layer tops, ascending"))
    retained = [k for k, name in enumerate(names) if name != "depth"]
    return Layers(tops, table[:, retained], tuple(names[k] for k in retained), str(path))


def _names(words: list[str]) -> bool:
    """Return True if the words are column names of a table of layers."""
    known = {name.lower() for name in _LAYER_COLUMNS}
    return "depth" in (found := [word.partition("[")[0].lower() for word in words]) and known.issuperset(found)


def _header(where: str, words: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the column names and the factors to SI units."""
    names, factors = [], []
    for word in words:
        name, _, unit = word.rstrip("]").partition("[")
        match = next((known for known in _LAYER_COLUMNS if known.lower() == name.lower()), None)
        if match is None:
            allowed = ", ".join(_LAYER_COLUMNS)
            raise InputError(Problem(where, f"unknown column '{name}'", allowed, suggest(name, _LAYER_COLUMNS)))
        if match in names:
            raise InputError(Problem(where, f"column '{match}' occurs twice", "each column once"))
        try:
            factors.append(to_si(f"1 {unit}", _LAYER_COLUMNS[match]) if unit else 1.0)
        except ValueError as error:
            raise InputError(Problem(where, f"column '{name}': {error}")) from None
        names.append(match)
    if "depth" not in names or len(names) < 2:
        raise InputError(Problem(where, "the header lacks 'depth' or any other column", "e.g. depth vp vs rho"))
    return names, np.array(factors)


def _layer(where: str, words: list[str], count: int) -> list[float]:
    try:
        row = [float(word) for word in words]
    except ValueError:
        raise InputError(
            Problem(where, f"'{' '.join(words)}' is not a row of numbers", "as many numbers as columns have names")
        ) from None
    if len(row) != count or not np.all(np.isfinite(row)):
        raise InputError(Problem(where, f"'{' '.join(words)}'", f"{count} finite numbers"))
    return row
