"""Function language of `!FunctionMap`: parser to syntax trees, and their compilation to functions on whole NumPy columns.

Grammar: statements ``name = expr;``, ``return expr;``, ``if (bool) {..} [else {..}]``, ``expr;``. Operators of one
level group from the LEFT, as in mathematics; places where the reference implementation would group from the right
(``a-b-c``, ``a/b*c``) are recorded so that the loader can warn. Numbers with an exponent (``1e8``) are allowed in
native cases only: the reference implementation rejects them in files.

Control flow becomes masks: both branches of an ``if`` are computed for all points and each point uses the values of its
own path. Division by zero and overflow give infinities as in the language's C arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.media.easi.mathlib import FUNCTIONS
from faultwave.media.points import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


Locate = Callable[[int], str]
KEYWORDS = frozenset({"if", "else", "return"})
MAXIMUM_DEPTH = 60  # nesting levels; prevents hostile text from exhausting Python's stack


@dataclass(frozen=True)
class Number:
    """Number in an expression."""

    value: float


@dataclass(frozen=True)
class Name:
    """Variable in an expression."""

    name: str
    offset: int


@dataclass(frozen=True)
class Unary:
    """Unary operator with its operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary:
    """Arithmetic, comparison or logic; ``truth`` is True if the result is a condition."""

    operator: str
    left: Expression
    right: Expression
    truth: bool = False


@dataclass(frozen=True)
class Call:
    """Call of a mathematical function."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Number | Name | Unary | Binary | Call


@dataclass(frozen=True)
class Assign:
    """Assignment to a variable."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Return:
    """Statement that returns a value."""

    value: Expression


@dataclass(frozen=True)
class Evaluate:
    """Expression whose value is not used."""

    value: Expression


@dataclass(frozen=True)
class If:
    """Conditional statement."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


Statement = Assign | Return | Evaluate | If


@dataclass(frozen=True)
class Program:
    """Parsed body; ``regrouped`` are offsets of operators that right-associative readers group differently."""

    statements: tuple[Statement, ...]
    regrouped: tuple[int, ...]


@dataclass(frozen=True)
class Token:
    """Word or symbol of the text with its position."""

    kind: str  # number, name, symbol, end
    text: str
    offset: int


_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>[0-9]+(?:\.[0-9]*)?)|(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<symbol>==|!=|<=|>=|&&|\|\||[-+*/()<>={},;])"
)
_EXPONENT = re.compile(r"[eE][-+]?[0-9]+(?![A-Za-z0-9_.])")
_PRECEDENCE = (("||",), ("&&",), ("==", "!=", "<=", ">=", "<", ">"), ("+", "-"), ("*", "/"))
_LOGIC, _COMPARISON = 1, 2  # levels up to _LOGIC combine conditions, level _COMPARISON makes them


def _tokens(text: str, fail: Callable[..., NoReturn], exponents: bool) -> list[Token]:
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            fail(position, f"unexpected character '{text[position]}'", advice=_character_advice(text, position))
        end = match.end()
        if exponents and match.lastgroup == "number" and (power := _EXPONENT.match(text, end)):
            end = power.end()
        if match.lastgroup == "number" and re.match(r"[A-Za-z_]", text[end : end + 1]):
            wrong = re.match(r"[0-9.]+[A-Za-z0-9_]+([-+][0-9]+)?", text[position:])
            given = wrong.group() if wrong else match.group()
            allowed = "digits[.digits][e[+-]digits]" if exponents else "digits[.digits]"
            advice = "" if exponents else "Write powers of ten as pow(10,6)"
            fail(position, f"'{given}' is not a number", allowed, advice)
        if match.lastgroup and match.lastgroup != "space":
            tokens.append(Token(match.lastgroup, text[position:end], position))
        position = end
    tokens.append(Token("end", "end of the function", len(text)))
    return tokens


def _character_advice(text: str, position: int) -> str:
    if text[position] == "." and text[position + 1 : position + 2].isdigit():
        return "Write 0.5, not .5"
    return {
        "#": "The language has no comments",
        "%": "The language has no remainder operator",
        "^": "Write powers as pow(a, b)",
        "!": "Only != is supported",
        "&": "Write 'and' as &&",
        "|": "Write 'or' as ||",
    }.get(text[position], "")


class _Parser:
    def __init__(self, text: str, inputs: tuple[str, ...], locate: Locate, exponents: bool):
        self.locate = locate
        self.tokens = _tokens(text, self.fail, exponents)
        self.position = 0
        self.depth = 0
        self.known = dict.fromkeys(inputs)
        self.regrouped: list[int] = []

    def fail(self, offset: int, what: str, allowed: str = "", advice: str = "") -> NoReturn:
        raise InputError(Problem(self.locate(offset), what, allowed, advice))

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def advance(self) -> Token:
        token = self.token
        self.position += token.kind != "end"
        return token

    def takes(self, text: str) -> bool:
        found = self.token.text == text and self.token.kind != "end"
        self.position += found
        return found

    def expect(self, text: str, after: str) -> None:
        if not self.takes(text):
            self.fail(self.token.offset, f"expected '{text}' {after}, found {self.quoted()}")

    def quoted(self) -> str:
        return self.token.text if self.token.kind == "end" else f"'{self.token.text}'"

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAXIMUM_DEPTH:
            self.fail(self.token.offset, f"nested more than {MAXIMUM_DEPTH} levels deep")

    def program(self) -> tuple[Statement, ...]:
        statements = []
        while self.token.kind != "end":
            statements.append(self.statement())
        return tuple(statements)

    def statement(self) -> Statement:
        self.deeper()
        try:
            if self.takes("if"):
                return self.conditional()
            if self.token.text == "else":
                self.fail(self.token.offset, "'else' without 'if'")
            if self.takes("return"):
                result: Statement = Return(self.number_expression())
            elif self.token.kind == "name" and self.tokens[self.position + 1].text == "=":
                name = self.advance().text
                self.advance()
                result = Assign(name, self.number_expression())
                self.known[name] = None  # only now: the right-hand side must not use the new name
            else:
                result = Evaluate(self.number_expression())
            self.expect(";", "at the end of the statement")
            return result
        finally:
            self.depth -= 1

    def conditional(self) -> If:
        self.expect("(", "after 'if'")
        offset = self.token.offset
        condition, truth = self.level(0)
        if not truth:
            self.fail(offset, "the condition of 'if' is a number", "a comparison such as x < 1")
        self.expect(")", "after the condition")
        then = self.block("after the condition")
        otherwise: tuple[Statement, ...] = ()
        if self.takes("else"):
            if self.token.text == "if":
                self.fail(self.token.offset, "'else if' is not in the language", advice="Write else { if (..) {..} }")
            otherwise = self.block("after 'else'")
        return If(condition, then, otherwise)

    def block(self, after: str) -> tuple[Statement, ...]:
        self.expect("{", after)
        statements = []
        while not self.takes("}"):
            if self.token.kind == "end":
                self.fail(self.token.offset, "expected '}', found the end of the function")
            statements.append(self.statement())
        return tuple(statements)

    def number_expression(self) -> Expression:
        offset = self.token.offset
        value, truth = self.level(0)
        if truth:
            self.fail(offset, "a comparison has no numerical value", advice="Use it in the condition of an 'if'")
        return value

    def level(self, level: int) -> tuple[Expression, bool]:
        """Parse operators of one precedence, grouped from the left; return the tree and True if it is a condition."""
        if level == len(_PRECEDENCE):
            return self.factor()
        start = self.token.offset
        left, truth = self.level(level + 1)
        previous = ""
        while self.token.kind == "symbol" and self.token.text in _PRECEDENCE[level]:
            operator = self.advance()
            if previous in ("-", "/"):
                self.regrouped.append(operator.offset)
            offset = self.token.offset
            right, right_truth = self.level(level + 1)
            for place, is_truth in ((start, truth), (offset, right_truth)):
                if is_truth != (level <= _LOGIC):
                    needs, got = ("conditions", "a number") if level <= _LOGIC else ("numbers", "a condition")
                    self.fail(place, f"'{operator.text}' takes {needs}, this is {got}")
            truth = level <= _COMPARISON
            left = Binary(operator.text, left, right, truth)
            previous = operator.text
        return left, truth

    def factor(self) -> tuple[Expression, bool]:
        self.deeper()
        try:
            token = self.advance()
            if token.kind == "number":
                return Number(float(token.text)), False
            if token.text in ("+", "-"):
                operand, truth = self.factor()
                if truth:
                    self.fail(token.offset, f"'{token.text}' takes a number, this is a condition")
                return (Unary("-", operand) if token.text == "-" else operand), False
            if token.text == "(" and token.kind == "symbol":
                inner = self.level(0)
                self.expect(")", "to close the bracket")
                return inner
            if token.kind == "name" and token.text not in KEYWORDS:
                return (self.call(token) if self.takes("(") else self.variable(token)), False
            self.position -= token.kind != "end"
            self.fail(token.offset, f"expected a number, name or '(', found {self.quoted()}")
        finally:
            self.depth -= 1

    def variable(self, token: Token) -> Name:
        if token.text not in self.known:
            self.fail(
                token.offset,
                f"unknown name '{token.text}'",
                ", ".join(self.known) or "this function has no inputs",
                suggest(token.text, self.known),
            )
        return Name(token.text, token.offset)

    def call(self, token: Token) -> Call:
        arguments = []
        if not self.takes(")"):
            arguments.append(self.number_expression())
            while self.takes(","):
                arguments.append(self.number_expression())
            self.expect(")", "after the arguments")
        function = FUNCTIONS.get(token.text)
        if function is None:
            self.fail(
                token.offset,
                f"unknown function '{token.text}'",
                ", ".join(sorted(FUNCTIONS)),
                suggest(token.text, FUNCTIONS),
            )
        if len(arguments) < function.least or (function.most is not None and len(arguments) > function.most):
            self.fail(token.offset, f"'{token.text}' got {len(arguments)} argument(s)", function.arity)
        return Call(token.text, tuple(arguments))


def parse(text: str, inputs: tuple[str, ...], locate: Locate, exponents: bool = False) -> Program:
    """Parse the body of a function of ``inputs``.

    Parameters
    ----------
    text : str
    inputs : tuple of str
    locate : callable
        Returns the place ('file:line:column') of a character for messages.
    exponents : bool
        True if numbers may have exponents (1e8).

    Raises
    ------
    InputError
        With the place of every mistake: syntax, unknown names and functions, wrong numbers of arguments, no ``return``.
    """
    parser = _Parser(text, inputs, locate, exponents)
    statements = parser.program()
    if not _returns(statements):
        parser.fail(len(text), "the function never returns a value", advice="Add 'return expression;'")
    return Program(statements, tuple(parser.regrouped))


def parse_expression(text: str, inputs: tuple[str, ...], locate: Locate, exponents: bool = False) -> Program:
    """Parse a bare expression, as if it stood in ``return ...;``."""
    parser = _Parser(text, inputs, locate, exponents)
    value = parser.number_expression()
    if parser.token.kind != "end":
        parser.fail(parser.token.offset, f"unexpected {parser.quoted()} after the expression")
    return Program((Return(value),), tuple(parser.regrouped))


def _returns(statements: tuple[Statement, ...]) -> bool:
    return any(
        isinstance(s, Return) or (isinstance(s, If) and (_returns(s.then) or _returns(s.otherwise))) for s in statements
    )


Mask = NDArray[np.bool_]
Evaluator = Callable[[Mapping[str, Any]], Any]

_OPERATORS: dict[str, np.ufunc] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "==": np.equal,
    "!=": np.not_equal,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
    "&&": np.logical_and,
    "||": np.logical_or,
}


def _evaluator(tree: Expression) -> Evaluator:
    """Return a closure that computes ``tree`` from the variables' columns.

    Constants stay scalars until they meet a column.
    """
    if isinstance(tree, Number):
        value = np.float64(tree.value)  # not a Python float: 1/0 must be inf, not an exception
        return lambda variables: value
    if isinstance(tree, Name):
        name = tree.name
        return lambda variables: variables[name]
    if isinstance(tree, Binary):
        return _chain(tree)
    if isinstance(tree, Call):
        function, arguments = FUNCTIONS[tree.function].apply, [_evaluator(a) for a in tree.arguments]
        return lambda variables: function(*(a(variables) for a in arguments))
    operand = _evaluator(tree.operand)
    return lambda variables: np.negative(operand(variables))


def _chain(tree: Binary) -> Evaluator:
    """Return a closure for a left-deep chain such as a+b+c+..., as a loop not limited by Python's stack."""
    links = []
    start: Expression = tree
    while isinstance(start, Binary):
        links.append((_OPERATORS[start.operator], _evaluator(start.right)))
        start = start.left
    links.reverse()
    first = _evaluator(start)

    def evaluate(variables: Mapping[str, Floats]) -> Floats:
        value = first(variables)
        for operate, right in links:
            value = operate(value, right(variables))
        return value

    return evaluate


@dataclass
class _State:
    """State of one call: variables, returned values and the points that have returned."""

    count: int
    variables: dict[str, Floats]
    result: Floats | None = None
    returned: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.returned = np.zeros(self.count, dtype=bool)

    def give(self, value: ArrayLike, live: Mask) -> None:
        if live.all():
            self.result = np.broadcast_to(value, self.count)
        else:
            if self.result is None:
                self.result = np.full(self.count, np.nan)
            self.result = np.where(live, value, self.result)
        self.returned |= live

    def assign(self, name: str, value: Any, live: Mask) -> None:
        # A variable first assigned on one path is undefined (NaN) on the others.
        whole = live.all()
        self.variables[name] = value if whole else np.where(live, value, self.variables.get(name, np.nan))


Step = Callable[[_State, Mask], Mask]


def _step(statement: Statement) -> Step:
    """Return a closure that runs a statement for the live points and returns the mask of points still live after it."""
    if isinstance(statement, If):
        condition = _evaluator(statement.condition)
        then, otherwise = _sequence(statement.then), _sequence(statement.otherwise)

        def branch(state: _State, live: Mask) -> Mask:
            truth = np.broadcast_to(condition(state.variables), state.count)
            yes, no = live & truth, live & ~truth
            return then(state, yes) | otherwise(state, no)

        return branch
    value = _evaluator(statement.value)
    if isinstance(statement, Assign):
        name = statement.name

        def assign(state: _State, live: Mask) -> Mask:
            state.assign(name, value(state.variables), live)
            return live

        return assign
    if isinstance(statement, Return):

        def give(state: _State, live: Mask) -> Mask:
            state.give(value(state.variables), live)
            return np.zeros_like(live)

        return give
    return lambda state, live: live


def _sequence(statements: tuple[Statement, ...]) -> Step:
    steps = [_step(s) for s in statements]

    def run(state: _State, live: Mask) -> Mask:
        for step in steps:
            if not live.any():
                break
            live = step(state, live)
        return live

    return run


def compile_program(program: Program) -> Callable[[Mapping[str, Floats], int], tuple[Floats, Mask]]:
    """Return a vectorised function ``f(columns, count) -> (values (count,), returned (count,))``.

    ``columns`` maps every input to a (count,) array. ``returned`` is False where a point's path ended without
    ``return``; its value is NaN.
    """
    run = _sequence(program.statements)

    def function(columns: Mapping[str, Floats], count: int) -> tuple[Floats, Mask]:
        state = _State(count, dict(columns))
        with np.errstate(all="ignore"):
            run(state, np.ones(count, dtype=bool))
        values = np.full(count, np.nan) if state.result is None else state.result
        return np.asarray(values, dtype=np.float64), state.returned

    return function
