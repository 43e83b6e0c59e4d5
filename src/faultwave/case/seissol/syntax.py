"""Parser of SeisSol's ``parameters.par``: blocks of keys with line numbers, and readers of their values.

SeisSol's reader is line based and not a full namelist reader. Everything it accepts is read in the same way here. Syntax that only
namelists allow is read too: several entries per line, entries on the block's first line, values continued on the next line, ``&end``,
logicals, signed ``d`` exponents, commas in arrays, repeat counts ``3*0``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from faultwave.base.errors import Problems

_ASSIGNMENT = re.compile(r"(?:^|(?<=[\s,;]))(\w+)\s*=")
_INDEXED = re.compile(r"^\s*(\w+\s*[(%][^=]*?)\s*=")
_TRUE, _FALSE = {".true.", "true", ".t.", "t"}, {".false.", "false", ".f.", "f"}


@dataclass(frozen=True)
class Entry:
    """Single ``key = value`` entry of a deck.

    Attributes
    ----------
    block, key : str
        Block and key in lower case.
    name : str
        Key as written.
    text : str
        Text of the value.
    line : int
        Line number in the file.
    """

    block: str
    key: str
    name: str
    text: str
    line: int


@dataclass
class Deck:
    """Parsed deck.

    Attributes
    ----------
    name : str
        Name of the file.
    blocks : dict
        Entries by block and key, in lower case.
    lines : dict of str to int
        First line of each block.
    """

    name: str
    blocks: dict[str, dict[str, Entry]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def where(self, line: int) -> str:
        """Return 'file:line' for messages."""
        return f"{self.name}:{line}"


def without_comment(line: str) -> str:
    """Return the line up to the first ``!`` outside quotes.

    A quote begins only where a value may begin, so the one in "it's" does not count; an unclosed quote protects nothing.
    """
    quote = ""
    for i, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"" and line[i - 1 : i].strip() in ("", "=", ",") and char in line[i + 1 :]:
            quote = char
        elif char == "!":
            return line[:i]
    return line


def _mask_quotes(line: str) -> str:
    """Return the line with quoted text blanked at the same length, so that it is not parsed as syntax."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", lambda m: m[0][0] + "_" * (len(m[0]) - 2) + m[0][-1], line)


def parse_deck(text: str, name: str, problems: Problems) -> Deck:
    """Parse the text of a deck.

    Parameters
    ----------
    text : str
        Content of the file.
    name : str
        Name of the file, for messages.
    problems : Problems
        Collects every syntax error.
    """
    return _Parser(Deck(name), problems).read(text)


class _Parser:
    """State of the parser: the open block, and the last entry, which following lines may extend."""

    def __init__(self, deck: Deck, problems: Problems):
        self.deck, self.problems = deck, problems
        self.block: str | None = None
        self.last: Entry | None = None

    def read(self, text: str) -> Deck:
        for number, raw in enumerate(text.splitlines(), 1):
            line = without_comment(raw).strip()
            if line.startswith("&"):
                self._ampersand(line, number)
            elif line and self.block is not None:
                self._inside(line, number)
        if self.block is not None:
            place = self.deck.where(self.deck.lines[self.block])
            self.problems.error(place, f"block '&{self.block}' is never closed", "a line '/' at its end")
        return self.deck

    def _ampersand(self, line: str, number: int) -> None:
        found = re.match(r"&\s*(\w*)", line)
        name = found[1].lower() if found else ""
        if name == "end" and self.block is not None:
            self._close()
            return
        where = self.deck.where(number)
        if self.block is not None:
            begun = self.deck.lines[self.block]
            self.problems.error(
                where, f"'&{name}' begins inside '&{self.block}' of line {begun}", "a line '/' before it"
            )
        if name in self.deck.blocks:
            what = f"block '&{name}' occurs a second time (first in line {self.deck.lines[name]})"
            self.problems.error(where, what, advice="Merge the two")
        self.block, self.last = name, None
        self.deck.blocks.setdefault(name, {})
        self.deck.lines.setdefault(name, number)
        rest = line[found.end() :].strip() if found else ""
        if _ASSIGNMENT.search(_mask_quotes(rest)):  # anything else there is a comment
            self.problems.warn(where, f"SeisSol ignores '{rest}' after '&{name}'; Faultwave reads it")
            self._inside(rest, number)

    def _close(self) -> None:
        self.block, self.last = None, None

    def _inside(self, line: str, number: int) -> None:
        if line.startswith("/"):
            self._close()
            return
        ended = re.search(r"(?<=[\s,])/\s*$", _mask_quotes(line))
        if ended:
            line = line[: ended.start()].rstrip()
        if line:
            self._fields(line, number)
        if ended:
            self._close()

    def _fields(self, line: str, number: int) -> None:
        masked = _mask_quotes(line)
        found = list(_ASSIGNMENT.finditer(masked))
        before = line[: found[0].start()] if found else line
        if before.strip(" ,;\t"):
            indexed = _INDEXED.match(masked)
            if indexed or not self._continue(before):
                what = f"'{before.strip()}' is not understood" if not indexed else f"'{indexed[1]}' is not a plain key"
                self.problems.error(self.deck.where(number), what, "key = value")
        ends = [one.start() for one in found[1:]] + [len(line)]
        for one, end in zip(found, ends, strict=False):
            self._add(one[1], line[one.end() : end].strip(), number)

    def _continue(self, text: str) -> bool:
        """Append the line to the values of the previous key, as in arrays of namelists.

        Returns False if it does not consist of values.
        """
        if self.last is None or not all(_is_value(word) for word in re.split(r"[\s,]+", text.strip(" ,\t"))):
            return False
        self.last = replace(self.last, text=f"{self.last.text} {text.strip()}")
        self.deck.blocks[self.last.block][self.last.key] = self.last
        return True

    def _add(self, name: str, text: str, number: int) -> None:
        assert self.block is not None
        where, entries = self.deck.where(number), self.deck.blocks[self.block]
        if not text:
            self.problems.error(where, f"'{name}' has no value", "key = value; an empty text is ''")
            return
        if name.lower() in entries:
            first = entries[name.lower()].line
            self.problems.error(where, f"'{name}' occurs a second time (first in line {first})", advice="Remove one")
            return
        self.last = Entry(self.block, name.lower(), name, text, number)
        entries[name.lower()] = self.last


def _is_value(word: str) -> bool:
    try:
        real(word)
    except ValueError:
        return word.lower() in _TRUE | _FALSE or word[:1] in "'\""
    return True


def unquoted(text: str) -> str:
    """Return a text without its quotes, which may differ, or an unquoted text without a trailing comma."""
    text = text.strip()
    bare = text.rstrip(", ;\t")
    if len(bare) >= 2 and bare[0] in "'\"" and bare[-1] in "'\"":
        return bare[1:-1]
    return bare


def real(text: str) -> float:
    """Return a number, possibly with a Fortran ``d`` exponent. Raises ValueError otherwise."""
    word = unquoted(text).strip()
    number = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([edED][+-]?\d+)?", word)
    if number:
        return float(re.sub("[dD]", "e", word))
    if re.fullmatch(r"[+-]?\.?inf(inity)?", word, re.IGNORECASE):
        return float(word.replace(".", ""))
    raise ValueError(f"'{word}' is not a number")


def integer(text: str) -> int:
    """Return an integer; also accepts ``5.`` and ``5.0``, which SeisSol rejects."""
    value = real(text)
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        raise ValueError(f"'{unquoted(text)}' is not a whole number")
    return int(value)


def boolean(text: str) -> bool:
    """Return True for integers above zero and Fortran's true; False otherwise."""
    word = unquoted(text).strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    try:
        return integer(word) > 0
    except ValueError:
        raise ValueError(f"'{word}' is neither 0 nor 1") from None


def words(text: str) -> list[str]:
    """Return the items of an array, separated by blanks or commas, quoted or bare; ``3*0`` is ``0 0 0``."""
    result: list[str] = []
    for word in re.split(r"[\s,]+", unquoted(text).strip(" ,\t")):
        repeat = re.fullmatch(r"(\d+)\*(\S+)", word)
        result += [repeat[2]] * int(repeat[1]) if repeat else [word] if word else []
    return result


def mask(text: str, length: int) -> list[bool]:
    """Return on or off for each of ``length`` outputs; a short mask is padded with off, a long one truncated."""
    given = [boolean(word) for word in words(text)]
    return (given + [False] * length)[:length]


def vector(text: str, length: int) -> list[float]:
    """Return exactly ``length`` numbers. Raises ValueError otherwise."""
    given = [real(word) for word in words(text)]
    if len(given) != length:
        raise ValueError(f"has {len(given)} numbers, needs {length}")
    return given


def integers(text: str) -> list[int]:
    """Return one or more integers. Raises ValueError otherwise."""
    given = [integer(word) for word in words(text)]
    if not given:
        raise ValueError("needs at least one whole number")
    return given
