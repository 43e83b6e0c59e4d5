"""Sources that act: inside the domain and within the time of a run, and the moments that they reach."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.formulas import magnitude
from faultwave.base.precision import number_type
from faultwave.physics.sources.point import LATEST, PointSource, Sources
from faultwave.physics.sources.time_functions import pieces

_OF_FILE = re.compile(r"(.+?) (subfault|source) \d+.*")


def report_outside(
    sources: Iterable[PointSource], distance: np.ndarray, domain: str, problems: Problems, allowed: str = "",
    above: Callable[[np.ndarray], str] = lambda place: "", advice: Callable[[np.ndarray, float], str] = lambda place, far: "",
) -> None:  # fmt: skip
    """Add one error for each setting or file with sources outside of the domain.

    Parameters
    ----------
    sources
        n sources.
    distance : (n,) array
        Distance outside of the domain [m]; positive outside.
    domain
        Name of the domain in messages.
    problems
        Receives the errors.
    allowed
        Allowed values, for the message.
    above
        Returns additional text for a location (3,) above the ground.
    advice
        Returns advice for a location (3,) and its distance outside.
    """
    table, groups = Sources.of(sources), dict[str, list[int]]()
    for n in np.flatnonzero(distance > 0).tolist():
        found = _OF_FILE.fullmatch(table.names[n])
        groups.setdefault(found[1] if found else table.names[n], []).append(n)
    for group, rows in groups.items():
        farthest = max(rows, key=lambda n: distance[n])
        x = ", ".join(f"{v:g}" for v in table.location[farthest])
        what = f"lies {distance[farthest]:.6g} m outside the {domain}{above(table.location[farthest])}"
        if len(rows) > 1:
            of = sum(name == group or name.startswith(f"{group} ") for name in table.names)
            what += f", the farthest of {len(rows)} that do, of {of} in {group}"
        places = table.location[rows]
        reported = advice(table.location[farthest], float(distance[farthest]))
        problems.error(f"source {table.names[farthest]} at ({x})", what, allowed, reported, places=places)


def report_no_pores(sources: Sources, medium: str, problems: Problems) -> None:
    """Add an error if sources act on a pore fluid that ``medium`` does not have."""
    found = sources.names[sources.porous[:, 3:].any(1)]
    if len(found):
        more = f", as do {len(found) - 1} more sources" if len(found) > 1 else ""
        what = f"{found[0]} acts on the pore fluid{more}, but {medium} has none"
        problems.error("sources", what, "pressure and fluid components of 0, or law: poroelastic")


PARTS = 400  # intervals of the duration of a source for the integral of abs(S)
LOST = 0.01
"""Fraction of a source outside the run above which a warning is given."""
NAMED = 3  # sources in a warning
TIMES = 201
"""Number of times at which moments are compared."""
MAX_PARTS = 6
"""Largest number of rows per source."""
ALIKE = 1e-3
"""Relative difference below which the two moments are reported as one."""
MAGNITUDE = "2/3 (log10 M0 - 9.1), M0 in N m"
FAINTEST = (1e-280, 1e-10)
"""Smallest force [N] or moment [N m] whose waves have all digits in double and in single precision.

Far waves have about 1e-20 m/s per N m (1 / (4 pi rho c^3 r) a second), and a number needs seven digits above the smallest one.
"""
TYPICAL_MODULUS = 1e10
"""Shear modulus [Pa] that turns a potency [m^3] into a moment of the right size."""
_OF_SUBFAULT = re.compile(r".* subfault \d+")


def shares_within(sources: Iterable[PointSource], end_time: float) -> np.ndarray:
    """Return the fractions (n,) of the integral of abs(S) within [0, end_time] [s]; 1 where S is zero."""
    table = Sources.of(sources)
    shares = np.ones(len(table))
    beyond = np.flatnonzero((table.onset < 0) | (table.end > end_time))
    for piece in pieces(len(beyond), PARTS):
        some = beyond[piece]
        edges = np.linspace(table.onset[some], table.end[some], PARTS + 1, axis=1)
        whole, inside = (
            np.abs(np.diff(table.released(t, some), axis=1)).sum(1) for t in (edges, np.clip(edges, 0.0, end_time))
        )
        # An onset so large that adding the duration is lost to rounding leaves nothing to integrate.
        outside = (table.onset[some] >= end_time) | (table.end[some] <= 0.0)
        shares[some] = np.where(whole > 0, inside / np.where(whole > 0, whole, 1.0), np.where(outside, 0.0, 1.0))
    return shares


def check_time(sources: Iterable[PointSource], end_time: float, problems: Problems, where: str = "sources") -> None:
    """Warn if sources, given at ``where`` in the case, act before or after the run."""
    table = Sources.of(sources)
    shares = shares_within(table, end_time)
    lost = np.flatnonzero(shares < 1.0 - LOST)
    if not len(lost):
        return
    worst = lost[np.argsort(shares[lost], kind="stable")][:NAMED]
    named = ", ".join(f"{table.names[k]} with onset {table.onset[k]:g} s: {100 * (1 - shares[k]):.3g} %" for k in worst)
    more = ", ..." if len(lost) > NAMED else ""
    problems.warn(
        where,
        (
            f"{len(lost)} of {len(table)} act partly outside of the run, 0 to {end_time:g} s, and that part is "
            f"lost ({named}{more})"
        ),
        advice="Shift them by their onset, or raise end_time.",
    )


def check_representable(
    sources: Iterable[PointSource], precision: str, problems: Problems, where: str = "sources"
) -> None:
    """Report forces [N] and moments [N m] that overflow the ``precision`` of a run, and warn of those whose waves underflow.

    The former would fill a run with infinite numbers, the latter with zeros.
    """
    table = Sources.of(sources)
    if not len(table):
        return
    largest = float(np.finfo(number_type(precision)).max)
    sizes = np.max([np.abs(a).max(1, initial=0.0) for a in (table.force, table.moment, table.potency)], axis=0)
    bad = np.flatnonzero(~(sizes <= largest))
    if len(bad):
        k = int(bad[np.argmax(sizes[bad])])
        what = f"{table.names[k]} is {sizes[k]:g}, which {precision} precision cannot represent"
        problems.error(where, what, f"up to {largest:.3g} in {precision} precision", "Is a unit or an exponent wrong?")
    least = FAINTEST[precision == "single"]
    moments = np.maximum(sizes, TYPICAL_MODULUS * np.abs(table.potency).max(1, initial=0.0))
    faint = np.flatnonzero((sizes > 0) & (moments < least))
    if len(faint):
        k = int(faint[np.argmin(sizes[faint])])
        what = (
            f"{table.names[k]} is {sizes[k]:g}, whose waves are too small for {precision} precision: "
            "results would be zero or inaccurate"
        )
        problems.warn(where, what, f"{least:g} or more", "Is a unit or an exponent wrong?")


def scalar_moments(sources: Iterable[PointSource], lam: np.ndarray, mu: np.ndarray, end_time: float) -> np.ndarray:
    """Return the scalar moment (n,) [N m] of each source; for wavelets, the largest within the run.

    Parameters
    ----------
    sources
        n sources.
    lam, mu
        Lamé parameters (n,) [Pa] at their locations.
    end_time
        End of the run [s].

    Returns
    -------
    (n,) array
        sqrt(M:M / 2) (Silver & Jordan 1982); zero for forces.
    """
    table = Sources.of(sources)
    tensors, most = table.moment_tensors(lam, mu), np.zeros(len(table))
    within, last = np.linspace(0.0, end_time, 33), np.minimum(table.end, table.onset + LATEST)
    for piece in pieces(len(table), len(within) + 1):
        items = np.arange(len(table))[piece]
        until = np.hstack([table.released(within, items), table.released(last[items, None], items)])
        most[piece] = np.abs(until - until[:, :1]).max(1)
    return np.asarray(np.sqrt(((tensors[:, :3] ** 2).sum(1) + 2.0 * (tensors[:, 3:] ** 2).sum(1)) / 2.0) * most)


@dataclass(frozen=True)
class Moments:
    """Moments [N m] that sources reach together within a run; equal if all have the same mechanism.

    Attributes
    ----------
    scalar
        Sum of scalar moments, as stated in finite-fault files.
    tensor
        Scalar moment of the summed tensor, which long waves see at a distance.
    """

    scalar: float
    tensor: float

    def rows(self) -> list[tuple[str, str]]:
        """Return both with their magnitudes as rows of a report; empty if there is no moment."""
        if not self.scalar > 0:
            return []
        rows = [("sum of scalar moments", self.scalar)]
        if abs(self.tensor - self.scalar) > ALIKE * self.scalar:
            rows.append(("moment of the summed tensor", self.tensor))
        reported = [(what, f"{m:.4g} N m within the run, Mw {magnitude(m):.2f}") for what, m in rows]
        return [*reported, ("Mw", MAGNITUDE)]


def moments_of(sources: Iterable[PointSource], tensors: np.ndarray, end_time: float) -> Moments:
    """Return the largest moments that sources reach together within a run.

    Parameters
    ----------
    sources : iterable of PointSource
        Sources as used by the engine.
    tensors : ndarray (n, 6)
        Moment tensors [N m] per unit of their time functions, in the order xx yy zz xy yz xz.
    end_time : float
        End of the run [s].

    Notes ----- A scalar moment is sqrt(M:M / 2) (Silver & Jordan 1982), the largest of 201 times, because a wavelet has
    zero moment in the end. Directions of slip of a subfault, and components of a moment rate, count as one source.
    """
    times, table = np.linspace(0.0, end_time, TIMES), Sources.of(sources)
    total, scalar = np.zeros((TIMES, 6)), np.zeros(TIMES)
    starts = _starts(table.names)
    ends = np.append(starts[1:], len(table))
    for piece in pieces(len(starts), TIMES * 6 * MAX_PARTS):
        first, last = starts[piece][0], ends[piece][-1]
        until = table.released(times, np.arange(first, last))
        reached = (until - until[:, :1])[:, :, None] * tensors[first:last, None]
        reached = np.add.reduceat(reached, starts[piece] - first, axis=0)
        scalar += _scalar(reached).sum(0)
        total += reached.sum(0)
    return Moments(float(scalar.max()), float(_scalar(total).max()))


def acting_row(sources: Iterable[PointSource], end_time: float) -> tuple[str, str]:
    """Return when sources act, as a row of a report."""
    table = Sources.of(sources)
    first, last = table.onset.min(), table.end.max()
    return "they act", f"from {first:g} s to {last:.4g} s; the run ends at {end_time:g} s"


def _scalar(tensors: np.ndarray) -> np.ndarray:
    """Return the scalar moments (...) of tensors (..., 6)."""
    return np.asarray(np.sqrt(((tensors[..., :3] ** 2).sum(-1) + 2 * (tensors[..., 3:] ** 2).sum(-1)) / 2))


def _starts(names: np.ndarray) -> np.ndarray:
    """Return the first row (m,) of each source among rows with ``names`` (n,).

    Rows of one subfault, whose names differ only by the direction of slip, are one source.
    """
    found = [_OF_SUBFAULT.match(name) for name in names.tolist()]
    keys = [name if match is None else match[0] for match, name in zip(found, names.tolist(), strict=True)]
    new = [k == 0 or found[k] is None or keys[k] != keys[k - 1] for k in range(len(keys))]
    return np.flatnonzero(new)
