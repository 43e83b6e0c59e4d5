"""What cells exchange across faces to a slower cluster: sums of the faster's, integrals of the slower's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faultwave.backends import Backend
from faultwave.dg import kernels
from faultwave.dg.kernels import Exchanged
from faultwave.dg.layout import Ranged


class Sums:
    """Launches over the faces ``slower`` of a layout, two ranges for each cluster: its special cells' and its plain ones'.

    ``store`` holds what is exchanged each step, ``slow`` the series that slower cells leave. ``at_arrival``: sums may be done together with
    integrals.
    """

    def __init__(self, backend: Backend, what: Exchanged, slower: Ranged, store: Any, slow: Any, at_arrival: bool):
        self.slower, self.launches = slower, dict[str, list[Callable[..., None]]]()  # by even and odd step
        if not len(slower.rows):
            return
        wanted = [kernels.accumulate(what), kernels.integrate(what)]
        compiled = backend.compile(wanted + ([kernels.accumulate_and_integrate(what)] if at_arrival else []))
        for i in range(2):
            given = {"waves": store, "slow": slow, "slots": backend.index(slower.rows[:, [0, 1 + i, 3]])}
            for name in compiled:
                self.launches.setdefault(name, []).append(compiled[name](given))

    def special(self, cluster: int) -> tuple[int, int]:
        """Faces of the special cells, those at the border among them."""
        return self.slower.ranges[2 * cluster]

    def plain(self, cluster: int) -> tuple[int, int]:
        return self.slower.ranges[2 * cluster + 1]

    def both(self, cluster: int) -> tuple[int, int]:
        return self.special(cluster)[0], self.plain(cluster)[1]

    def run(self, name: str, part: tuple[int, int], parity: int = 0, **scalars: Any) -> None:
        if part[1] > part[0]:
            self.launches[name][parity](*part, **scalars)

    def accumulate(self, part: tuple[int, int], parity: int, restart: bool) -> None:
        self.run("accumulate", part, parity, keep=0.0 if restart else 1.0)


__all__ = ["Sums"]
