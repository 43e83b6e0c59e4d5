"""Formulas on vectors in C, arranged to hide the latency of instructions and to save cache.

*Interleaved rows.* In an iteration, each round depends on the round before, and functions within a round depend on each other, so that a
processor with one row at a time is partly idle. A second row in the same loop fills the gaps. Results do not change bit for bit: the
values of an item change in the same rounds whichever items are computed with it.

*Numbers that are the same for all items*, such as functions of the time step, are read as scalars where a row needs many of them: as
vectors they would fill the first-level cache.
"""

from __future__ import annotations

from collections.abc import Callable

from faultwave.backends.formula import MASK_OPS, Formula
from faultwave.backends.formula import number as literal
from faultwave.kernels.expr import Expr
from faultwave.kernels.language import Pointwise
from faultwave.kernels.values import ROW, Value

# Names that the C text uses itself, in addition to names that end in a digit, and the keywords of C.
_TAKEN = frozenset(
    """arg scalar begin end batch lane r o p j m x V VM I R F VU LL ALL SPLAT transpose load save slot t next a e i placed share_out FETCH
    FETCH_ALL SELECT LANES MAGNITUDE BIAS MANTISSA run it
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while""".split()
)


def c_name(name: str) -> str:
    """Return the name of an array or counter in the C text."""
    return f"{name}_" if name in _TAKEN or name[-1] == "_" or name[-1].isdigit() else name


SAME = 24
"""Smallest count of numbers equal for all items that are read as scalars: fewer stay in registers."""

TABLE = "same"
"""Name of the C array of numbers that are the same for all items."""


_PLAIN = ("const", "input", "add", "sub", "mul", "div", "neg")


class VectorFormula(Formula):
    """Formula on vectors that is written once for each of several interleaved rows.

    Parameters
    ----------
    inputs, prefix
        See ``Formula``.
    rows : tuple of str
        Names of the C variables that count the rows; they replace ``r`` in inputs.
    by_one : bool
        True to read numbers that are the same for all items as scalars from the C array ``TABLE``.
    """

    def __init__(
        self, inputs: dict[object, tuple[str, bool]], prefix: str, rows: tuple[str, ...] = ("r",), by_one: bool = False
    ):
        super().__init__(inputs, prefix)
        self.rows, self.by_one = rows, by_one
        self.same: dict[int, bool] = {}  # number of a value -> True if it is the same for all items
        self.places: dict[int, int] = {}  # number of such a value that rows read -> index in TABLE

    def copy(self, name: str, row: int) -> str:
        """Return the name of a value in one of the interleaved rows."""
        return name if not row or name in self.scopes[0].names.values() else f"{name}_{row}"

    def _row_counters(self) -> tuple[str, ...]:
        """Return the rows for which the current statement is written; an iteration before the loop over rows has one."""
        return self.rows if any(s.key is ROW for s in self.scopes) else self.rows[:1]

    def _is_same(self, number: int) -> bool:
        """Return True if a value is the same for all items."""
        if number not in self.same:
            value = self.numbering.values[number]
            if value.op == "input":
                self.same[number] = self.inputs[value.content][0].startswith("SPLAT(")
            else:
                computed = bool(value.args) and value.op not in MASK_OPS and value.op != "where"
                self.same[number] = value.op == "const" or (computed and all(map(self._is_same, value.args)))
        return self.same[number]

    def _operands(self, value: Value) -> tuple[str, ...]:
        """Return the operands of a value computed before the rows; scalars are broadcast except in arithmetic, which mixes both."""
        names = super()._operands(value)
        if not self.by_one or value.op in _PLAIN:
            return names
        return tuple(f"SPLAT({n})" if self._alone(a) else n for a, n in zip(value.args, names, strict=True))

    def _of_row(self, value: Value) -> list[str]:
        """Return the operands of a value computed in each row: names, or entries of TABLE."""
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
        for k, row in enumerate(self._row_counters()):
            text = self.text(value, tuple(self.copy(o, k) if o.isidentifier() else o for o in operands))
            if value.op == "input":
                text = text.replace(" r *", f" {row} *")
            scope.lines.append(f"const {kind} {self.copy(name, k)} = {text};")

    def _number(self, known: int) -> str:
        value = self.numbering.values[known]
        return f"(R){literal(value.content)}" if value.op == "const" else self._known(known) or ""

    def _write_number(self, number: int, value: Value) -> None:
        """Write a value that is the same for all items as a scalar."""
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
        """Return True if a value is stored as a scalar, not as a vector."""
        return number in self.scopes[0].names and self._is_same(number) and self.numbering.values[number].op != "const"

    def filled(self) -> list[str]:
        """Return the C statements that fill TABLE before the rows."""
        if not self.by_one:
            return []
        names = self.scopes[0].names
        return [f"R {TABLE}[{len(self.places)}];", *(f"{TABLE}[{i}] = {names[n]};" for n, i in self.places.items())]

    def head(self) -> list[str]:
        """Return the C statements at the start of each row, which keep the compiler from loading TABLE before it as vectors."""
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
