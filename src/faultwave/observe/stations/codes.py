"""Codes of receivers, and stations as listed in files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from faultwave.base.errors import Problems
from faultwave.base.projection import exchange_advice
from faultwave.base.wording import is_unprintable, printable
from faultwave.observe.dataset import Dataset

STATION = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9_-]{1,8}")
"""Pattern of station codes: up to eight characters, the limit of SAC, with at least one letter."""
NETWORK = re.compile(r"[A-Za-z0-9]{1,8}")
CODE = re.compile(r"[A-Za-z0-9_.-]{1,32}")
"""Pattern of codes in files of other programs, which allow names longer than SAC's and without a letter."""
CODE_FORM = "station code of 1 to 32 letters, digits, -, _ and ."
FORM = "station code of 1 to 8 letters, digits, - and _, with at least one letter"
NETWORK_FORM = "network code of 1 to 8 letters and digits"


@dataclass(frozen=True)
class Station:
    """Codes of a receiver; ``where`` states where they were given, empty if they are default codes."""

    code: str
    network: str
    where: str = ""


def invalid_codes(words: Sequence[str]) -> str:
    """Return why the words after a place in a file are not a station and its network, empty if they are valid."""
    if len(words) > 2:
        return f"'{' '.join(words[2:])}' after the network would have no effect"
    if words and not STATION.fullmatch(words[0]):
        return f"'{words[0]}' is not a {FORM}"
    return f"'{words[1]}' is not a {NETWORK_FORM}" if words[1:] and not NETWORK.fullmatch(words[1]) else ""


def default_code(number: int) -> str:
    """Return the default code of a receiver, of five characters: R0007, or the number alone beyond 9999."""
    return f"R{number:04d}" if number < 10_000 else f"{number:05d}"


def named(given: Sequence[tuple[Sequence[str], str]], network: str, problems: Problems) -> tuple[Station, ...]:
    """Return the stations of all receivers, with an error for each pair of equal codes.

    Parameters
    ----------
    given : sequence of (sequence of str, str)
        Codes (station, network) given for each receiver, and where.
    network : str
        Default network.
    problems : Problems
        Collects errors.
    """
    found, seen = [], dict[tuple[str, str], str]()
    for number, (words, where) in enumerate(given, 1):
        code, net = (*words, *("", "")[len(words) :])[:2]
        station = Station(code or default_code(number), net or network, where if code else "")
        key, place = (station.network, station.code), where or f"receiver {number}"
        if any(is_unprintable(c) for c in station.code + station.network):
            what = (
                f"'{printable('.'.join(key), '')}' contains a character that cannot be displayed, such as a "
                "control character"
            )
            problems.error(place, what, "letters and digits")
        if key in seen:
            what = f"receiver {number} is called {'.'.join(key)}, like {seen[key]}"
            problems.error(place, what, "another station or network code for each receiver")
        seen.setdefault(key, f"receiver {number}")
        found.append(station)
    return tuple(found)


def with_stations(receivers: Dataset, stations: Sequence[Station], origin_time: datetime | None) -> Dataset:
    """Return receivers with their codes and the origin time as attributes."""
    attrs = {"stations": [s.code for s in stations], "networks": [s.network for s in stations]} if stations else {}
    return replace(receivers, attrs={**receivers.attrs, **attrs, **since(origin_time)})


def since(origin_time: datetime | None) -> Mapping[str, object]:
    """Return the attribute with the origin time, if known."""
    return {} if origin_time is None else {"origin_time": origin_time.isoformat()}


@dataclass(frozen=True)
class ListedStation:
    """Station of a file.

    Attributes
    ----------
    where : str
        Place in the file, for messages: file and line, or file and name of a group.
    place : tuple of float
        Longitude, latitude [deg], z [m], or, without ``degrees``, x, y, z [m]. z is minus the depth below the ground, or the height itself
        if ``height`` is set.
    codes : tuple of str
        Codes of station and network, if given.
    degrees : bool
        True if the place is given in degrees.
    height : bool
        True if z is a height.
    corner : tuple of float, optional
        Longitude and latitude [deg] of the origin of x (east) and y (north).
    """

    where: str
    place: tuple[float, float, float]
    codes: tuple[str, ...]
    degrees: bool = True
    height: bool = False
    corner: tuple[float, float] | None = None


def check_geographic(longitude: float, latitude: float, where: str, problems: Problems) -> bool:
    """Return True if longitude and latitude are degrees, neither exchanged nor metres; add an error otherwise."""
    if abs(latitude) <= 90 and abs(longitude) <= 360:
        return True
    what, advice = f"longitude {longitude:g}, latitude {latitude:g}", exchange_advice(longitude, latitude)
    problems.error(where, what, "degrees, latitude from -90 to 90", advice)
    return False
