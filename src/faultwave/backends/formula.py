"""Lowers pointwise formulas to C statements on vectors: value numbering, hoisting, bounded loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from faultwave.kernels.expr import Expr, Loop, wrap
from faultwave.kernels.language import Pointwise, View

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "and": "&", "or": "|"}
_MASK_OPS = {"lt", "le", "and", "or", "not"}


def number(value: float) -> str:
    """C text of a number, infinities and NaN included."""
    if value != value:
        return "NAN"
    if abs(value) == float("inf"):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


@dataclass
class Scope:
    """A block of C: its lines and the names of values already computed in it."""

    key: object
    lines: list[str] = field(default_factory=list)
    names: dict[tuple, str] = field(default_factory=dict)


class Formula:
    """Emits C for expression graphs.

    ``inputs`` maps an input's value to (C expression, row-dependent?). The scope chain is [kernel, row loop,
    iterate...]; each value is computed in the outermost scope that binds everything it depends on.
    """

    ROW = "row"

    def __init__(self, inputs: dict[object, tuple[str, bool]], prefix: str):
        self.inputs, self.prefix, self.count = inputs, prefix, 0
        self.scopes = [Scope(None), Scope(self.ROW)]
        self.free: dict[int, frozenset] = {}
        self.loops: dict[int, list[str]] = {}

    def fresh(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"

    def depends(self, e: Expr) -> frozenset:
        """Loop variables (and the row) the value of ``e`` depends on."""
        if e.id not in self.free:
            if e.op == "input":
                result = frozenset([self.ROW]) if self.inputs[e.value][1] else frozenset()
            elif e.op == "variable":
                result = frozenset([e.value[0]])
            elif e.op == "result":
                result = self.loop_depends(e.value[0])
            else:
                result = frozenset().union(*[self.depends(a) for a in e.args])
            self.free[e.id] = result
        return self.free[e.id]

    def loop_depends(self, loop: Loop) -> frozenset:
        inner = frozenset().union(*[self.depends(v) for v in (*loop.values, loop.active)]) - {loop.id}
        return inner.union(*[self.depends(v) for v in loop.initial])

    def scope_of(self, e: Expr) -> Scope:
        free = self.depends(e)
        for scope in reversed(self.scopes):
            if scope.key in free:
                return scope
        return self.scopes[0]

    def emit(self, e: Expr) -> str:
        """C name of the value of ``e``, emitting what is not computed yet."""
        if e.op == "variable":
            return self.loops[e.value[0]][e.value[1]]
        if e.op == "result":
            loop, i = e.value
            if not any(("done", loop.id) in scope.names for scope in self.scopes):
                self.emit_loop(loop, self.scope_of(e))
            return self.loops[loop.id][i]
        args = tuple(self.emit(a) for a in e.args)
        key = (e.op, args, repr(e.value))  # 0.0 and -0.0 are equal but not the same number
        for scope in self.scopes:
            if key in scope.names:
                return scope.names[key]
        scope = self.scope_of(e)
        name = self.fresh()
        kind = "VM" if e.op in _MASK_OPS else "V"
        scope.lines.append(f"const {kind} {name} = {self.text(e, args)};")
        scope.names[key] = name
        return name

    def text(self, e: Expr, args: tuple[str, ...]) -> str:
        if e.op == "const":
            return f"SPLAT({number(e.value)})"
        if e.op == "input":
            return self.inputs[e.value][0]
        if e.op in _BINARY:
            return f"{args[0]} {_BINARY[e.op]} {args[1]}"
        if e.op == "neg":
            return f"-{args[0]}"
        if e.op == "not":
            return f"~{args[0]}"
        if e.op == "where":
            return f"SELECT({args[0]}, {args[1]}, {args[2]})"
        return f"v_{e.op}({', '.join(args)})"

    def emit_loop(self, loop: Loop, home: Scope) -> None:
        initial = [self.emit(v) for v in loop.initial]
        names = [self.fresh() for _ in initial]
        running = self.fresh()
        depth = self.scopes.index(home) + 1
        inner_chain, self.scopes = self.scopes[depth:], self.scopes[:depth]
        self.loops[loop.id] = names
        body = Scope(loop.id)
        self.scopes.append(body)
        values = [self.emit(v) for v in loop.values]
        active = self.emit(loop.active)
        self.scopes.pop()
        for name, value in zip(names, initial, strict=True):
            home.lines.append(f"V {name} = {value};")
        home.lines.append(f"VM {running} = ALL;")
        home.lines.append(f"for (int it = 0; it < {loop.maximum}; ++it) {{")
        home.lines += body.lines
        home.lines.append(f"{running} &= {active};")
        home.lines.append(f"if (!v_any({running})) break;")
        for name, value in zip(names, values, strict=True):
            home.lines.append(f"{name} = SELECT({running}, {value}, {name});")
        home.lines.append("}")
        home.names["done", loop.id] = "done"
        self.scopes += inner_chain


def assigned(
    s: Pointwise,
    make: Callable[[dict[object, tuple[str, bool]]], Formula],
    load: Callable[[View, int, int], tuple[str, bool]],
    place: Callable[[View, int], str],
) -> tuple[list[str], list[str]]:
    """A pointwise statement as lines done once and lines done for every row. ``load(view, column, rows)``: the text of an input and whether
    it depends on the row; ``place(view, column)``: that of a number it writes."""
    inputs: dict[object, tuple[str, bool]] = {}
    arguments: list[list[Expr]] = []
    for i, v in enumerate(s.ins):
        arguments.append([Expr("input", value=(i, c)) for c in range(v.cols)])
        for c in range(v.cols):
            inputs[i, c] = load(v, c, s.rows)
    formula, results, stores = make(inputs), s.function(*arguments), []
    for view, columns in zip(s.outs, results, strict=True):
        if len(columns) != view.cols:
            raise ValueError(f"pointwise into {view.array.name}: {len(columns)} values for {view.cols} columns")
        stores += [f"{place(view, c)} = {formula.emit(wrap(value))};" for c, value in enumerate(columns)]
    return formula.scopes[0].lines, [*formula.scopes[1].lines, *stores]
