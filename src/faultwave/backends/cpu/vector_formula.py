"""Formulas on vectors, arranged to hide the latency of the processor.

*Interleaved rows.* In an iterative solver each round depends on the one before, and within a round functions depend on each other: a
processor that works on one row at a time is partly idle. A second row fills the gaps. The results of an item do not depend on the rows
computed together with it, because its values change in the same rounds.

*Numbers that are the same for all items*, such as functions of the time step, are read one by one where a row needs many of them: as
vectors they would fill the first-level cache.
"""

from __future__ import annotations

from collections.abc import Callable

from faultwave.backends.formula import MASK_OPS, Formula
from faultwave.backends.formula import number as literal
from faultwave.kernels.expr import Expr
from faultwave.kernels.language import Pointwise
from faultwave.kernels.values import ROW, Value

SAME = 24
"""Numbers that are the same for all items from which on they are read one by one: fewer stay in registers."""

TABLE = "same"
"""The C array that holds them."""


_PLAIN = ("const", "input", "add", "sub", "mul", "div", "neg")


class VectorFormula(Formula):
    """Writes what depends on the row once for each of ``rows``: names of C variables that count them, which stand for ``r`` in inputs.
    ``by_one``: numbers that are the same for all items are read from TABLE."""

    def __init__(
        self, inputs: dict[object, tuple[str, bool]], prefix: str, rows: tuple[str, ...] = ("r",), by_one: bool = False
    ):
        super().__init__(inputs, prefix)
        self.rows, self.by_one = rows, by_one
        self.same: dict[int, bool] = {}  # by number of a value, whether it is the same for all items
        self.places: dict[int, int] = {}  # of those that rows read, in TABLE

    def copy(self, name: str, row: int) -> str:
        """The name of a value in one of the rows."""
        return name if not row or name in self.scopes[0].names.values() else f"{name}_{row}"

    def _beside(self) -> tuple[str, ...]:
        """The rows for which what is written now is written: an iteration that stands before the rows has one."""
        return self.rows if any(s.key is ROW for s in self.scopes) else self.rows[:1]

    def _is_same(self, number: int) -> bool:
        """Return True if a value is one number for all items."""
        if number not in self.same:
            value = self.numbering.values[number]
            if value.op == "input":
                self.same[number] = self.inputs[value.content][0].startswith("SPLAT(")
            else:
                computed = bool(value.args) and value.op not in MASK_OPS and value.op != "where"
                self.same[number] = value.op == "const" or (computed and all(map(self._is_same, value.args)))
        return self.same[number]

    def _operands(self, value: Value) -> tuple[str, ...]:
        """Return the operands of a value that is computed before the rows; only plain operations mix numbers and vectors."""
        names = super()._operands(value)
        if not self.by_one or value.op in _PLAIN:
            return names
        return tuple(f"SPLAT({n})" if self._alone(a) else n for a, n in zip(value.args, names, strict=True))

    def _of_row(self, value: Value) -> list[str]:
        """Return the text of the operands of a row's value: variable names or entries of the table."""
        found = []
        for number in value.args:
            name = self._known(number) or ""
            constant = self.numbering.values[number].op == "const"
            if number in self.scopes[0].names and self._is_same(number) and not constant:
                place = self.places.setdefault(number, len(self.places))
                if self.by_one:
                    name = f"{TABLE}_now[{place}]"
                    name = name if value.op in _PLAIN else f"SPLAT({name})"
            found.append(name)
        return found

    def _write(self, number: int, value: Value) -> None:
        scope = next((s for s in reversed(self.scopes) if s.key in value.depends), self.scopes[0])
        if value.op == "result" or scope is self.scopes[0]:
            if self.by_one and value.op not in ("result", "const") and self._is_same(number):
                self._write_number(number, value)
            else:
                super()._write(number, value)
            return
        operands = self._of_row(value)
        name = scope.names[number] = self._fresh()
        kind = "VM" if value.op in MASK_OPS else "V"
        for k, row in enumerate(self._beside()):
            text = self.text(value, tuple(self.copy(o, k) if o.isidentifier() else o for o in operands))
            if value.op == "input":
                text = text.replace(" r *", f" {row} *")
            scope.lines.append(f"const {kind} {self.copy(name, k)} = {text};")

    def _number(self, known: int) -> str:
        value = self.numbering.values[known]
        return f"(R){literal(value.content)}" if value.op == "const" else self._known(known) or ""

    def _write_number(self, number: int, value: Value) -> None:
        """One that is the same for all items, as a number."""
        scope, numbers = self.scopes[0], [self._number(a) for a in value.args]
        name = scope.names[number] = self._fresh()
        if value.op in _PLAIN:
            text = self.text(value, tuple(numbers)).replace("SPLAT(", "(R)(", 1)
            scope.lines.append(f"const R {name} = {text};")
        else:
            text = self.text(value, tuple(f"SPLAT({n})" for n in numbers))
            scope.lines += [f"const V {name}_all = {text};", f"const R {name} = {name}_all[0];"]

    def store(self, write: Callable[[str], str], name: str) -> list[str]:
        if self.by_one and any(self.scopes[0].names[n] == name for n in self.same if self._alone(n)):
            name = f"SPLAT({name})"
        return [write(self.copy(name, k)).replace(" r *", f" {row} *") for k, row in enumerate(self.rows)]

    def _alone(self, number: int) -> bool:
        """Return True if a value is represented by a number instead of a vector."""
        return number in self.scopes[0].names and self._is_same(number) and self.numbering.values[number].op != "const"

    def filled(self) -> list[str]:
        """C statements that fill the table, before the rows."""
        if not self.by_one:
            return []
        names = self.scopes[0].names
        return [f"R {TABLE}[{len(self.places)}];", *(f"{TABLE}[{i}] = {names[n]};" for n, i in self.places.items())]

    def head(self) -> list[str]:
        """C statements at the start of each row: the compiler must not fetch the table before, as vectors."""
        return [f'const R *{TABLE}_now = {TABLE}; __asm__("" : "+r"({TABLE}_now));'] if self.by_one else []


def iterates(s: Pointwise) -> bool:
    """Return True if the formula of a statement contains an iteration."""
    waiting: list[Expr] = [e for columns in s.recorded() for e in columns]
    seen: set[int] = set()
    while waiting:
        e = waiting.pop()
        if e.op == "result":
            return True
        if e.id not in seen:
            seen.add(e.id)
            waiting += e.args
    return False


__all__ = ["SAME", "VectorFormula", "iterates"]
