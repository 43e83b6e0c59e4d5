"""Expressions in the function language of case files that benchmarks share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NEVER = 1e9
"""Forced rupture time where rupture is not forced [s]."""


def number(value: float) -> str:
    """Return a number as a literal of the function language, which has no exponents; in brackets if negative."""
    text = np.format_float_positional(float(value), trim="0")
    return f"({text})" if value < 0 else text


def down_dip(dip: float = 90.0) -> str:
    """Return the line that sets d, the distance down dip from z = 0."""
    return f"d = {number(-1 / np.sin(np.radians(dip)))}*z;" if dip != 90 else "d = -z;"


def squares(
    outside: str, patches: Sequence[tuple[float, float, float, str]], dip: float = 90.0, before: str = ""
) -> str:
    """Return an expression with one value in each patch (s, d, edge, expression) and another elsewhere.

    The expressions of the patches may use x and d.
    """
    lines = [down_dip(dip), *([before] if before else [])]
    for s, d, edge, inside in patches:
        lines.append(
            f"if (max(abs(x - {number(s)}), abs(d - {number(d)})) <= {number(edge / 2)}) {{ return {inside}; }}"
        )
    return "\n".join([*lines, f"return {outside};"])


def mean_squares(outside: float, patches: Sequence[tuple[float, float, float, float]], spacing: float) -> str:
    """Return the cell averages for a ``spacing`` of values in squares (s, d, edge, value) on a vertical fault, and another elsewhere."""
    lines, total = [down_dip()], number(outside)
    for n, (s, d, edge, value) in enumerate(patches):
        half = number(edge / 2 / spacing + 0.5)
        for name, at in (("x", s), ("d", d)):
            away = f"abs({name} - {number(at)})*{number(1 / spacing)}"
            lines.append(f"{name}{n} = min(1.0, max(0.0, {half} - {away}));")
        total += f" + {number(value - outside)}*x{n}*d{n}"
    return "\n".join([*lines, f"return {total};"])


def radius(s: float, d: float) -> str:
    """Return the line that sets r, the distance to a position on the fault; it follows ``down_dip``."""
    return f"r = sqrt((x - {number(s)})*(x - {number(s)}) + (d - {number(d)})*(d - {number(d)}));"


def bump(amplitude: float, inner: float, outer: float) -> str:
    """Return the line that sets n: the amplitude within the inner radius, tapered by a cosine to zero at the outer one.

    It follows the line of ``radius``.
    """
    return (
        f"n = {number(amplitude / 2)}*(1.0 + cos({number(np.pi / (outer - inner))}"
        f"*(min({number(outer)}, max({number(inner)}, r)) - {number(inner)})));"
    )


def forced(s: float, d: float, critical: float, speed: float, dip: float = 90.0) -> str:
    """Return the forced rupture time: a front that starts at 0.7 times the speed and slows to zero at the critical radius."""
    slow, edge = number(0.7 * speed), number(critical)
    return "\n".join(
        [
            down_dip(dip),
            radius(s, d),
            f"if (r < {number(0.999 * critical)}) {{",
            f"  return r/{slow} + {number(0.081 * critical / (0.7 * speed))}*(1.0/(1.0 - (r/{edge})*(r/{edge})) - 1.0);",
            "}",
            f"return {number(NEVER)};",
        ]
    )


def above(depth: float, slope: float, below: float = 0.0, dip: float = 90.0) -> str:
    """Return the cohesion: -below, and above a distance down dip -slope more for every metre."""
    return "\n".join([down_dip(dip), f"return -({number(below)} + {number(slope)}*max(0.0, {number(depth)} - d));"])


def profile(depths: Sequence[float], values: Sequence[float]) -> str:
    """Return a profile linear between the depths of a table and constant below; a repeated depth is a jump."""
    return "\n".join(["d = -z;", *_segments(depths, [values], "{0}"), f"return {number(values[-1])};"])


def rigid(depths: Sequence[float], rho: Sequence[float], vs: Sequence[float], times: str, before: str = "") -> str:
    """Return the expression ``times`` multiplied by the rigidity of a table of density and S speed, as in ``profile``."""
    last = f"return ({times})*{number(rho[-1] * vs[-1] ** 2)};"
    lines = [
        "d = -z;",
        *([before] if before else []),
        *_segments(depths, [rho, vs], f"({times})*({{0}})*({{1}})*({{1}})"),
    ]
    return "\n".join([*lines, last])


def _segments(depths: Sequence[float], tables: Sequence[Sequence[float]], expression: str) -> list[str]:
    lines = []
    for i in range(len(depths) - 1):
        if depths[i + 1] <= depths[i]:
            continue
        linear = []
        for values in tables:
            slope = (values[i + 1] - values[i]) / (depths[i + 1] - depths[i])
            linear.append(f"{number(values[i])} + {number(slope)}*(d - {number(depths[i])})")
        text = expression.format(*linear)
        lines.append(f"if (d < {number(depths[i + 1])}) {{ return {text}; }}")
    return lines


def box(coordinate: str, width: float, edge: float, name: str) -> str:
    """Return the line that sets ``name``: 1 where |coordinate| is below the width, falling smoothly to 0 over the edge.

    An offset of a millimetre avoids a division by zero at both ends of the taper.
    """
    inner, outer = number(width), number(width + edge)
    at = f"min({number(width + edge - 1e-3)}, max({number(width + 1e-3)}, abs({coordinate})))"
    return f"u{name} = {at};\n{name} = 0.5*(1.0 + tanh({number(edge)}/(u{name} - {outer}) + {number(edge)}/(u{name} - {inner})));"


def smooth_patch(amplitude: float, s: float, d: float, edge: float) -> str:
    """Return the nucleation stress of the rate-and-state benchmarks: amplitude exp(r^2/(r^2 - R^2)) within R."""
    square = number(edge**2)
    return "\n".join(
        [
            "d = -z;",
            f"q = (x - {number(s)})*(x - {number(s)}) + (d - {number(d)})*(d - {number(d)});",
            f"if (q < {square}) {{ return {number(amplitude)}*exp(q/(q - {square})); }}",
            "return 0.0;",
        ]
    )
