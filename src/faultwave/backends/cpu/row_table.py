"""Table of properties of whole rows of points: peaks along them, and whether masked launches changed them.

A row whose mask (``Stencil.rows``) is false is skipped. The numbers of a row are contiguous in an additional array. If only
a piece of a row is processed, as next to subdomains of other processes, nothing is known about the whole row: peaks are
then infinite, and an array that was once changed counts as changed from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from faultwave.backends.formula import Formula, number
from faultwave.backends.grid import GridArrays, Strides
from faultwave.kernels.stencil import Box, Launch, Layout, Program, record, record_row_mask, recorded_peak
from faultwave.kernels.values import Value

TABLE = "table of rows"


class _OfRow(Formula):
    """A formula of numbers, one for a row."""

    kinds = ("R", "int")

    def text(self, value: Value, args: tuple[str, ...]) -> str:
        match value.op:
            case "const":
                return f"(R){number(value.content)}"
            case "not":
                return f"!{args[0]}"
            case "where":
                return f"{args[0]} ? {args[1]} : {args[2]}"
            case "maximum" | "minimum" | "abs":
                return f"r_{value.op}({', '.join(args)})"
            case "input" | "add" | "sub" | "mul" | "div" | "neg" | "lt" | "le" | "and" | "or":
                return super().text(value, args)
        raise ValueError(f"masks of rows have no {value.op}")


def columns(program: Program) -> dict[tuple[str, str], int]:
    """Return the columns of the table: peaks ("largest", name), then changed arrays ("changed", array)."""
    changed = {
        (kind, launch.names.get(name, name))
        for level in program.levels
        for launch in level
        for kind, name, *_ in (record_row_mask(launch.stencil) or ({}, None))[0]
        if kind == "changed"
    }
    return {key: n for n, key in enumerate([*(("largest", name) for name in program.peaks), *sorted(changed)])}


def with_table(program: Program) -> Program:
    """Return the program with the table as an additional array, if rows have masks."""
    listed = columns(program)
    if not any(kind == "changed" for kind, _ in listed):
        return program
    (z0, y0, _), (z1, y1, _), r = program.box.lo, program.box.hi, program.reach
    layout = Layout(Box((z0 - r, y0 - r, 0), (z1 + r, y1 + r, len(listed))), group=TABLE, halo=0)
    return replace(program, arrays={**program.arrays, TABLE: layout})


def watched(program: Program) -> frozenset[str]:
    """Return the arrays whose changes row masks read."""
    return frozenset(name for kind, name in columns(program) if kind == "changed")


def forget(table: np.ndarray, program: Program, names: Set[str]) -> None:
    """Invalidate the rows of arrays ``names`` that were written from outside; without names, of everything (at the start)."""
    for (kind, name), n in columns(program).items():
        if kind == "largest" and not names:
            table[..., n] = np.inf
        elif kind == "changed" and (name in names or not names):
            table[..., n] = 1.0


def invalidate_injected_rows(program: Program, arrays: GridArrays) -> str:
    """Return C text that invalidates the peaks of a row after an injection."""
    levels = {key[1]: program.peaks[key[1]].level for key in columns(program) if key[0] == "largest"}
    lines = list[str]()
    if TABLE in program.arrays:
        s, number = arrays.strides[TABLE], list(program.arrays).index(TABLE)
        for name, level in levels.items():
            where = f"base[{number}][k * {s.plane}L + j * {s.row}L + {columns(program)['largest', name]}]"
            lines.append(f"  if (level == {level}) {where} = INFINITY;")
    head = "static void injected_row(R *const *base, int level, long k, long j) {"
    return "\n".join([head, *lines, "}"])


def _whole_row(program: Program, row: Sequence[Launch]) -> str:
    """Return a C condition that the ranges ``x`` of adjacent launches form a whole row of the program."""
    if row[0].box.lo[2] > program.box.lo[2] or row[-1].box.hi[2] < program.box.hi[2]:
        return "0"
    ranges = ((n, launch.box.lo[2], launch.box.hi[2]) for n, launch in enumerate(row))
    return " && ".join(f"x[{n}][0] == {low} && x[{n}][1] == {high}" for n, low, high in ranges)


class RowTable:
    """Writer of the table's C lines in a row function; ``place`` is the current row's place in the table."""

    def __init__(self, program: Program, row: Sequence[Launch], place: Callable[[], str], strides: Strides | None):
        self.program, self.row, self.strides = program, row, strides
        self.columns = columns(program)
        level = next((n for n, level in enumerate(program.levels) if any(row[0] is launch for launch in level)), None)
        writes = {launch.names.get(n, n) for launch in row for n in record(launch.stencil)[1]}
        self.peaks = [n for n, p in program.peaks.items() if p.level == level and set(recorded_peak(p)[0]) & writes]
        self.flags = sorted(name for kind, name in self.columns if kind == "changed" and name in writes)
        used = self.peaks or self.flags or any(launch.stencil.rows for launch in row)
        self.place = place() if used else ""

    def _at(self, key: tuple[str, str], z: int = 0, y: int = 0) -> str:
        """Return the C text of an entry of the current row, or of one at an offset of (z, y)."""
        assert self.strides is not None
        return f"({self.place})[{z * self.strides.plane + y * self.strides.row + self.columns[key]}L]"

    def start(self) -> list[str]:
        """Return the lines before a row."""
        return [
            *(f"V most{n} = SPLAT(0.0);" for n, _ in enumerate(self.peaks)),
            *(["int changed = 0;"] if self.flags else []),
        ]

    def points(self, values: Mapping[str, str]) -> list[str]:
        """Return the lines at a vector of points; ``values`` names the new values by array."""
        lines = ["changed = 1;"] if self.flags else []
        for n, name in enumerate(self.peaks):
            reads, value = recorded_peak(self.program.peaks[name])
            if reads <= values.keys():
                inputs: dict[object, tuple[str, bool]] = {("at", a, 0, 0, 0): (values[a], True) for a in reads}
                formula, size = Formula(inputs, f"most{n}_"), value.op == "abs"
                found = formula.emit(value.args[0] if size else value)
                larger = "v_larger_size" if size else "v_larger"
                lines += [*formula.scopes[1].lines, f"most{n} = {larger}({found}, most{n});"]
        return lines

    def end(self) -> list[str]:
        """Return the lines after a row."""
        whole = _whole_row(self.program, self.row)
        lines = [f"const int whole = {whole};"] if self.peaks or self.flags else []
        every = [set(record(launch.stencil)[1]) for launch in self.row]
        for n, name in enumerate(self.peaks):
            known = all(recorded_peak(self.program.peaks[name])[0] <= writes for writes in every)
            lines.append(f"{self._at(('largest', name))} = {f'whole ? v_largest(most{n}) : ' * known}INFINITY;")
        lines += [f"if (changed || whole) {self._at(('changed', name))} = changed;" for name in self.flags]
        return lines

    def _check(self, launch: Launch, z: int, y: int) -> None:
        """Raise ValueError if rows at an offset of (z, y) are outside the table."""
        of, r = self.program.box, self.program.reach
        for k, far in ((0, z), (1, y)):
            if launch.box.lo[k] + far < of.lo[k] - r or launch.box.hi[k] + far > of.hi[k] + r:
                raise ValueError(f"{launch.stencil.name}: the mask of rows reads ({z}, {y}) planes and rows away")

    def mask(self, launch: Launch, prefix: str, number: Callable[[str], str]) -> tuple[list[str], str]:
        """Return C lines and the mask of the row; ``number(name)`` is the text of a number stored per row."""
        found = record_row_mask(launch.stencil)
        if found is None:
            return [], ""
        inputs: dict[object, tuple[str, bool]] = {}
        for key in found[0]:
            kind, name = key[0], launch.names.get(key[1], key[1])
            if kind != "number":
                self._check(launch, *key[2:])
            text = number(key[1]) if kind == "number" else self._at((kind, name), *key[2:])
            inputs[key] = text, True
        formula = _OfRow(inputs, prefix)
        mask = formula.emit(found[1])
        return [*formula.scopes[0].lines, *formula.scopes[1].lines], mask
