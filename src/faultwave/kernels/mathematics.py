"""Print kernels and stencils as mathematics: named quantities, one assignment a line, shared values once.

The text is for readers. It is made from the same recorded formulas as the generated code, after the same value numbering, so that it
cannot differ from what is computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from faultwave.kernels.expr import Expr, Key
from faultwave.kernels.language import (
    Array,
    Barrier,
    Contract,
    Gather,
    Kernel,
    LoopIndex,
    Pointwise,
    Repeat,
    Scatter,
    Statement,
    View,
    When,
    WhenAny,
)
from faultwave.kernels.stencil import Stencil, record
from faultwave.kernels.values import NumberedLoop, Numbering, Value

INDENT = "  "

_INFIX = {
    "or": ("or", 1), "and": ("and", 2), "lt": ("<", 4), "le": ("<=", 4),
    "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6),
}  # fmt: skip
"""Operators by operation, with how tightly they bind."""
_ATOM, _CHOICE, _NOT, _NEGATIVE = 9, 0, 3, 7
_SIMPLE = frozenset(("const", "input", "variable", "result"))
"""Operations whose values need no name of their own."""


def write_stencil(stencil: Stencil) -> list[str]:
    """Return the lines of a stencil as mathematics.

    Parameters
    ----------
    stencil : Stencil
        The stencil; its function is recorded, not evaluated.

    Returns
    -------
    list of str
        Assignments such as ``u += b_x * (dsxx_dx + dsxy_dy + dsxz_dz)``. ``a[x+1]`` is the value of ``a`` one point further along x,
        ``a(x)`` a profile along x, ``a[plane 31]`` the value on a plane of the grid, ``old a`` the value before the assignments.
    """
    _, writes = record(stencil)
    return _write_formula([(name, value) for name, value in writes.items()], _stencil_input)


def write_kernel(kernel: Kernel) -> list[str]:
    """Return the statements of a kernel over cells or faces as mathematics.

    Parameters
    ----------
    kernel : Kernel
        The kernel, whose columns may have names (``Kernel.name_columns``).

    Returns
    -------
    list of str
        One line for each product with a matrix, transfer and assignment; conditional and repeated statements are indented.
    """
    return _KernelText(kernel).statements(kernel.statements, "")


def _stencil_input(key: Key) -> str:
    match key:
        case ("at", name, z, y, x):
            shifts = [f"{axis}{n:+d}" for axis, n in zip("xyz", (x, y, z), strict=True) if n]
            return f"{name}[{', '.join(shifts)}]" if shifts else str(name)
        case ("on", name, plane, y, x):
            shifts = [f"plane {plane}", *(f"{axis}{n:+d}" for axis, n in zip("xy", (x, y), strict=True) if n)]
            return f"{name}[{', '.join(shifts)}]"
        case ("line", name, axis):
            return f"{str(name).split('@')[0]}({axis})"
        case ("parity", name):
            return f"{name}(parity)"
        case _:
            return str(key[1])


def _write_formula(outputs: Sequence[tuple[str, Expr]], read: Callable[[Key], str]) -> list[str]:
    """Return assignments to ``outputs`` and, before them, to the values that several of them use or that have a label."""
    numbering = Numbering()
    numbers = [(name, numbering.number(value)) for name, value in outputs]
    return _FormulaText(numbering, read, [n for _, n in numbers]).assign(numbers)


class _FormulaText:
    """The text of one formula after value numbering."""

    def __init__(self, numbering: Numbering, read: Callable[[Key], str], results: Sequence[int]):
        self.values, self.labels, self.loops, self.read = numbering.values, numbering.labels, numbering.loops, read
        self.loop_of_variables = {loop.key: loop for loop in self.loops}
        self.names: dict[int, str] = {}
        self.assigned: set[str] = set()
        self.taken: Counter[str] = Counter()
        self.uses = self._count_uses(results)

    def _count_uses(self, results: Iterable[int]) -> Counter[int]:
        uses: Counter[int] = Counter(results)
        seen: set[int] = set()
        waiting = list(uses)
        while waiting:
            n = waiting.pop()
            if n in seen:
                continue
            seen.add(n)
            operands = [*self.values[n].args]
            if self.values[n].op == "result":
                loop = self.loops[self.values[n].content[0]]
                operands += [*loop.values, loop.active]
            uses.update(operands)
            waiting += operands
        return uses

    def assign(self, outputs: Sequence[tuple[str, int]], indent: str = "") -> list[str]:
        lines: list[str] = []
        for name, number in outputs:
            lines += self._prepare(number, indent, whole=True)
            named, value = number in self.names or self.values[number].op in _SIMPLE, self.values[number]
            if not named and value.op == "add" and self._text(value.args[0], 0) == name:
                lines.append(f"{indent}{name} += {self._text(value.args[1], 5)}")
            else:
                lines.append(f"{indent}{name} = {self._text(number, 0)}")
            self.assigned.add(name)
            if not named and self.uses[number] > 1:
                self.names[number] = name
        return lines

    def _prepare(self, number: int, indent: str, whole: bool = False) -> list[str]:
        """Return the assignments that the text of a value needs before it; ``whole``: the value itself gets no name."""
        lines: list[str] = []
        waiting = [(number, False)]
        while waiting:
            n, ready = waiting.pop()
            value = self.values[n]
            if n in self.names:
                continue
            if not ready:
                waiting.append((n, True))
                waiting += [(a, False) for a in reversed(value.args)]
                continue
            if value.op == "result":
                lines += self._loop(self.loops[value.content[0]], indent)
            elif value.op == "variable":
                loop = self.loop_of_variables[value.content[0]]
                self.names[n] = self.names[loop.variables[value.content[1]]]
            elif value.op not in _SIMPLE and not (whole and n == number) and self._deserves_name(n):
                text = self._text(n, 0)
                self.names[n] = self._fresh(self.labels.get(n, "t"))
                lines.append(f"{indent}{self.names[n]} = {text}")
        return lines

    def _deserves_name(self, number: int) -> bool:
        value = self.values[number]
        return number in self.labels or (
            self.uses[number] > 1 and not (value.op == "neg" and not self.values[value.args[0]].args)
        )

    def _fresh(self, label: str) -> str:
        self.taken[label] += 1
        count = self.taken[label]
        return f"{label}{count}" if label == "t" else label if count == 1 else f"{label}_{count}"

    def _loop(self, loop: NumberedLoop, indent: str) -> list[str]:
        """Return the lines of a bounded iteration and name its results."""
        own = [self._fresh("iterate") for _ in loop.variables]
        lines = [f"{indent}{name} = {self._text(n, 0)}" for name, n in zip(own, loop.initial, strict=True)]
        outside = dict(self.names)
        self.names |= dict(zip(loop.variables, own, strict=True))
        inner = indent + INDENT
        body = [line for n in (*loop.values, loop.active) for line in self._prepare(n, inner)]
        changed = [(name, self._text(n, 0)) for name, n in zip(own, loop.values, strict=True)]
        lines.append(f"{indent}at most {loop.maximum} times, while {self._text(loop.active, 0)}:")
        lines += [*body, *(f"{inner}{name} = {text}" for name, text in changed if name != text)]
        self.names = outside | dict(zip(loop.results, own, strict=True))
        return lines

    def _text(self, number: int, binding: int) -> str:
        """Return the text of a value, in parentheses where what surrounds it binds more tightly."""
        if number in self.names:
            return self.names[number]
        text, own = self._operation(self.values[number])
        return f"({text})" if own < binding else text

    def _operation(self, value: Value) -> tuple[str, int]:
        op, args = value.op, value.args
        if op == "const":
            return f"{value.content:.12g}", _ATOM if value.content >= 0 else _NEGATIVE
        if op == "input":
            name = self.read(value.content)
            return f"old {name}" if name in self.assigned else name, _ATOM
        if op in _INFIX:
            sign, own = _INFIX[op]
            left, right = self._text(args[0], own), self._text(args[1], own + (op in ("sub", "div")))
            if op == "add" and right.startswith("-"):
                sign, right = "-", right[1:]
            return f"{left} {sign} {right}", own
        if op == "neg":
            return f"-{self._text(args[0], _NEGATIVE)}", _NEGATIVE
        if op == "not":
            return f"not {self._text(args[0], _NOT)}", _NOT
        if op == "where":
            condition, this, other = (self._text(a, _CHOICE + 1) for a in args)
            return f"{this} if {condition} else {other}", _CHOICE
        return f"{op}({', '.join(self._text(a, 0) for a in args)})", _ATOM


class _KernelText:
    """The text of a kernel; constant matrices are numbered in the order of their first use."""

    def __init__(self, kernel: Kernel):
        self.columns: Mapping[str, tuple[str, ...]] = kernel.column_names
        self.matrices: dict[int, int] = {}

    def statements(self, listed: Iterable[Statement], indent: str) -> list[str]:
        return [line for s in listed for line in self._statement(s, indent)]

    def _statement(self, s: Statement, indent: str) -> list[str]:
        match s:
            case Contract():
                return [indent + self._contract(s)]
            case Pointwise():
                return [indent + line for line in self._pointwise(s)]
            case Gather():
                return [f"{indent}{_rows(s.out)} = {s.store.name}[{_column(s.index, s.column)}]"]
            case Scatter():
                sign = "+=" if s.accumulate else "="
                return [f"{indent}{s.store.name}[{_column(s.index, s.column)}] {sign} {_rows(s.inp)}"]
            case Barrier():
                return [f"{indent}# rounding as in separate kernels from here on"]
            case When():
                head = f"for items with a slot in {_column(s.index, s.column)}:"
                return [indent + head, *self.statements(s.body, indent + INDENT)]
            case WhenAny():
                head = f"for batches where any {self._name(s.flag, 0)} is not 0:"
                return [indent + head, *self.statements(s.body, indent + INDENT)]
            case Repeat():
                return [f"{indent}for {s.index.name} in 0..{s.count - 1}:", *self.statements(s.body, indent + INDENT)]
        raise TypeError(f"a kernel has no statement of the kind {type(s).__name__}")

    def _contract(self, s: Contract) -> str:
        if isinstance(s.matrix, Array):
            size, matrix = f"{s.matrix.rows} x {s.matrix.cols}", s.matrix.name
        else:
            content = hash((s.matrix.shape, s.matrix.tobytes()))
            matrix = f"M{self.matrices.setdefault(content, len(self.matrices) + 1)}"
            size = f"{s.matrix.shape[0]} x {s.matrix.shape[1]}, {int((s.matrix != 0).sum())} nonzeros"
        sign = "+=" if s.accumulate else "="
        into = ", ".join(self._column(s.out, o) for _, o in s.columns)
        of = ", ".join(self._column(s.inp, i) for i, _ in s.columns)
        return f"{_rows(s.out)}({into}) {sign} {matrix} [{size}] @ {_rows(s.inp)}({of})"

    def _pointwise(self, s: Pointwise) -> list[str]:
        outputs = [
            (self._name(view, c), value)
            for view, columns in zip(s.outs, s.recorded(), strict=True)
            for c, value in enumerate(columns)
        ]
        lines = _write_formula(outputs, lambda key: self._name(s.ins[key[0]], key[1]))
        rows = f"row {s.outs[0].row}" if s.rows == 1 and isinstance(s.outs[0].row, int) else f"each of {s.rows} rows"
        return [f"for {rows}:", *(INDENT + line for line in lines)] if s.rows > 1 else lines

    def _column(self, view: View, column: int) -> str:
        names = self.columns.get(view.array.name)
        return names[view.col + column] if names else str(view.col + column)

    def _name(self, view: View, column: int) -> str:
        """Return the name of one column of an argument: array, column and, of tables, the row."""
        array = view.array
        name = array.name
        if array.space == "scalar" or (array.rows > 1 and view.rows == 1):
            name += f"[{view.row.name if isinstance(view.row, LoopIndex) else view.row}]"
        elif isinstance(view.row, LoopIndex) or view.row:
            name = _rows(view)
        return name if array.cols == 1 else f"{name}.{self._column(view, column)}"


def _rows(view: View) -> str:
    """Return the name of an array with the rows of a view, where these are not all from the first one on."""
    if isinstance(view.row, LoopIndex):
        return f"{view.array.name}[{view.row.name}]"
    return f"{view.array.name}[{view.row}:{view.row + view.rows}]" if view.row else view.array.name


def _column(index: Array, column: int) -> str:
    return index.name if index.cols == 1 else f"{index.name}[{column}]"
