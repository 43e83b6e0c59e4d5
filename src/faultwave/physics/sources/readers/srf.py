"""SRF, Standard Rupture Format, versions 1.0 and 2.0 (Graves 2014): finite sources as text.

Subfaults slip along the rake, perpendicular to it in the fault, and along the outward normal, with sampled rates in
cm/s. Strike, dip and rake follow Aki & Richards, with angles from true north. Rates are linear between samples and fall
to zero within one interval before the first and after the last, so that slip is their sum times the interval, also for
one sample or a boxcar.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.paths import shown
from faultwave.base.projection import Projection, exchange_advice, geographic_tensor, needed, voigt
from faultwave.base.types import Setting
from faultwave.base.units import as_float, finite_number
from faultwave.physics.sources.point import Functions, Sources, slip_frame
from faultwave.physics.sources.time_functions import SampledFunctions

FEW_COLUMNS, MANY_COLUMNS = 8, 10
"""Number of values of a subfault before its rake, without and with vs and density."""
COLUMNS = {"1.0": FEW_COLUMNS, "2.0": MANY_COLUMNS}
"""Number of columns by version; files with the other number are read, too."""
VERSIONS = tuple(COLUMNS)
DEEPEST = 7000.0  # km
LARGEST = 1e20  # of any number, to avoid overflow of products
SPEEDS, DENSITIES = (1e4, 1e6), (0.5, 10.0)  # cm/s, g/cm^3; files in SI lie outside
AGREED = 0.05
"""Relative difference between the stated slip and the integral of the rates that rounding and truncation explain."""
SMALL = 0.01
"""Fraction of the largest slip in a file below which writers of the format omit rates."""


DIRECTIONS = 3  # directions of slip: along the rake, across it, along the normal
HEAD = ("lon", "lat", "depth", "strike", "dip", "area", "onset", "step", "vs", "density", "rake")


class _Subfaults:
    """Subfaults as read: one row of numbers each, and the rates of the directions in which they slip."""

    def __init__(self, path: Path):
        self.path = path
        self.rows, self.lines = (
            array("d"),
            array("q"),
        )  # HEAD and the stated slips [cm]; lines of the first and second row
        self.rates = array("f")  # [m/s], with zeros at the ends
        self.lengths, self.early, self.owner = array("q"), array("b"), array("q")
        """Number of samples, flag of a leading zero, and subfault * DIRECTIONS + direction of each direction that slips."""
        self.other_columns: tuple[int, int] | None = (
            None  # first line with another number of columns than its version, and this number
        )
        self.summed = array("d")  # sum of the rates of each direction times the interval [cm]

    def __len__(self) -> int:
        return len(self.lines) // 2

    def add(self, row: Sequence[float], lines: tuple[int, int], rates: Sequence[np.ndarray]) -> None:
        """Add a subfault with the values of ``HEAD`` and three slips."""
        number, step = len(self), row[HEAD.index("step")]
        self.rows.extend(row)
        self.lines.extend(lines)
        for direction, rate in enumerate(rates):
            self.summed.append(float(rate.sum() * step) if len(rate) else 0.0)
            if rate.any():
                early = 1 if rate[0] else 0
                samples = np.zeros(early + len(rate) + 1, np.float32)
                samples[early:-1] = 1e-2 * rate
                self.rates.frombytes(samples.tobytes())
                self.lengths.append(len(samples))
                self.early.append(early)
                self.owner.append(DIRECTIONS * number + direction)

    def columns(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return the values (n,) by name and the stated slips (n, 3) [cm]."""
        rows = np.frombuffer(self.rows, float).reshape(len(self), -1)
        return dict(zip(HEAD, rows.T, strict=False)), rows[:, len(HEAD) :]

    def check(self, problems: Problems) -> None:
        """Add one error for all subfaults with the same problem."""
        c, left = self.columns()[0], np.ones(len(self), bool)
        slips = np.bincount(np.array(self.owner, np.int64) // DIRECTIONS, minlength=len(self)) > 0
        for wrong, what, allowed in (
            (~(c["step"] > 0) & slips, "time step {step:g} s", "> 0"),
            (~(c["area"] > 0), "area {area:g} cm^2", "> 0"),
            (~((c["depth"] >= 0) & (c["depth"] <= DEEPEST)), "depth {depth:g} km", f"0 to {DEEPEST:g}"),
            (~((np.abs(c["lon"]) <= 360) & (np.abs(c["lat"]) <= 90)), "longitude {lon:g}, latitude {lat:g}", "degrees"),
            (~((c["dip"] >= 0) & (c["dip"] <= 90)), "dip {dip:g}", "0 to 90 degrees"),
            ((c["vs"] > 0) & _outside(c["vs"], SPEEDS), "vs {vs:g} cm/s", "1e4 to 1e6 cm/s, not m/s"),
            ((c["density"] > 0) & _outside(c["density"], DENSITIES), "density {density:g} g/cm^3", "0.5 to 10 g/cm^3, not kg/m^3"),
        ):  # fmt: skip
            found = np.flatnonzero(wrong & left)
            left &= ~wrong
            if len(found):
                first, more = found[0], ""
                if found[1:].size:
                    more = f"; so is the {what.split(' ')[0]} of {len(found) - 1} more, the last of them subfault {found[-1] + 1}"
                values = {name: float(v[first]) for name, v in c.items()}
                advice = exchange_advice(values["lon"], values["lat"]) if allowed == "degrees" else ""
                where = f"{self.path}:{self.lines[2 * first]}"
                problems.error(where, f"subfault {first + 1} has {what.format(**values)}{more}", allowed, advice)

    def check_slips(self, problems: Problems, warned: Problems) -> None:
        """Add warnings where slip has no rates or differs from their integral, and an error if no slip of the file has rates."""
        reported, summed = self.columns()[1].ravel(), np.array(self.summed)
        if not len(reported):
            return
        self._check_missing_rates(reported, summed, problems, warned)
        off = np.abs(summed - reported)
        differ = np.flatnonzero(
            (off > AGREED * np.abs(reported)) & (off > SMALL * np.abs(reported).max()) & (summed != 0)
        )
        if len(differ):
            worst = differ[off[differ].argmax()]
            what = (
                f"{len(differ)} of {len(reported)} slips are not the sum of their rates times the interval, here {reported[worst]:g} cm "
                f"and {summed[worst]:.4g} cm"
            )
            advice = "The rates are used. Rates are in cm/s, slip in cm."
            warned.warn(self._place_of_slip(worst), what, advice=advice)

    def _check_missing_rates(
        self, listed_slips: np.ndarray, summed: np.ndarray, problems: Problems, warned: Problems
    ) -> None:
        """Add a warning with the moment of slip without rates, from the stated and the integrated slips (3 n,) [cm]."""
        large = np.abs(listed_slips) > SMALL * max(np.abs(listed_slips).max(), np.abs(summed).max(), 1e-30)
        without = np.flatnonzero(large & (summed == 0))
        if not len(without):
            return
        place, first = self._place_of_slip(without[0]), f"here {listed_slips[without[0]]:g} cm"
        if not summed.any():
            what = f"{len(without)} slips have no rates, {first}: the source has no effect"
            problems.error(place, what, "samples of the slip rate that are not all zero")
            return
        c = self.columns()[0]
        potency = 1e-6 * np.repeat(c["area"], DIRECTIONS) * np.abs(listed_slips)  # [m^3]
        share = 100.0 * potency[without].sum() / potency.sum()
        total = np.count_nonzero(listed_slips)
        what = f"{len(without)} of {total} slips have no rates, {first}: they lose {share:.3g} % of the slip times area"
        modulus = np.repeat(self.modulus(), DIRECTIONS)[without]
        if np.isfinite(modulus).all():
            what += f", a moment of {(modulus * potency[without]).sum():.3g} N m"
        warned.warn(
            place,
            what,
            advice="Only subfaults with rates act: scale their rates if the magnitude should equal that of the file.",
        )

    def modulus(self) -> np.ndarray:
        """Return the shear modulus (n,) [Pa] of each subfault from its vs and density; NaN if the file has none."""
        c = self.columns()[0]
        known = (c["vs"] > 0) & (c["density"] > 0)
        return np.where(known, 0.1 * c["vs"] ** 2 * c["density"], np.nan)  # dyne/cm^2

    def _place_of_slip(self, number: int) -> str:
        return f"{self.path}:{self.lines[2 * (number // DIRECTIONS) + 1]}"

    def leads(self) -> np.ndarray:
        """Return the time (n,) [s] by which each source begins before the onset of the file."""
        subfault = np.array(self.owner, np.int64) // DIRECTIONS
        return np.asarray(np.array(self.early) * self.columns()[0]["step"][subfault])

    def places(self, projection: Projection) -> np.ndarray:
        """Return the local coordinates (n, 3) [m] of the subfaults."""
        c = self.columns()[0]
        return np.concatenate([projection.to_local(c["lon"], c["lat"]), -1e3 * c["depth"][:, None]], 1)

    def potencies(self, projection: Projection) -> np.ndarray:
        """Return the potency tensors (n, DIRECTIONS, 6) of unit slip in each direction [m^2]."""
        c = self.columns()[0]
        normal, along = slip_frame(*(np.radians(c[name]) for name in ("strike", "dip", "rake")))
        slip = np.stack(along, 1)[..., None] * normal[:, None, None, :]
        both = 0.5e-4 * c["area"][:, None, None, None] * (slip + slip.swapaxes(2, 3))
        return voigt(geographic_tensor(both, projection.norths(c["lon"], c["lat"])[:, None]))

    def sources(self, projection: Projection) -> Sources:
        """Return one source per subfault and direction with samples."""
        c, owner = self.columns()[0], np.array(self.owner, np.int64)
        subfault, direction = np.divmod(owner, DIRECTIONS)
        potency, place = self.potencies(projection)[subfault, direction], self.places(projection)
        modulus = self.modulus()
        names = np.array([f"{self.path.name} subfault {number + 1}" for number in subfault], object)
        first = np.concatenate([[0], np.cumsum(np.array(self.lengths, np.int64))])
        rates = SampledFunctions(np.frombuffer(self.rates, np.float32), first, c["step"][subfault])
        functions = Functions((rates,), np.zeros(len(owner), np.int64), np.arange(len(owner)))
        onset = (c["onset"][subfault] - self.leads()).reshape(-1)
        none = np.zeros((len(owner), 7))
        return Sources(
            place[subfault], none[:, :6], none[:, :3], potency, none, modulus[subfault], onset, names, functions
        )


def _outside(values: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    return np.asarray((values < bounds[0]) | (values > bounds[1]))


class _Tokens:
    """Words of an open file with their line numbers, without comments, read only as far as needed."""

    def __init__(self, path: Path, file: Iterable[str]):
        self.path, self.file = path, enumerate(file, 1)
        self.words: list[str] = []
        self.lines: list[int] = []
        self.at, self.line = 0, 1

    def _fill(self, count: int) -> None:
        """Read ahead until ``count`` words are available or the file ends."""
        if len(self.words) - self.at >= count:
            return
        del self.words[: self.at], self.lines[: self.at]
        self.at = 0
        for number, line in self.file:
            if not line.lstrip().startswith("#"):
                self.words += (found := line.split())
                self.lines += [number] * len(found)
                self.line = number if found else self.line
            if len(self.words) >= count:
                return

    @property
    def next_line(self) -> int:
        """Line number of the next word; at the end, of the last one."""
        self._fill(1)
        return self.lines[self.at] if self.at < len(self.lines) else self.line

    def words_ahead(self, count: int) -> tuple[int, int]:
        """Return how many of the next ``count`` or more words are on the line of the first word and on the line after it."""
        self._fill(count)
        ahead = self.lines[self.at : self.at + count]
        here = sum(line == ahead[0] for line in ahead)
        return here, sum(line == ahead[here] for line in ahead[here:]) if len(ahead) > here else 0

    @property
    def place(self) -> str:
        return f"{self.path}:{self.next_line}"

    @property
    def done(self) -> bool:
        self._fill(1)
        return self.at >= len(self.words)

    def word(self, what: str) -> str:
        if self.done:
            raise InputError(
                Problem(
                    self.place,
                    f"the file ends where {what} was expected",
                    "the lines of a SRF file",
                    "Was the file truncated during a transfer?",
                )
            )
        self.at += 1
        return self.words[self.at - 1]

    def numbers(self, count: int, what: str) -> np.ndarray:
        self._fill(count)
        part = self.words[self.at : self.at + count]
        if len(part) < count:
            self.at = len(self.words)
            raise InputError(
                Problem(
                    self.place,
                    f"the file ends in {what}: {len(part)} of {count} numbers",
                    "all samples of each subfault",
                    "Was the file truncated during a transfer?",
                )
            )
        try:
            values = np.array(part, float)
        except ValueError:
            found = list[float]()
            for word in part:
                found.append(self._number(word, what))
                self.at += 1
            self.at -= len(part)
            values = np.array(found)
        sound = np.abs(values) <= LARGEST  # False for NaN
        if not sound.all():
            self.at += int(np.flatnonzero(~sound)[0])
            raise InputError(
                Problem(self.place, f"'{self.words[self.at]}' is not a finite number ({what})", f"to {LARGEST:g}")
            )
        self.at += count
        return values

    def _number(self, word: str, what: str) -> float:
        found = finite_number(word) if as_float(word) is None else as_float(word)
        if found is None:
            raise InputError(Problem(self.place, f"'{word}' is not a number ({what})"))
        return found

    def whole(self, what: str) -> int:
        place, value = self.place, self.numbers(1, what)[0]
        if value != int(value) or value < 0:
            raise InputError(Problem(place, f"{what} is {value:g}", "a whole number, not negative"))
        return int(value)


def read(path: Path, setting: Setting, projection: Projection | None, warned: Problems | None = None) -> Sources:
    """Return the sources of a file, as every module of this folder does."""
    return read_srf(path, projection, warned)


def read_srf(path: Path, projection: Projection | None, warned: Problems | None = None) -> Sources:
    """Return one source per subfault and direction with samples.

    Locations are in the local x, y of the projection at z = -depth. Version 2.0 gives the shear modulus of each
    subfault by vs and density, and so do some files of 1.0; otherwise the modulus of the cell is used.

    Parameters
    ----------
    path
        File.
    projection
        Projection of the case.
    warned
        Receives warnings: slips without rates or different from the integral of their rates.

    Raises
    ------
    InputError
        With file and line of the problem.
    """
    return read_srf_with_leads(path, projection, warned)[0]


def read_srf_with_leads(
    path: Path, projection: Projection | None, warned: Problems | None = None
) -> tuple[Sources, np.ndarray]:
    """Return the sources as ``read_srf``, and the time (n,) [s] by which each begins before the onset of the file.

    It is an interval where the first rate of the file is not zero, since it is then preceded by a zero, else none.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return _read(_Tokens(path, file), projection, Problems() if warned is None else warned)
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None


@dataclass(frozen=True)
class SrfSubfaults:
    """Geometry of all subfaults of a file, whether they slip or not.

    Attributes
    ----------
    geographic : ndarray (n, 3)
        Longitude, latitude [deg] and depth [km].
    location : ndarray (n, 3)
        Local x, y, z [m].
    strike, dip, rake : ndarray (n,)
        Angles [deg].
    area : ndarray (n,)
        Areas [m^2].
    modulus : ndarray (n,)
        Shear modulus [Pa], NaN where the file has none.
    vs, density : ndarray (n,)
        As in the file [cm/s, g/cm^3], not positive where unknown.
    potency : ndarray (n, 2, 6)
        Tensors area (slip normal + normal slip) / 2 [m^2] of unit slip along the rake and across it, xx yy zz xy yz xz.
    grids : tuple of (int, int, float, float)
        Number of subfaults along strike and down dip, length and width [m] of each segment; empty without a block PLANE.
    """

    geographic: np.ndarray
    location: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    rake: np.ndarray
    area: np.ndarray
    modulus: np.ndarray
    vs: np.ndarray
    density: np.ndarray
    potency: np.ndarray
    grids: tuple[tuple[int, int, float, float], ...]

    def __len__(self) -> int:
        return len(self.area)


def read_srf_subfaults(path: Path, projection: Projection) -> SrfSubfaults:
    """Return the geometry of all subfaults of a file, also of those without slip.

    Raises
    ------
    InputError
        With file and line of the problem.
    """
    problems = Problems()
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            tokens = _Tokens(path, file)
            found, grids, _ = _parse(tokens, _version(tokens), Problems(), problems)
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    found.check(problems)
    problems.raise_errors()
    c = found.columns()[0]
    geographic = np.stack([c["lon"], c["lat"], c["depth"]], 1)
    return SrfSubfaults(
        geographic, found.places(projection), c["strike"], c["dip"], c["rake"], 1e-4 * c["area"], found.modulus(),
        c["vs"], c["density"], found.potencies(projection)[:, :2], tuple(grids),
    )  # fmt: skip


def _version(tokens: _Tokens) -> str:
    """Return the version of a file; raise InputError if it is none of this format."""
    path = tokens.path
    version = tokens.word("the version")
    if version not in VERSIONS:
        junk = f"is not an SRF file: it begins with '{shown(version)}' where its version is expected"
        what = f"version '{version}' is not known" if re.fullmatch(r"\d{1,3}\.\d{1,3}", version) else junk
        raise InputError(Problem(f"{path}:1", what, ", ".join(VERSIONS)))
    return version


def _parse(
    tokens: _Tokens, version: str, warned: Problems, problems: Problems
) -> tuple[_Subfaults, list[tuple[int, int, float, float]], str]:
    """Return subfaults, size [m] and number of subfaults of each segment, and the place of the first block PLANE."""
    path = tokens.path
    grids, planes, found = list[tuple[int, int, float, float]](), "", _Subfaults(path)
    while not tokens.done:
        place, word = tokens.place, tokens.word("PLANE or POINTS")
        if word == "PLANE":
            planes = planes or place
            for segment in range(1, tokens.whole("the number of segments") + 1):
                grids.append(_segment(tokens, segment, problems))
        elif word == "POINTS":
            for _ in range(tokens.whole("the number of subfaults")):
                _subfault(tokens, version, found)
        else:
            raise InputError(Problem(place, f"'{word}' where a block begins", "PLANE, POINTS"))
    if not len(found):
        problems.error(tokens.place, "holds no subfaults", "a block POINTS")
        problems.raise_errors()
    announced = sum(along * down for along, down, _, _ in grids)
    if announced and announced != len(found):
        what = f"holds {len(found)} subfaults, its segments have {announced}"
        problems.error(planes, what, advice="Is a segment missing, or is the file truncated?")
    if found.other_columns is not None:
        line, columns = found.other_columns
        have = (
            "vs and density, and they give the shear modulus"
            if columns == MANY_COLUMNS
            else "no vs and density: the shear modulus is the material's"
        )
        warned.warn(f"{path}:{line}", f"subfaults of this version {version} file have {have}")
    return found, grids, planes


def _read(tokens: _Tokens, given: Projection | None, warned: Problems) -> tuple[Sources, np.ndarray]:
    version = _version(tokens)
    problems, projection = Problems(), needed(given, str(tokens.path))
    found, grids, planes = _parse(tokens, version, warned, problems)
    found.check(problems)
    found.check_slips(problems, warned)
    area = float(found.columns()[0]["area"].sum())
    extent = 1e4 * sum(length * width for _, _, length, width in grids)  # cm^2
    if planes and not problems.errors and not 0.5 <= area / extent <= 2.0:
        what = f"subfaults have a total area of {area:.4g} cm^2, the segments {extent:.4g} cm^2"
        warned.warn(
            planes, what, advice="The areas of the subfaults are used; they are in cm^2, lengths of segments in km."
        )
    problems.raise_errors()
    return found.sources(projection), found.leads()


def _segment(tokens: _Tokens, number: int, problems: Problems) -> tuple[int, int, float, float]:
    """Return the number of subfaults and size [m] of a segment: elon elat nstk ndip len wid, stk dip dtop shyp dhyp."""
    place = tokens.place
    lon, lat, along, down, length, width, _, dip, top, _, _ = tokens.numbers(11, f"segment {number}")
    for wrong, what, allowed in (
        (not (-360 <= lon <= 360 and -90 <= lat <= 90), f"longitude {lon:g}, latitude {lat:g}", "degrees"),
        (min(along, down) < 1 or any(n != int(n) for n in (along, down)), f"{along:g} x {down:g} subfaults", "whole numbers"),
        (not (length > 0 and width > 0), f"length {length:g}, width {width:g} km", "> 0"),
        (not 0 <= dip <= 90, f"dip {dip:g}", "0 to 90 degrees"),
        (not 0 <= top <= DEEPEST, f"depth of its top {top:g} km", f"0 to {DEEPEST:g}"),
    ):  # fmt: skip
        if wrong:
            advice = exchange_advice(lon, lat) if allowed == "degrees" else ""
            problems.error(place, f"segment {number} has {what}", allowed, advice)
    return int(along), int(down), 1e3 * length, 1e3 * width


def _subfault(tokens: _Tokens, version: str, found: _Subfaults) -> None:
    """Add the next subfault to ``found``."""
    what = f"of subfault {len(found) + 1}"
    line = tokens.next_line
    columns = _columns(tokens, version)
    head = tokens.numbers(columns, "a subfault").tolist()
    if columns == FEW_COLUMNS:
        head += [-1.0, -1.0]
    if columns != COLUMNS[version] and not found.other_columns:
        found.other_columns = (line, columns)
    where = tokens.next_line
    rake, *slips = tokens.numbers(7, "rake, slips and numbers of samples").tolist()
    if any(count < 0 or count != int(count) for count in slips[1::2]):
        allowed = "whole numbers, not negative"
        advice = (
            f"The file was read with {columns} columns per subfault; files without and with vs and "
            f"density have {FEW_COLUMNS} and {MANY_COLUMNS}."
        )
        raise InputError(Problem(f"{tokens.path}:{where}", f"numbers of samples {slips[1::2]}", allowed, advice))
    rates = [tokens.numbers(int(count), f"slip rates {what}") for count in slips[1::2]]
    found.add([*head, rake, *slips[0::2]], (line, where), rates)


def _columns(tokens: _Tokens, version: str) -> int:
    """Return the number of values before the rake.

    It is the number of values on the line, if the seven others are alone on the next line. Writers add vs and density
    to files of version 1.0, and omit them in 2.0.
    """
    on_line, on_next = tokens.words_ahead(MANY_COLUMNS + 8)
    return on_line if on_line in (FEW_COLUMNS, MANY_COLUMNS) and on_next == 7 else COLUMNS[version]
