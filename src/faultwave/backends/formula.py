"""Pointwise formulas as C statements on vectors; each value is computed once, outside of loops that it does not depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from faultwave.kernels.expr import Expr
from faultwave.kernels.language import Pointwise, View
from faultwave.kernels.values import ROW, NumberedLoop, Numbering, Value

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "and": "&", "or": "|"}
MANY = 40
"""Number of outputs per row from which each is stored at once: held until the end of the row they would fill the registers."""
MASK_OPS = {"lt", "le", "and", "or", "not"}


def number(value: float) -> str:
    """Return a number as C text, infinities and NaN included."""
    if value != value:
        return "NAN"
    if abs(value) == float("inf"):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


@dataclass(eq=False)
class Scope:
    """Block of C text: its lines and the names of the values computed in it, by number.

    ``key`` is the row or iteration that the block loops over; values that depend on it are computed inside.
    """

    key: object
    lines: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)


class Formula:
    """Writer of the values of a formula as C, each once; ``kinds`` are the C types of numbers and of masks.

    ``inputs`` maps an input's key to (C expression, row-dependent?). The chain of scopes is [kernel, row loop, loops of
    the formula from the outermost in]; each value is computed in the outermost scope that binds everything it depends on.
    """

    kinds = ("V", "VM")

    def __init__(self, inputs: dict[object, tuple[str, bool]], prefix: str):
        self.inputs, self.prefix, self.count = inputs, prefix, 0
        self.numbering = Numbering(lambda key: self.inputs[key][1])
        self.scopes = [Scope(None), Scope(ROW)]

    def emit(self, e: Expr) -> str:
        """Return the C name of the value of ``e``, after appending the lines that compute it if necessary."""
        return self._name(self.numbering.number(e))

    def rename(self, variables: Iterable[tuple[Expr, str]]) -> None:
        """Substitute C variables of the row for the values of expressions, also as operands, from now on."""
        stands = {}
        for e, variable in variables:
            self.inputs[variable] = variable, True
            stands[self.numbering.number(e)] = number = self.numbering.number(Expr("input", value=variable))
            self.scopes[1].names[number] = variable
        self.numbering = self.numbering.replacing(stands)

    def _fresh(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"

    def _known(self, number: int) -> str | None:
        for scope in self.scopes:
            if number in scope.names:
                return scope.names[number]
        return None

    def _name(self, number: int) -> str:
        """Return the C name of a value, after writing its operands from left to right."""
        waiting = [number]
        while waiting:
            n = waiting[-1]
            value = self.numbering.values[n]
            missing = [] if self._known(n) else [a for a in value.args if not self._known(a)]
            if missing:
                waiting += reversed(missing)
                continue
            waiting.pop()
            if not self._known(n):
                self._write(n, value)
        name = self._known(number)
        assert name is not None
        return name

    def _write(self, number: int, value: Value) -> None:
        scope = next((s for s in reversed(self.scopes) if s.key in value.depends), self.scopes[0])
        if value.op == "result":
            self._write_loop(self.numbering.loops[value.content[0]], scope)
            return
        name = scope.names[number] = self._fresh()
        kind = self.kinds[value.op in MASK_OPS]
        scope.lines.append(f"const {kind} {name} = {self.text(value, self._operands(value))};")

    def _operands(self, value: Value) -> tuple[str, ...]:
        """Return the C names of the operands of a value."""
        return tuple(self._known(a) or "" for a in value.args)

    def store(self, write: Callable[[str], str], name: str) -> list[str]:
        """Return the lines that store a value of a row; ``write(name)`` is the statement."""
        return [write(name)]

    def text(self, value: Value, args: tuple[str, ...]) -> str:
        """Return the C expression of a value with operands ``args``."""
        if value.op == "const":
            return f"SPLAT({number(value.content)})"
        if value.op == "input":
            return self.inputs[value.content][0]
        if value.op in _BINARY:
            return f"{args[0]} {_BINARY[value.op]} {args[1]}"
        if value.op == "neg":
            return f"-{args[0]}"
        if value.op == "not":
            return f"~{args[0]}"
        if value.op == "where":
            return f"SELECT({args[0]}, {args[1]}, {args[2]})"
        return f"v_{value.op}({', '.join(args)})"

    def copy(self, name: str, row: int) -> str:
        """Return the name of a value in one of the rows that are written side by side."""
        return name

    def _row_counters(self) -> tuple[str, ...]:
        """Return the C variables that count the rows written side by side."""
        return ("r",)

    def _write_loop(self, loop: NumberedLoop, home: Scope) -> None:
        names, running = [self._fresh() for _ in loop.initial], self._fresh()
        initial = [self._name(v) for v in loop.initial]
        depth = self.scopes.index(home) + 1
        outside, body = self.scopes, Scope(loop.key, names=dict(zip(loop.variables, names, strict=True)))
        self.scopes = [*outside[:depth], body]
        values = [self._name(v) for v in loop.values]
        active = self._name(loop.active)
        each = range(len(self._row_counters()))
        change, leave = [], []
        for k in each:
            going = self.copy(running, k)
            for name, new in zip((self.copy(n, k) for n in names), (self.copy(v, k) for v in values), strict=True):
                change.append(f"{name} = SELECT({going}, {new}, {name});")
            leave.append(f"{going} &= {self.copy(active, k)};")
        leave.append(f"if (!v_any({' | '.join(self.copy(running, k) for k in each)})) break;")
        self.scopes = outside
        for k in each:
            home.lines += [f"V {self.copy(n, k)} = {self.copy(v, k)};" for n, v in zip(names, initial, strict=True)]
            home.lines.append(f"VM {self.copy(running, k)} = ALL;")
        home.lines += [f"for (int it = 0; it < {loop.maximum}; ++it) {{", *body.lines]
        home.lines += [*change, *leave, "}"] if loop.keep_last else [*leave, *change, "}"]
        home.names.update(zip(loop.results, names, strict=True))


def _as_written(results: Iterable[Iterable[Expr]]) -> list[Expr]:
    """Return all values that ``results`` depend on, in the order of recording."""
    found: dict[int, Expr] = {}
    waiting = [e for columns in results for e in columns]
    while waiting:
        e = waiting.pop()
        if e.id not in found:
            found[e.id] = e
            waiting += e.args
    return [found[i] for i in sorted(found)]


def pointwise_lines(
    s: Pointwise,
    make: Callable[[dict[object, tuple[str, bool]]], Formula],
    load: Callable[[View, int, int], tuple[str, bool]],
    store: Callable[[View, int, str], str],
) -> tuple[list[str], list[str]]:
    """Return the C lines of a pointwise statement: lines before the loop over rows, and lines of each row.

    Parameters
    ----------
    s : Pointwise
        Statement.
    make : callable
        ``make(inputs)`` returns the formula writer for inputs (argument, column) -> (text, True if it depends on the row).
    load : callable
        ``load(view, column, rows)`` returns the text of an input, and True if it depends on the row.
    store : callable
        ``store(view, column, name)`` returns the statement that writes the value called ``name``.
    """
    inputs: dict[object, tuple[str, bool]] = {
        (i, c): load(v, c, s.rows) for i, v in enumerate(s.ins) for c in range(v.cols)
    }
    formula, results = make(inputs), s.recorded()
    if s.as_written:
        for value in _as_written(results):
            formula.emit(value)
    stores = [
        (view, c, formula.emit(value))
        for view, columns in zip(s.outs, results, strict=True)
        for c, value in enumerate(columns)
    ]
    once, lines = formula.scopes[0].lines, formula.scopes[1].lines
    if len(stores) < MANY or s.rows == 1 or formula.numbering.loops:
        return once, [
            *lines,
            *(line for view, c, name in stores for line in formula.store(partial(store, view, c), name)),
        ]
    defined = {line.split(" = ")[0].rsplit(" ", 1)[-1]: n for n, line in enumerate(lines)}
    read = {line.split(" = ", 1)[-1].rstrip(";"): n for n, line in enumerate(lines)}
    loaded: dict[tuple[str, object, int], int] = {}  # number of an array -> the last line that loads it
    for i, view in enumerate(s.ins):
        for c in range(view.cols):
            where = (view.array.name, view.row, view.col + c)
            loaded[where] = max(loaded.get(where, -1), read.get(inputs[i, c][0], -1))
    after: dict[int, list[str]] = {}
    for view, c, name in stores:
        last = max(defined.get(name, -1), loaded.get((view.array.name, view.row, view.col + c), -1))
        after.setdefault(last, []).extend(formula.store(partial(store, view, c), name))
    return once, [*after.get(-1, []), *(x for n, line in enumerate(lines) for x in (line, *after.get(n, [])))]
