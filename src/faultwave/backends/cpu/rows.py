"""Functions that update rows of points vector by vector, with all strides written as constants.

A compiler contracts a product and a sum to a fused multiply-add (rounded once) where both stand in the same loop, and chooses one of two
products by their order there. The same formula in loops next to an absorbing layer and far from it would differ in the last bit, and so
would results on different numbers of processes. Hence the generated C text states every fused multiply-add itself, and compilers contract
nothing.

Points inside and outside a layer are updated in one loop, which computes the added terms only in the layer, so that a row
is read by the same instructions along its whole length. Processors prefetch per instruction: a separate loop for the one
vector of a layer would find nothing in the caches.

Launches whose boxes are adjacent along x share one function: they are segments of the same rows and share cached data. If
segments differ only by the terms of an absorbing layer (``layers``), one loop serves them all.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from faultwave.backends.cpu.row_table import TABLE, RowTable
from faultwave.backends.cpu.two_planes import recorded
from faultwave.backends.formula import Formula, Scope
from faultwave.backends.grid import GridArrays
from faultwave.kernels.expr import Expr, Key
from faultwave.kernels.stencil import Launch, Program, Stencil, record, record_point_mask
from faultwave.kernels.values import ROW, Numbering, Value


@functools.cache
def first_cache_bytes() -> int:
    """Return the first-level data cache of one core [bytes]; 0 if the system does not report it."""
    try:
        return max(0, os.sysconf("SC_LEVEL1_DCACHE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return 0


class FusedFormula(Formula):
    """Formula that writes a sum or difference with a product as ``fused(a, b, c)``, a b + c.

    Of two products, the first is fused. Products that are constant along a row are computed before it and count as plain numbers.
    """

    def text(self, value: Value, args: tuple[str, ...]) -> str:
        if value.op in ("add", "sub"):
            for place in (0, 1):
                product = self.numbering.values[value.args[place]]
                if product.op == "mul" and ROW in product.depends:
                    a, b = (self._known(n) for n in product.args)
                    other = args[1 - place]
                    if value.op == "add":
                        return f"fused({a}, {b}, {other})"
                    return f"fused({a}, {b}, -{other})" if place == 0 else f"fused(-{a}, {b}, {other})"
        return super().text(value, args)


@dataclass(frozen=True)
class AddedTerm:
    """``value`` of the plain stencil is replaced by ``total``, its sum with what is written to ``array`` on a ``plane`` above the point."""

    array: str
    plane: int
    value: Expr
    written: Expr
    total: Expr


@dataclass(frozen=True)
class LayerTerms:
    """Terms added to values of the plain stencil, and factors of what it writes, by array and plane."""

    added: tuple[AddedTerm, ...]
    factors: Mapping[tuple[str, int], Expr]


def layer_terms(plain: Stencil, layer: Stencil, planes: int = 1) -> LayerTerms | None:
    """Return the terms that turn ``plain`` into ``layer``, on one plane or two.

    Returns None if they differ in more than added terms and factors, or if terms are added to a product: without a layer the
    sum that uses the product would be fused with it and round differently (see ``fused``).
    """
    (_, before), (_, after) = recorded(plain, planes), recorded(layer, planes)
    numbering = Numbering()
    number = numbering.number
    more = {number(value): name for name, value in after.items() if name not in before}
    added: dict[tuple[str, int], AddedTerm] = {}
    for node in _nodes(after.values()):
        for value, written in (node.args, node.args[::-1]) if node.op == "add" else ():
            name = more.get(number(written))
            if name is not None:
                added[name] = AddedTerm(*name, value, written, node)
    replaced = {number(s.value): number(s.total) for s in added.values()}
    if not len(replaced) == len(added) == len(more) or not before.keys() <= after.keys():
        return None
    if any(s.value.op == "mul" for s in added.values()):
        return None
    replacing = numbering.replacing(replaced)
    factors = {}
    for name, value in before.items():
        wanted, found = after[name], replacing.number(value)
        if wanted.op == "mul" and number(wanted.args[1]) == found:
            factors[name], wanted = wanted.args
        if number(wanted) != found:
            return None
    return LayerTerms(tuple(added.values()), factors)


@functools.lru_cache(maxsize=1024)
def formulas(stencil: Stencil) -> Hashable:
    """Return the reads and formulas of a stencil, equal for stencils of one name that compute the same."""
    reads, writes = record(stencil)
    numbering = Numbering()
    results = tuple((name, numbering.number(value)) for name, value in writes.items())
    values = tuple((v.op, v.args, repr(v.content)) for v in numbering.values)
    return stencil.name, tuple(reads), results, values, tuple(numbering.loops)


def same_formulas(one: Stencil, other: Stencil) -> bool:
    """Return True if two stencils have the same name and formulas."""
    return formulas(one) == formulas(other)


def _nodes(values: object) -> Iterator[Expr]:
    """Yield all nodes that values depend on, each once."""
    waiting, seen = list(values), set()  # type: ignore[call-overload]
    while waiting:
        node = waiting.pop()
        if node.id not in seen:
            seen.add(node.id)
            waiting += node.args
            yield node


AHEAD = 64
"""Prefetch distance in points along rows, about the latency of memory."""
FEW = 8
"""Number of planes from which an array of one plane, read by all of them, stays in the second-level cache."""
ROOMY = 48 * 2**10
"""Size of a first-level cache from which rows are prefetched into it [bytes]."""


def rows_of(launches: Sequence[Launch]) -> list[list[Launch]]:
    """Return the launches of a level in order, grouped by rows if their boxes are adjacent along x."""
    found: list[list[Launch]] = []
    for launch in launches:
        last = found[-1][-1] if found else None
        adjacent = last and all(
            last.box.lo[k] == launch.box.lo[k] and last.box.hi[k] == launch.box.hi[k] for k in (0, 1)
        )
        if last and adjacent and last.box.hi[2] == launch.box.lo[2] and not last.lag and not launch.lag:
            found[-1].append(launch)
        else:
            found.append([launch])
    return found


@dataclass(frozen=True)
class _Shared:
    """Segments that share one loop: the ``plain`` one, and ``sides`` in absorbing layers with the same ``terms``."""

    plain: int
    sides: tuple[int, ...]
    terms: LayerTerms


class RowFunction:
    """C function for the rows of adjacent launches.

    ``text`` has the placeholder ROW_NAME for its name; ``pointers`` lists the arrays passed to it, one per group. ``below`` is
    the same function for one plane, if this one processes two planes at once.
    """

    def __init__(self, program: Program, arrays: GridArrays, row: Sequence[Launch], below: RowFunction | None = None):
        self.program, self.arrays, self.row = program, arrays, row
        self.planes = 1 if below is None else 2
        self.scalars, self.names = list(program.scalars), list(program.arrays)
        self.first = {group: name for name, group in reversed(arrays.group.items())}
        self.groups: dict[str, int] = dict(below.groups) if below else {}  # a group, or one line or table, -> argument
        self.pointers: list[int] = list(below.pointers) if below else []
        self.head: list[str] = list(below.head) if below else []
        self.rows_ahead = max(1, AHEAD // sum(launch.box.shape[2] for launch in row))
        self.table = RowTable(program, row, lambda: self._place(row[0], TABLE), arrays.strides.get(TABLE))
        shared = self._shared()
        before, loops = self._one_loop(shared) if shared else self._loops()
        lines = [
            "static void ROW_NAME(R *const *base, const R *scalar, long k, long j0, long j1, const long (*x)[2]) {",
            "  for (long j = j0; j < j1; ++j) {",
            *(f"    {line}" for line in (*self.head, *self.table.start(), *before, *loops, *self.table.end())),
            "  }\n}",
        ]
        self.text = "\n".join(lines)

    def _loops(self) -> tuple[list[str], list[str]]:
        """Return the lines before a row, and a loop for each segment."""
        before, loops = list[str](), list[str]()
        for number, launch in enumerate(self.row):
            reads, writes = recorded(launch.stencil, self.planes)
            mask = record_point_mask(launch.stencil)
            inputs = {key: self._input(launch, key) for key in [*reads, *(mask[0] if mask else ())]}
            formula = FusedFormula(inputs, f"f{number}_")
            body: list[str] = []
            if mask:
                changing = formula.emit(mask[1])
                body = [*formula.scopes[1].lines, f"if (!v_any({changing})) continue;"]
                formula.scopes[1].lines.clear()
            values = {written: formula.emit(value) for written, value in writes.items()}
            computed = _needed(formula.scopes[1].lines, values.values())
            body += [*self._fetches(launch, reads), *computed, *self._at_points(launch, values)]
            first = f"for (long i = x[{number}][0], end = x[{number}][1]; i < end; i += LANES) {{"
            loop = [first, *(f"  {line}" for line in body), "}"]
            once = formula.scopes[0].lines
            lines, wanted = self.table.mask(launch, f"row{number}_", functools.partial(self._number, launch))
            if wanted:
                loop, once = [*lines, f"if ({wanted}) {{", *(f"  {x}" for x in (*once, *loop)), "}"], []
            before += once
            loops += loop
        return before, loops

    def _at_points(self, launch: Launch, values: Mapping[tuple[str, int], str]) -> list[str]:
        """Return the lines that process new values, given their names by array and plane."""
        seen = self.table.points({launch.names.get(n, n): value for (n, _), value in values.items()})
        return [*seen, *_stores([(self._row_above(launch, n, k), value) for (n, k), value in values.items()])]

    def _row_above(self, launch: Launch, formal: str, planes: int) -> str:
        """Return the row of an array ``planes`` planes above the point."""
        above = f" + {planes * self.arrays.strides[launch.names.get(formal, formal)].plane}L" if planes else ""
        return f"{self._place(launch, formal)}{above}"

    def _shared(self) -> _Shared | None:
        """Return the segments that can share a loop, or None if their added terms differ or their arrays span several groups."""
        if len(self.row) < 2 or any(launch.stencil.changes for launch in self.row):
            return None
        plain = min(range(len(self.row)), key=lambda n: len(record(self.row[n].stencil)[1]))
        sides = [n for n in range(len(self.row)) if n != plain]
        side = self.row[sides[0]]
        found = layer_terms(self.row[plain].stencil, side.stencil, self.planes)
        if found is None or not all(same_formulas(side.stencil, self.row[n].stencil) for n in sides):
            return None
        own = [s.array for s in found.added]
        reads, writes = record(side.stencil)
        others = ({key[1] for key in reads} | set(writes)) - set(own)
        if any(launch.names.get(n, n) != side.names.get(n, n) for launch in self.row for n in others):
            return None
        actual = [[self.row[n].names.get(array, array) for array in own] for n in sides]
        if any(len({self.arrays.group[name] for name in names}) > 1 for names in actual):
            return None
        return _Shared(plain, tuple(sides), found)

    def _one_loop(self, of: _Shared) -> tuple[list[str], list[str]]:
        """Return the lines with one loop through all segments.

        The compiler must not know the extent of the layers, or it would split the loop.
        """
        launch, side, found = self.row[of.plain], self.row[of.sides[0]], of.terms
        (reads, writes), (more, _) = recorded(launch.stencil, self.planes), recorded(side.stencil, self.planes)
        own = [(s.array, s.plane) for s in found.added]
        starts, at = self._starts(of, own)
        owners = ["0"] * len(self.row)
        for n in of.sides if own else ():
            owners[n] = self._place(self.row[n], own[0][0]).split(" ")[0]
        inputs: dict[object, tuple[str, bool]] = {
            k: (f"LOAD({at[k[1:3]]} + i)", True) if k[1:3] in at else self._input(side, k) for k in more
        }
        formula = FusedFormula(inputs, "f")
        if own:
            row = self.arrays.strides[side.names.get(own[0][0], own[0][0])].row
            fetches = [_fetch(f"{at[a]} + {self.rows_ahead * row}L + i") for a in own]
            self._add_terms(formula, of, at, fetches)
        values = {name: formula.emit(value) for name, value in writes.items()}
        if found.factors:
            lines, factors = _in_layer(formula, found.factors.values())
            changed = {f"{values[name]}d": factor for name, factor in zip(found.factors, factors, strict=True)}
            formula.scopes[1].lines += [
                *(f"V {name} = {name[:-1]};" for name in changed),
                "if (aside) {",
                *(f"  {line}" for line in (*lines, *(f"{n} = {f} * {n[:-1]};" for n, f in changed.items()))),
                "}",
            ]
            values |= {name: f"{values[name]}d" for name in found.factors}
        stores = self._at_points(launch, values)
        loop = [
            f"for (int s = 0; s < {len(self.row)}; ++s) {{",
            f"  int aside = s != {of.plain};",
            "  R *const own = owns[s];",
            "  for (long i = x[s][0], end = x[s][1]; i < end; i += LANES) {",
            '    __asm__("" : "+r"(aside));',
            *(f"    {line}" for line in (*self._fetches(launch, reads), *formula.scopes[1].lines, *stores)),
            "  }",
            "}",
        ]
        return [f"R *const owns[] = {{{', '.join(owners)}}};", *starts, *formula.scopes[0].lines], loop

    def _starts(self, of: _Shared, own: Sequence[tuple[str, int]]) -> tuple[list[str], dict[tuple[str, int], str]]:
        """Return lines before a row, and the start of each segment's own arrays on each plane.

        Layers of different width need different offsets. They still share one loop: separate loops would round differently, and
        subdomains have fewer layers.
        """
        offsets = [[self._offset(self.row[n].names.get(array, array), plane) for array, plane in own] for n in of.sides]
        if all(each == offsets[0] for each in offsets):
            return [], {array: f"own + {offset}" for array, offset in zip(own, offsets[0], strict=True)}
        listed = dict(zip(of.sides, offsets, strict=True))
        table = [listed.get(n, [0] * len(own)) for n in range(len(self.row))]
        rows = ", ".join(f"{{{', '.join(map(str, each))}}}" for each in table)
        starts = [f"static const long starts[][{len(own)}] = {{{rows}}};"]
        return starts, {array: f"own + starts[s][{number}]" for number, array in enumerate(own)}

    def _add_terms(
        self, formula: Formula, of: _Shared, at: Mapping[tuple[str, int], str], first: Sequence[str]
    ) -> None:
        """Add the terms of a layer and store its own arrays; the formula uses the sums from here on."""
        added = of.terms.added
        raw = [formula.emit(s.value) for s in added]
        lines, names = _in_layer(formula, [e for s in added for e in (s.written, s.total)])
        retained = [(at[s.array, s.plane], name) for s, name in zip(added, names[::2], strict=True)]
        totals = [f"{value}t = {total};" for value, total in zip(raw, names[1::2], strict=True)]
        row = formula.scopes[1]
        row.lines += [f"V {value}t = {value};" for value in raw]
        row.lines += ["if (aside) {", *(f"  {x}" for x in (*first, *lines, *_stores(retained), *totals)), "}"]
        formula.rename((s.value, f"{value}t") for s, value in zip(added, raw, strict=True))

    def _offset(self, name: str, planes: int = 0) -> int:
        """Return the offset from the first array of the group, ``planes`` planes up."""
        own, first = self.arrays.strides[name], self.arrays.strides[self.first[self.arrays.group[name]]]
        return own.offset - first.offset + planes * own.plane

    def _place(self, launch: Launch, formal: str) -> str:
        """Return the row of the array at the point's plane and row, x = 0, for example 'g2 + 544'."""
        name = launch.names.get(formal, formal)
        layout, s, group = self.program.arrays[name], self.arrays.strides[name], self.arrays.group[name]
        if group not in self.groups:
            self.groups[group] = n = len(self.groups)
            self.pointers.append(self.names.index(self.first[group]))
            if name in self.arrays.half_precision:
                declared = f"const H *const g{n} = (const H *)base[{n}] + k * {s.plane}L + j * {s.row}L;"
            elif layout.kind == "grid":
                declared = f"R *const g{n} = base[{n}] + k * {s.plane}L + j * {s.row}L;"
            elif layout.kind == "parity":
                declared = f"const R *const g{n} = base[{n}] + (k & 1) * {s.plane}L + (j & 1) * {s.row}L;"
            else:
                declared = f"const R *const g{n} = base[{n}];"
            self.head.append(declared)
        return f"g{self.groups[group]} + {self._offset(name)}"

    def _number(self, launch: Launch, formal: str) -> str:
        """Return the text of the number that an array stores for the row."""
        return f"({self._place(launch, formal)})[0]"

    def _input(self, launch: Launch, key: Key) -> tuple[str, bool]:
        """Return the text of a value that is read, and True if it changes along the row."""
        kind, formal = key[:2]
        if kind in ("at", "on"):
            half = launch.names.get(formal, formal) in self.arrays.half_precision
            return f"{'LOAD_HALF' if half else 'LOAD'}({self._address(launch, key)})", True
        if kind == "line" and key[2] != "x":
            return (
                f"SPLAT(({self._place(launch, formal)})[{'k' if key[2] == 'z' else 'j'}{' + 1' * (key[3:] == (1,))}])",
                False,
            )
        if kind in ("line", "parity"):
            plane = self.arrays.strides[launch.names.get(formal, formal)].plane
            other = f" + (1 - 2 * (k & 1)) * {plane}L" if kind == "parity" and key[3:] == (1,) else ""
            return f"LOAD({self._place(launch, formal)}{other} + i)", True
        return f"SPLAT(scalar[{self.scalars.index(formal)}])", False

    def _address(self, launch: Launch, key: Key) -> str:
        """Return the address of the first number of a vector that is read."""
        kind, formal, z, y, x = key
        s = self.arrays.strides[launch.names.get(formal, formal)]
        planes = f"({z * s.plane + y * s.row + x}L)" if kind == "at" else f"({z} - k) * {s.plane}L + ({y * s.row + x}L)"
        return f"{self._place(launch, formal)} + {planes} + i"

    def _fetches(self, launch: Launch, reads: Iterable[Key]) -> list[str]:
        """Return prefetches of the data that a pass touches first: the last row of the leading planes of each array."""
        front: dict[tuple[str, str], tuple[int, int]] = {}
        touched = [key for key in reads if key[0] in ("at", "on")]
        written = [("at", name, self.planes - 1, 0, 0) for name in record(launch.stencil)[1]]
        for kind, name, z, y, _ in (*touched, *written):
            front[kind, name] = max(front.get((kind, name), (z, y)), (z, y))
        listed = [
            (kind, name, z - n, y + self.rows_ahead, 0)
            for (kind, name), (z, y) in front.items() if not self._stays(launch, kind, name)
            for n in range(self.planes if kind == "at" else 1)
        ]  # fmt: skip
        return [_fetch(self._address(launch, key)) for key in listed]

    def _stays(self, launch: Launch, kind: str, formal: str) -> bool:
        """Return True if all planes of a launch read one plane of an array, which stays in the second-level cache."""
        one = self.program.arrays[launch.names.get(formal, formal)].box.shape[0] == 1
        return kind == "on" and one and launch.box.shape[0] > FEW


def _needed(lines: Sequence[str], results: Iterable[str]) -> list[str]:
    """Return the lines that the results depend on; a product that was fused into sums is no longer used."""
    wanted, found = set(results), []
    for line in reversed(lines):
        name = re.match(r"const VM? (\w+) = ", line)
        if name is None or name[1] in wanted:
            wanted.update(re.findall(r"\w+", line))
            found.append(line)
    return found[::-1]


def _fetch(where: str) -> str:
    """Return a prefetch into the first-level cache if it is large enough, else into the second.

    A smaller first-level cache would evict the rows before they are needed.
    """
    return f"__builtin_prefetch({where}, 0, {3 if first_cache_bytes() >= ROOMY else 2});"


def _in_layer(formula: Formula, values: Iterable[Expr]) -> tuple[list[str], list[str]]:
    """Return lines that compute values in a separate block, and the values' names."""
    inner = Scope(ROW)
    formula.scopes.append(inner)
    names = [formula.emit(value) for value in values]
    formula.scopes.pop()
    return inner.lines, names


def _stores(values: Sequence[tuple[str, str]]) -> list[str]:
    """Return statements that store vectors, or their part before the end of the segment."""
    return [
        "if (__builtin_expect(end - i < LANES, 0)) {",
        *(f"  STORE_PART({where} + i, {value}, end - i);" for where, value in values),
        "} else {",
        *(f"  STORE({where} + i, {value});" for where, value in values),
        "}",
    ]
