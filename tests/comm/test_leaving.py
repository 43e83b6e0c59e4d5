"""Messages of a device leave when what they hold has come from it, and nobody waits for that before there is need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.comm.exchange import Channel, Exchange


class Request:
    def __init__(self, log: list[Any], what: str, buffer: np.ndarray):
        self.log, self.what, self.buffer = log, what, buffer

    def Start(self) -> None:
        self.log.append((self.what, self.buffer.copy()))

    def Test(self) -> bool:
        return True

    def Wait(self) -> None: ...

    Cancel = Free = Wait


class Mpi:
    """Notes what is started."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def Dup(self) -> Mpi:
        return self

    def Send_init(self, buffer: np.ndarray, rank: int, tag: int) -> Request:
        return Request(self.log, "send", buffer)

    def Recv_init(self, buffer: np.ndarray, rank: int, tag: int) -> Request:
        return Request(self.log, "receive", buffer)

    @property
    def sent(self) -> list[np.ndarray]:
        return [values for what, values in self.log if what == "send"]


class Slow:
    """Slots of a device that takes its time; ``waited``: how often somebody could not wait."""

    def __init__(self) -> None:
        self.values, self.arrived, self.waited = np.arange(30.0).reshape(10, 3), False, 0
        self.into = [Unpacking(self, 0), Unpacking(self, 1)]
        self.log = list[str]()

    def outgoing(self, slots: np.ndarray, rounding: str, loss: Any, errors: Any) -> Any:
        return Packing(self, slots)

    def incoming(self, first: int, count: int, rounding: str) -> Any:
        return self.into


class Packing:
    def __init__(self, store: Slow, slots: np.ndarray):
        self.store, self.slots = store, slots
        self.buffer = np.zeros((slots.shape[1], 3))
        self.nbytes = self.buffer.nbytes

    def fill(self, turn: int) -> None:
        self.now = self.store.values[self.slots[turn]]

    @property
    def here(self) -> bool:
        return self.store.arrived

    def finish(self) -> None:
        self.store.waited += not self.store.arrived
        self.buffer[:] = self.now


class Unpacking:
    """What must not be received into before it is ready."""

    def __init__(self, store: Slow, number: int) -> None:
        self.buffer, self.store, self.number = np.zeros((2, 3)), store, number

    def ready(self) -> None:
        self.store.log.append(f"ready {self.number}")

    def landed(self) -> None:
        self.store.log.append(f"landed {self.number}")


def made(halo: str = "exact") -> tuple[Exchange, Mpi, Slow]:
    mpi, store = Mpi(), Slow()
    world: Any = type("World", (), {"mpi": mpi})
    channel = Channel(1, 0, 0, "wave", np.array([[2, 3], [4, 5]]), "wave", 6)
    return Exchange(world, [channel], {"wave": store}, [1], lambda: 8, [0], halo), mpi, store


def test_a_message_leaves_when_it_is_here() -> None:
    exchange, mpi, store = made()
    exchange.border_predicted(0)
    assert not mpi.sent and not exchange.ready(0) and not store.waited
    store.values[2:4] = 0.0  # what the device does next is not what was to be sent
    store.arrived = True
    exchange.poll()
    np.testing.assert_array_equal(mpi.sent, [np.arange(6.0, 12.0).reshape(2, 3)])
    assert exchange.ready(0) and not store.waited
    assert exchange.sent == {1: [1, 48]}


@pytest.mark.parametrize("need", ["the next message", "the end", "what was rounded"])
def test_or_when_there_is_need(need: str) -> None:
    exchange, mpi, store = made("single" if need == "what was rounded" else "exact")
    exchange.border_predicted(0)
    if need == "the next message":
        exchange.used(0)
        exchange.border_predicted(0)
    elif need == "the end":
        exchange.wait()
    else:
        exchange.all_sent(0)
    assert len(mpi.sent) == 1 and store.waited == 1


def test_messages_come_in_turn_into_what_nobody_reads() -> None:
    """The next is received elsewhere, while the device may still unpack the last."""
    exchange, _, store = made()
    for _ in range(3):
        store.arrived = True
        exchange.border_predicted(0)
        assert exchange.ready(0)
        exchange.used(0)
    assert store.log == ["ready 0", "landed 0", "ready 1", "landed 1", "ready 0", "landed 0", "ready 1"]


def test_while_one_cluster_waits_messages_of_others_leave() -> None:
    """Somebody may wait for them before he sends what this one waits for."""
    mpi, store = Mpi(), Slow()
    world: Any = type("World", (), {"mpi": mpi})
    channels = [Channel(1, c, c, "wave", np.array([[2, 3], [4, 5]]), "wave", 6) for c in range(2)]
    exchange = Exchange(world, channels, {"wave": store}, [1, 2], lambda: 8, [0, 0])
    exchange.border_predicted(1)
    store.arrived = True
    exchange.ready(0)
    assert len(mpi.sent) == 1
