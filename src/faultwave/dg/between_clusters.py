"""What cells of different steps exchange across a face, in the kernel that makes it (docs/theory/time-stepping.md, "Local time stepping").

The faster cell adds the waves of its steps where the slower one will read their sum. The slower one leaves the waves of those parts of
its step in which the faster one steps: its state is integrated over them while its derivatives are at hand, and traced on the faces that
need it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from faultwave.dg.predictors import Predictor
from faultwave.kernels.language import Array, Kernel, View


def places(rates: Any) -> int:
    """Slots that a slower cell has for the parts of its step, with so many steps of each cluster in one of the next: an even number, as
    cells of one cluster exchange waves in places that alternate."""
    most = max([1, *(int(r) for r in rates)])
    return most + most % 2


def part_weights(
    predictor: Predictor, step: float, ends: Sequence[float], first: int, parts: int
) -> dict[str, list[float]]:
    """Arguments of the kernels that leave parts of a step of this length [s]: ``shares`` of the whole step, and the weights of each of the
    integrals in ``Beside.parts``. ``ends``: of the faster cluster's steps after the start [s], of which the ``first`` reads the slot of
    that number modulo ``parts``; slots that none of them reads get zeros."""
    weights, whole = [[0.0] * len(predictor.rows) for _ in range(parts)], predictor.integral(0.0, step, step)
    for n, (begin, end) in enumerate(pairwise((0.0, *ends))):
        weights[(first + n) % parts] = predictor.integral(begin, end, step)
    shares = [w[0] / whole[0] if whole[0] else 0.0 for w in weights[:-1]]
    found = {"shares": shares}
    for p, (w, share) in enumerate(zip(weights, shares, strict=False)):
        found[f"part{p}"] = [0.0, *(a - share * b for a, b in zip(w[1:], whole[1:], strict=True))]
    return found


@dataclass(frozen=True)
class Beside:
    """What a cell does besides with the waves that it publishes, into a store in which slot 0 is nobody's.

    ``to_slower``: it adds them to the sums for slower neighbours; ``parts``: for integrals of the state over parts of the step, whose waves
    it leaves for faster ones. A part is a share of the whole step, whose wave is known, and a sum without the first coefficient of the
    predictor, given here: most often of a lower degree, so that its trace takes half the work; ``rows`` of it. What is left of the
    whole after all parts but one is the last, so that together they make the whole to rounding.
    """

    to_slower: bool
    parts: tuple[Array, ...] = ()
    rows: int = 0

    def emit(
        self, k: Kernel, name: str, store: Array, i: int, wave: Array, trace: Callable[[View, View], None]
    ) -> None:
        """Of the face ``i``; ``trace`` makes a wave (its second argument) of a state. ``name``: what the indices' names begin with."""
        if self.to_slower:
            self._add(k, name, store, i, wave)
        if self.parts:
            self._leave(k, name, store, i, wave, trace)

    def _add(self, k: Kernel, name: str, store: Array, i: int, wave: Array) -> None:
        slots, keep = _index(k, f"{name}sum_slots", 4), k.arrays.get("keep") or k.scalar("keep")
        total, m = k.scratch(f"{name}summed", wave.rows, wave.cols), wave.cols

        def one() -> None:
            k.gather(total, store, slots, i)
            k.pointwise(lambda x, t, c: [[c[0] * t[j] + x[j] for j in range(m)]], [wave, total, keep], [total])
            k.scatter(total, store, slots, i)

        k.when(slots, i, one)

    def _leave(
        self, k: Kernel, name: str, store: Array, i: int, wave: Array, trace: Callable[[View, View], None]
    ) -> None:
        count, m = len(self.parts), wave.cols
        slots, columns = _index(k, f"{name}part_slots", 4 * (count + 1)), [4 * p + i for p in range(count + 1)]
        made = [k.scratch(f"{name}part_wave{p}", wave.rows, m) for p in range(count + 1)]
        shares = k.arrays.get("shares") or k.scalar("shares", count)
        more = k.scratch(f"{name}part_more", self.rows, m)

        def together(whole: Any, share: Any, *more: Any) -> Any:
            found = [share[0] * x for x in whole]
            return [[x + y for x, y in zip(found, *more, strict=True)] if more else found]

        def rest(whole: Any, *parts: Any) -> Any:
            left = list(whole)
            for part in parts:
                left = [a - b for a, b in zip(left, part, strict=True)]
            return [left]

        def all_parts() -> None:
            for p, (state, target) in enumerate(zip(self.parts, made, strict=False)):
                trace(state.view(), more.view())
                share, low, high = shares.view(p, 1), self.rows, wave.rows - self.rows
                k.pointwise(together, [wave.view(0, low), share, more], [target.view(0, low)])
                if high:
                    k.pointwise(together, [wave.view(low, high), share], [target.view(low, high)])
            k.pointwise(rest, [wave, *made[:-1]], [made[-1]])
            for target, column in zip(made, columns, strict=True):
                k.scatter(target, store, slots, column)

        k.when(slots, i, all_parts, columns[1:])


def _index(k: Kernel, name: str, columns: int) -> Array:
    """The index of this name, declared when it is first asked for."""
    return k.arrays.get(name) or k.index(name, columns)


__all__ = ["Beside", "part_weights", "places"]
