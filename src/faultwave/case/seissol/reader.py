"""Typed access to the keys of a SeisSol deck, and the settings built from them with their origins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from faultwave.base.errors import Problems, suggest
from faultwave.base.log import get_logger
from faultwave.base.types import Settings
from faultwave.case.seissol import keys
from faultwave.case.seissol.syntax import Deck, Entry, boolean, integer, integers, mask, real, unquoted, vector
from faultwave.case.validate import Location, dotted

_log = get_logger(__name__)

_READERS: dict[str, Callable[[str], object]] = {
    "I": integer,
    "R": real,
    "B": boolean,
    "S": lambda text: unquoted(text).strip(),
    "P": lambda text: unquoted(text).strip(),
    "L": integers,
}


def _convert(kind: str, text: str) -> object:
    if kind[0] == "M":
        return mask(text, int(kind[1:]))
    if kind[0] == "V":
        return vector(text, int(kind[1:]))
    return _READERS[kind](text)


class Reader:
    """Reader of a deck's keys by their current names.

    Attributes
    ----------
    deck : Deck
        Parsed deck.
    problems : Problems
        Collects problems.
    data : dict
        Settings built so far.
    origins : dict of Location to Entry
        Key that each setting came from.
    entries : dict of (str, str) to Entry
        Entries by block and lower-case key.
    """

    def __init__(self, deck: Deck, problems: Problems):
        self.deck, self.problems = deck, problems
        self.data: Settings = {}
        self.origins: dict[Location, Entry] = {}
        self.entries: dict[tuple[str, str], Entry] = {}
        self._values: dict[tuple[str, str], object] = {}
        for block, entries in deck.blocks.items():
            self._block(block, entries)

    def _block(self, block: str, entries: dict[str, Entry]) -> None:
        if block in keys.OBSOLETE_BLOCKS:
            _log.info("%s: block '&%s' has no effect", self.deck.where(self.deck.lines[block]), block)
            return
        if block not in keys.KEYS:
            if entries:  # an empty block has no effect
                what = f"unknown block '&{block}' has no effect"
                self.problems.warn(self.deck.where(self.deck.lines[block]), what, "", suggest(block, keys.KEYS))
            return
        for entry in entries.values():
            self._entry(entry)

    def _entry(self, entry: Entry) -> None:
        place, key = self.deck.where(entry.line), keys.find(entry.block, entry.key)
        if key is None:
            advice = suggest(entry.name, keys.names(entry.block))
            self.problems.warn(place, f"unknown key '{entry.name}' in '&{entry.block}' has no effect", "", advice)
            return
        if key.use == "obsolete":
            _log.info("%s: '%s' has no effect", place, entry.name)
            return
        try:
            value = _convert(key.kind, entry.text)
        except ValueError as error:
            severity = self.problems.error if key.use == "used" else self.problems.warn
            severity(place, f"{entry.name} = {entry.text}: {error}")
            return
        name = keys.ALIASES.get((entry.block, entry.key), (entry.block, entry.key))
        if name in self.entries and name == (entry.block, entry.key) or name not in self.entries:
            older = self.entries.get(name)
            self.entries[name], self._values[name] = entry, value
        else:
            older = entry
        if older is not None:
            newer = self.entries[name].name
            self.problems.warn(self.deck.where(older.line), f"'{older.name}' is an older name of '{newer}', which wins")

    def given(self, block: str, key: str) -> bool:
        """Return True if the key has a readable value; an empty text counts as absent."""
        return self._values.get((block, key.lower()), "") != ""

    def get(self, block: str, key: str, default: object = None) -> Any:
        """Return the value of a key, or the default."""
        return self._values[block, key.lower()] if self.given(block, key) else default

    def numbered(self, block: str, prefix: str) -> Iterator[Entry]:
        """Yield the entries whose key is ``prefix`` followed by digits."""
        for (home, key), entry in self.entries.items():
            if home == block and key.startswith(prefix) and key[len(prefix) :].isdigit():
                yield entry

    def where(self, block: str, key: str) -> str:
        """Return file:line of a key, of its block if the key is absent, or the file."""
        entry = self.entries.get((block, key.lower()))
        if entry is not None:
            return self.deck.where(entry.line)
        return self.deck.where(self.deck.lines[block]) if block in self.deck.lines else self.deck.name

    def spelt(self, block: str, key: str) -> str:
        """Return the key as the user wrote it."""
        entry = self.entries.get((block, key.lower()))
        return entry.name if entry is not None else key

    def missing(self, block: str, key: str, what: str) -> None:
        """Report a missing key as an error; ``what`` describes its value."""
        self.problems.error(self.where(block, key), f"'{key}' is missing in '&{block}': {what}")

    def wrong(self, block: str, key: str, allowed: str, advice: str = "") -> None:
        """Report an invalid value as an error, with the allowed values."""
        given = f"{self.spelt(block, key)} = {self.entries[block, key.lower()].text}"
        self.problems.error(self.where(block, key), given, allowed, advice)

    def warn(self, block: str, key: str, what: str) -> None:
        """Report a warning about a key."""
        self.problems.warn(self.where(block, key), f"{self.spelt(block, key)}: {what}")

    def report_unsupported(self, block: str, key: str, feature: str, allowed: str = "", advice: str = "") -> None:
        """Report an error for an unsupported feature that would change the result."""
        given = self.entries[block, key.lower()]
        what = f"{given.name} = {given.text}: {feature} is not built yet"
        self.problems.error(self.where(block, key), what, allowed, advice)

    def put(self, location: Location, value: object, block: str = "", key: str = "") -> None:
        """Set a setting; block and key state its origin."""
        group = self.data
        for part in location[:-1]:
            group = group.setdefault(str(part), {})
        group[str(location[-1])] = value
        entry = self.entries.get((block, key.lower()))
        if entry is not None:
            self.origins[location] = entry

    def copy(self, location: Location, block: str, key: str, default: object = None) -> None:
        """Set a setting to the value of a key, or to the default unless that is None."""
        value = self.get(block, key, default)
        if value is not None:
            self.put(location, value, block, key)

    def origin(self, location: Location) -> Entry | None:
        """Return the entry that the innermost known part of ``location`` came from, else the first one below it."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.origins:
                return self.origins[location[:end]]
        below = (entry for place, entry in self.origins.items() if place[: len(location)] == location)
        return next(below, None)

    def place(self, location: Location) -> str:
        """Return file:line of the key that a setting came from, or the file."""
        entry = self.origin(location)
        return self.deck.where(entry.line) if entry is not None else self.deck.name

    def spell(self, location: Location) -> str:
        """Return the key that a setting came from, or all keys of a group of settings."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.origins:
                return self.origins[location[:end]].name
        below = [entry.name for place, entry in self.origins.items() if place[: len(location)] == location]
        return ", ".join(dict.fromkeys(below)) or dotted(location)


def default_folders(path: Path) -> tuple[Path, Path]:
    """Return the folders in which SeisSol searches a deck's files: the deck's own, then the working folder."""
    return path.absolute().parent, Path.cwd()
