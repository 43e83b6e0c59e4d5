"""SRF, Standard Rupture Format, versions 1.0 and 2.0 (Graves 2014): finite sources as text.

Subfaults slip along the rake, at a right angle to it in the fault, and along the outward normal, with sampled rates in
cm/s. Strike, dip and rake are those of Aki & Richards, angles from true north. Rates are linear between their samples and fall to
zero within one interval before the first and after the last, so that slip is their sum times the interval, one sample or a boxcar
included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection, geographic_tensor, needed, voigt
from faultwave.physics.sources.double_couple import slip_frame
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Samples

VERSIONS = ("1.0", "2.0")
DEEPEST = 7000.0  # km
LARGEST = 1e20  # of any number: beyond, products would overflow
SPEEDS, DENSITIES = (1e4, 1e6), (0.5, 10.0)  # cm/s, g/cm^3; files in SI lie outside
AGREED = 0.05
"""Relative difference between the slip that a subfault tells and that of its rates which rounding and cut tails explain."""
SMALL = 0.01
"""Of the largest slip in a file; writers of the format leave out the rates of less."""


@dataclass
class _Slips:
    """What subfaults tell of their slip [cm] beside what their rates add up to."""

    places: list[str] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    summed: list[float] = field(default_factory=list)
    area: float = 0.0  # of all subfaults [cm^2]
    wrong: dict[tuple[str, str], list[tuple[str, int, str]]] = field(default_factory=dict)
    """Of subfaults that cannot be, by kind: where, number and what."""

    def tell_wrong(self, problems: Problems) -> None:
        """One error for all subfaults that are wrong in the same way."""
        for (word, allowed), found in self.wrong.items():
            place, number, what = found[0]
            more = (
                f"; so is the {word} of {len(found) - 1} more, the last of them subfault {found[-1][1]}"
                if found[1:]
                else ""
            )
            problems.error(place, f"subfault {number} has {what}{more}", allowed)

    def check(self, problems: Problems, warned: Problems) -> None:
        """An error where slip has no rates, a warning where the two differ."""
        told, summed = np.array(self.told), np.array(self.summed)
        if not len(told):
            return
        large = np.abs(told) > SMALL * max(np.abs(told).max(), np.abs(summed).max(), 1e-30)
        without = np.flatnonzero(large & (summed == 0))
        if len(without):
            first = without[0]
            what = f"{len(without)} slips have no rates, here {told[first]:g} cm"
            problems.error(self.places[first], what, "samples of the slip rate, or slip 0")
        off = np.abs(summed - told)
        differ = np.flatnonzero((off > AGREED * np.abs(told)) & (off > SMALL * np.abs(told).max()) & (summed != 0))
        if len(differ):
            worst = differ[off[differ].argmax()]
            what = (
                f"{len(differ)} of {len(told)} slips are not the sum of their rates times the interval, here {told[worst]:g} cm "
                f"and {summed[worst]:.4g} cm"
            )
            warned.warn(self.places[worst], what, advice="The rates are taken. Rates are in cm/s, slip in cm.")


class _Tokens:
    """Words of an open file with their lines, comments left out; no more of them in memory than are asked for at once."""

    def __init__(self, path: Path, file: Iterable[str]):
        self.path, self.file = path, enumerate(file, 1)
        self.words: list[str] = []
        self.lines: list[int] = []
        self.at, self.line = 0, 1

    def _fill(self, count: int) -> None:
        """Have so many words ahead, if there are as many."""
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
    def place(self) -> str:
        """Of the word ahead; at the end, of the last one."""
        self._fill(1)
        return f"{self.path}:{self.lines[self.at] if self.at < len(self.lines) else self.line}"

    @property
    def done(self) -> bool:
        self._fill(1)
        return self.at >= len(self.words)

    def word(self, what: str) -> str:
        if self.done:
            raise InputError(Problem(self.place, f"the file ends where {what} was expected"))
        self.at += 1
        return self.words[self.at - 1]

    def numbers(self, count: int, what: str) -> np.ndarray:
        self._fill(count)
        part = self.words[self.at : self.at + count]
        if len(part) < count:
            self.at = len(self.words)
            raise InputError(Problem(self.place, f"the file ends in {what}: {len(part)} of {count} numbers"))
        try:
            values = np.array(part, float)
        except ValueError:
            for word in part:
                self._number(word, what)
                self.at += 1
            raise
        sound = np.abs(values) <= LARGEST  # not so where it is nan
        if not sound.all():
            self.at += int(np.flatnonzero(~sound)[0])
            raise InputError(
                Problem(self.place, f"'{self.words[self.at]}' is no finite number ({what})", f"to {LARGEST:g}")
            )
        self.at += count
        return values

    def _number(self, word: str, what: str) -> None:
        try:
            float(word)
        except ValueError:
            raise InputError(Problem(self.place, f"'{word}' is no number ({what})")) from None

    def whole(self, what: str) -> int:
        place, value = self.place, self.numbers(1, what)[0]
        if value != int(value) or value < 0:
            raise InputError(Problem(place, f"{what} is {value:g}", "a whole number, not negative"))
        return int(value)


def read(path: Path, setting: Any, projection: Projection | None, warned: Problems | None = None) -> list[PointSource]:
    return read_srf(path, projection, warned)


def read_srf(path: Path, projection: Projection | None, warned: Problems | None = None) -> list[PointSource]:
    """One record per subfault and direction with samples; InputError with file and line for what is wrong.

    ``warned`` takes warnings: slips that are not the integral of their rates. Locations lie on the projection's local x, y at
    z = -depth. Version 2.0 gives each subfault's shear modulus by vs and density; where it does not, or in 1.0, that of the place is
    taken.
    """
    projection = needed(projection, str(path))
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return _read(_Tokens(path, file), projection, Problems() if warned is None else warned)
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None


def _read(tokens: _Tokens, projection: Projection, warned: Problems) -> list[PointSource]:
    path = tokens.path
    version = tokens.word("the version")
    if version not in VERSIONS:
        raise InputError(Problem(f"{path}:1", f"version '{version}' is not known", ", ".join(VERSIONS)))
    records: list[PointSource] = []
    problems, subfaults, announced, planes, slips = Problems(), 0, 0, "", _Slips()
    extent = 0.0  # of the segments [cm^2]
    while not tokens.done:
        place, word = tokens.place, tokens.word("PLANE or POINTS")
        if word == "PLANE":
            planes = planes or place
            for segment in range(1, tokens.whole("the number of segments") + 1):
                count, area = _segment(tokens, segment, problems)
                announced, extent = announced + count, extent + area
        elif word == "POINTS":
            for _ in range(tokens.whole("the number of subfaults")):
                subfaults += 1
                records += _subfault(tokens, version, projection, subfaults, slips, problems)
        else:
            raise InputError(Problem(place, f"'{word}' where a block begins", "PLANE, POINTS"))
    if not subfaults:
        problems.error(tokens.place, "holds no subfaults", "a block POINTS")
    elif announced and announced != subfaults:
        what = f"holds {subfaults} subfaults, its segments have {announced}"
        problems.error(planes, what, advice="Is a segment missing, or was the file cut short?")
    slips.tell_wrong(problems)
    slips.check(problems, warned)
    if planes and not problems.errors and not 0.5 <= slips.area / extent <= 2.0:
        what = f"subfaults have {slips.area:.4g} cm^2 together, the segments {extent:.4g} cm^2"
        warned.warn(
            planes, what, advice="Those of the subfaults are taken; they are in cm^2, lengths of segments in km."
        )
    problems.raise_errors()
    return records


def _segment(tokens: _Tokens, number: int, problems: Problems) -> tuple[int, float]:
    """Number of subfaults and area [cm^2] of a segment: elon elat nstk ndip len wid, stk dip dtop shyp dhyp."""
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
            problems.error(place, f"segment {number} has {what}", allowed)
    return int(along) * int(down), 1e10 * length * width


def _subfault(
    tokens: _Tokens, version: str, projection: Projection, number: int, told: _Slips, problems: Problems
) -> list[PointSource]:
    place = tokens.place
    lon, lat, depth, strike, dip, area, onset, step = tokens.numbers(8, "a subfault")
    speed, density = tokens.numbers(2, "vs and density") if version == "2.0" else (-1.0, -1.0)
    where = tokens.place
    rake, *slips = tokens.numbers(7, "rake, slips and numbers of samples")
    counts = [int(c) for c in slips[1::2]]
    if any(c < 0 or c != float(n) for c, n in zip(counts, slips[1::2], strict=True)):
        raise InputError(Problem(where, f"numbers of samples {slips[1::2]}", "whole numbers, not negative"))
    rates = [tokens.numbers(c, f"slip rates of subfault {number}") for c in counts]
    for wrong, what, allowed in (
        (not step > 0 and any(counts), f"time step {step:g} s", "> 0"),
        (not area > 0, f"area {area:g} cm^2", "> 0"),
        (not 0 <= depth <= DEEPEST, f"depth {depth:g} km", f"0 to {DEEPEST:g}"),
        (not (-360 <= lon <= 360 and -90 <= lat <= 90), f"longitude {lon:g}, latitude {lat:g}", "degrees"),
        (not 0 <= dip <= 90, f"dip {dip:g}", "0 to 90 degrees"),
        (speed > 0 and not SPEEDS[0] <= speed <= SPEEDS[1], f"vs {speed:g} cm/s", "1e4 to 1e6 cm/s, not m/s"),
        (density > 0 and not DENSITIES[0] <= density <= DENSITIES[1], f"density {density:g} g/cm^3", "0.5 to 10 g/cm^3, not kg/m^3"),
    ):  # fmt: skip
        if wrong:
            told.wrong.setdefault((what.split(" ")[0], allowed), []).append((place, number, what))
            return []
    told.area += area
    x, y = projection.to_local(lon, lat)[0]
    north, records = projection.north(lon, lat), []
    normal, directions = slip_frame(np.radians(strike), np.radians(dip), np.radians(rake))
    mu = 0.1 * speed**2 * density if speed > 0 and density > 0 else None  # dyne/cm^2
    for direction, rate, slip_told in zip(directions, rates, slips[0::2], strict=True):
        told.places.append(where)
        told.told.append(float(slip_told))
        told.summed.append(float(rate.sum() * step) if len(rate) else 0.0)
        if not rate.any():
            continue
        early = 1 if rate[0] else 0
        samples = 1e-2 * np.concatenate([np.zeros(early), rate, np.zeros(1)])
        slip = np.outer(direction, normal)
        potency = voigt(geographic_tensor(0.5e-4 * area * (slip + slip.T), north))
        records.append(
            PointSource(
                np.array([x, y, -1e3 * depth]), Samples(samples.astype(np.float32), float(step)), potency=potency, shear_modulus=mu,
                onset=float(onset - early * step), name=f"{tokens.path.name} subfault {number}",
            )
        )  # fmt: skip
    return records
