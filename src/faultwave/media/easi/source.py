"""YAML node trees of easi files with source positions, so that every message can name file:line:column.

Nodes are composed but not constructed: numbers are read as in C++ (``10e5`` and ``2.9e+010`` are doubles), tags stay on
their nodes, and keys may be sequences (`!Switch`).
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from faultwave.base.errors import InputError, Problem

_KINDS = {MappingNode: "a mapping", SequenceNode: "a list", ScalarNode: "a single value"}
_INFINITIES = {".inf", ".Inf", ".INF"}


_VALUELESS = re.compile(r"([ \t]*(?:-[ \t]+)*)[^#\s].*:[ \t]*(#.*)?")
_TAG_ALONE = re.compile(r"([ \t]*)![^\s,\[\]{}]+[ \t]*(#.*)?")


def _indented(text: str) -> tuple[str, tuple[int, ...]]:
    """Return a text with tags alone on a line moved one column to the right of the key before them, and the changed lines.

    yaml-cpp, which easi uses, takes such a tag in the column of the key as the tag of the key's value; YAML requires it
    to be indented further. Line numbers count from 1.
    """
    lines, changed, column = text.split("\n"), [], -1
    for number, line in enumerate(lines):
        tag = _TAG_ALONE.fullmatch(line.rstrip("\r"))
        if tag is not None and len(tag[1]) == column:
            lines[number] = " " + line
            changed.append(number + 1)
        elif not line.strip() or line.lstrip().startswith("#"):
            continue
        key = _VALUELESS.fullmatch(line.rstrip("\r"))
        column = len(key[1]) if key is not None else -1
    return "\n".join(lines), tuple(changed)


@functools.lru_cache(maxsize=16)
def _composed(text: str) -> Node | None:
    """Return the root node of a text, cached because one file may serve several fields; parser errors pass through."""
    return YAML(typ="safe", pure=True).compose(text)


@dataclass(frozen=True)
class Source:
    """Text file in memory; ``starts`` are the offsets at which its lines begin."""

    path: Path
    text: str
    starts: tuple[int, ...] = field(repr=False)
    indented: tuple[int, ...] = ()
    """Numbers of lines whose tag yaml-cpp accepts but YAML does not."""

    @classmethod
    def read(cls, path: Path) -> Source:
        """Read a file; raises InputError if it is absent or is not UTF-8 text."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(Problem(str(path), f"not UTF-8 text (byte {error.start})")) from None
        except OSError as error:
            raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
        return cls.of(path, text)

    @classmethod
    def of(cls, path: Path, text: str) -> Source:
        starts = [0]
        starts.extend(position + 1 for position, letter in enumerate(text) if letter == "\n")
        return cls(path, text, tuple(starts))

    def place(self, offset: int) -> str:
        """Return 'file:line:column' (counted from 1) of a character."""
        line = bisect.bisect_right(self.starts, offset) - 1
        return f"{self.path}:{line + 1}:{offset - self.starts[line] + 1}"

    def offset(self, mark: StringMark) -> int:
        return self.starts[mark.line] + int(mark.column)

    def compose(self) -> Block:
        """Return the root node; raises InputError with the place of a YAML mistake."""
        try:
            node = _composed(self.text)
        except Exception as error:  # the parser raises many kinds of errors, also for its own defects
            text, lines = _indented(self.text)
            if lines and not self.indented:
                with suppress(InputError):  # other mistakes are reported with positions in the original file
                    return replace(Source.of(self.path, text), indented=lines).compose()
            raise InputError(self._yaml_problem(error)) from None
        if node is None:
            raise InputError(Problem(str(self.path), "the file is empty", "an easi model"))
        return Block(self, node)

    def _yaml_problem(self, error: Exception) -> Problem:
        if isinstance(error, MarkedYAMLError):
            mark = error.problem_mark or error.context_mark
            where = self.place(self.offset(mark)) if mark else str(self.path)
            what = ", ".join(part for part in (error.context, error.problem) if part)
            advice = "YAML indents with spaces only" if "'\\t'" in what else ""
            return Problem(where, f"not valid YAML: {what}", advice=advice)
        what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Problem(str(self.path), f"not valid YAML: {what}")


@dataclass(frozen=True)
class Block:
    """YAML node of a source with typed access; every method raises InputError with the node's place."""

    source: Source
    node: Node

    @property
    def where(self) -> str:
        return self.source.place(self.source.offset(self.node.start_mark))

    @property
    def tag(self) -> str:
        """Local tag ('!Switch'), or '' for a node without one."""
        tag = str(self.node.tag or "")
        return tag if tag.startswith("!") and len(tag) > 1 else ""

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node, MappingNode)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, SequenceNode)

    @property
    def is_scalar(self) -> bool:
        return isinstance(self.node, ScalarNode)

    @property
    def is_empty(self) -> bool:
        """True if the node has no body at all, as in ``!Any``."""
        return isinstance(self.node, ScalarNode) and self.node.value == ""

    def error(self, what: str, allowed: str = "", advice: str = "") -> InputError:
        return InputError(Problem(self.where, what, allowed, advice))

    def _expect(self, kind: type[Node], what: str) -> None:
        if not isinstance(self.node, kind):
            raise self.error(f"{what} is {_KINDS.get(type(self.node), 'something else')}", _KINDS[kind])

    def pairs(self, what: str = "this") -> list[tuple[Block, Block]]:
        """Return keys and values of a mapping in file order; scalar keys must be unique."""
        self._expect(MappingNode, what)
        pairs = [(Block(self.source, key), Block(self.source, value)) for key, value in self.node.value]
        seen: set[str] = set()
        for key, _ in pairs:
            if key.is_scalar:
                if key.node.value in seen:
                    raise key.error(f"'{key.node.value}' occurs twice")
                seen.add(key.node.value)
        return pairs

    def mapping(self, what: str = "this") -> dict[str, Block]:
        """Return a mapping with plain names as keys."""
        return {key.text("a key"): value for key, value in self.pairs(what)}

    def items(self, what: str = "this") -> Iterator[Block]:
        self._expect(SequenceNode, what)
        return (Block(self.source, item) for item in self.node.value)

    def get(self, key: str) -> Block | None:
        if not self.is_mapping:
            return None
        return self.mapping().get(key)

    def require(self, key: str) -> Block:
        found = self.get(key)
        if found is None:
            raise self.error(f"{self.tag or 'this'} has no '{key}'")
        return found

    def text(self, what: str = "this") -> str:
        self._expect(ScalarNode, what)
        return str(self.node.value)

    def number(self, what: str = "this") -> float:
        """Return a double as C++ streams read it: no underscores, no hexadecimal, infinities as ``.inf``."""
        text = self.text(what)
        if text.lstrip("+-") in _INFINITIES:
            return float("-inf") if text.startswith("-") else float("inf")
        try:
            if "_" in text or text.strip().lstrip("+-")[:1].isalpha():
                raise ValueError
            return float(text)
        except ValueError:
            raise self.error(f"{what} is '{text}'", "a number, .inf or -.inf") from None

    def integer(self, what: str = "this") -> int:
        text = self.text(what)
        try:
            return int(text)
        except ValueError:
            raise self.error(f"{what} is '{text}'", "an integer") from None

    def numbers(self, what: str = "this") -> list[float]:
        return [item.number(f"an entry of {what}") for item in self.items(what)]

    def names(self, what: str = "this") -> list[str]:
        """Return a list of unique names."""
        names = [item.text(f"an entry of {what}") for item in self.items(what)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise self.error(f"{what} lists {', '.join(twice)} more than once")
        return names

    def character_places(self) -> list[int]:
        """Return the offset in the file of each character of a scalar's value.

        YAML folds and unindents text but preserves the order of its non-blank characters. Matching these one by one
        therefore finds every place in block, plain and quoted scalars alike; where escapes break the match, the last
        place found is used for the rest.
        """
        if not isinstance(self.node, ScalarNode):
            return []
        start = self.source.offset(self.node.start_mark)
        end = self.source.offset(self.node.end_mark) if self.node.end_mark else len(self.source.text)
        position = start
        if self.node.style in ("|", ">"):
            position = self.source.text.index("\n", start) + 1
        elif self.node.style in ("'", '"'):
            position = start + 1
        places: list[int] = []
        for letter in self.node.value:
            if not letter.isspace():
                while position < end and self.source.text[position].isspace():
                    position += 1
                if position >= end or self.source.text[position] != letter:
                    break
            places.append(min(position, max(end - 1, start)))
            if position < end and (not letter.isspace() or self.source.text[position].isspace()):
                position += 1
        places.extend([places[-1] if places else start] * (len(self.node.value) - len(places)))
        return places

    def locate(self, offset: int) -> str:
        """Return 'file:line:column' of a character of a scalar's value.

        One past the end is the place after the last.
        """
        places = self.character_places()
        if not places:
            return self.where
        if offset < len(places):
            return self.source.place(places[offset])
        last = len(self.node.value.rstrip()) - 1
        return self.source.place(places[max(last, 0)] + 1)
