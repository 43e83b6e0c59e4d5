"""Interface of the solver to the modules that step, observe and restart it, which the solver itself imports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from faultwave.backends import Backend
from faultwave.comm import World
from faultwave.comm.exchange import ChannelExchange
from faultwave.dg.operators.local_time_stepping import LocalTimeStepping, never
from faultwave.dg.operators.operator import Operator
from faultwave.dg.planning.plan import Plan
from faultwave.engine.capability import Callback, When


class Advances(Protocol):
    """Advance by largest time steps, see ``dg.operators.stepping``."""

    def advance(self, most: int = 1, pause: Callable[[], bool] = never) -> None: ...


class Solver(Protocol):
    """Solver of one run, see ``dg.solver.Solver``.

    Attributes
    ----------
    good : (float, ndarray) or None
        Time and means of the last good state, None while they are renewed.
    mesh_identity, material_identity
        Fingerprints, set when they are first needed.
    """

    plan: Plan
    world: World
    backend: Backend
    operator: Operator
    march: LocalTimeStepping
    parts: dict[str, Any]
    callbacks: dict[When, list[Callback]]
    events: list[tuple[Callback, int, float, float]] | None
    exchange: ChannelExchange | None
    seconds: dict[str, float]
    wall: dict[str, float]
    updates: int
    threads: int
    wrong: str
    good: Any
    mesh_identity: str
    material_identity: dict[str, int]

    @property
    def replays(self) -> Advances: ...

    @property
    def time(self) -> float: ...

    @property
    def updates_share(self) -> float: ...

    def finish_reads(self, wait: bool = True) -> None: ...

    def observing(self) -> AbstractContextManager[None]: ...

    def added(self, here: Mapping[str, float]) -> dict[str, float]: ...

    def energies(self) -> dict[str, float]: ...


__all__ = ["Advances", "Solver"]
