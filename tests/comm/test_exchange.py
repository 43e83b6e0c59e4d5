"""Exchange of clusters: when messages of a device leave, when the next come, and what is told of a process that is silent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.base.errors import RunError
from faultwave.comm import messages
from faultwave.comm.exchange import Channel, ClusterExchange, StageExchange
from tests.messages import raises


class Request:
    def __init__(self, log: list[Any], what: str, buffer: np.ndarray):
        self.log, self.what, self.buffer, self.answers = log, what, buffer, True

    def Start(self) -> None:
        self.log.append((self.what, self.buffer.copy()))

    def Test(self) -> bool:
        return self.answers

    def Wait(self) -> None: ...

    Cancel = Free = Wait


class Mpi:
    """Notes what is started."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.requests: list[Request] = []

    def Dup(self) -> Mpi:
        return self

    def Get_rank(self) -> int:
        return 0

    def Send_init(self, buffer: np.ndarray, rank: int, tag: int) -> Request:
        return self._made("send", buffer)

    def Recv_init(self, buffer: np.ndarray, rank: int, tag: int) -> Request:
        return self._made("receive", buffer)

    def _made(self, what: str, buffer: np.ndarray) -> Request:
        self.requests.append(Request(self.log, what, buffer))
        return self.requests[-1]

    @property
    def sent(self) -> list[np.ndarray]:
        return [values for what, values in self.log if what == "send"]


class Slow:
    """Rows of a store on a device that takes its time; ``waited``: how often a message was waited for."""

    def __init__(self) -> None:
        self.values, self.arrived, self.waited = np.arange(30.0).reshape(10, 3), False, 0
        self.into = [Unpacking(self, 0), Unpacking(self, 1)]
        self.log = list[str]()

    def source(self, rows: np.ndarray, rounding: str, loss: Any, errors: Any) -> Any:
        return Packing(self, rows)

    def targets(self, first: int, count: int, rounding: str) -> Any:
        return self.into


class Packing:
    def __init__(self, store: Slow, rows: np.ndarray):
        self.store, self.rows = store, rows
        self.buffer = np.zeros((rows.shape[1], 3))
        self.nbytes = self.buffer.nbytes

    def pack(self, parity: int) -> None:
        self.now = self.store.values[self.rows[parity]]

    @property
    def packed(self) -> bool:
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

    def unpack(self) -> None:
        self.store.log.append(f"unpack {self.number}")


def made(halo: str = "exact") -> tuple[ClusterExchange, Mpi, Slow]:
    mpi, store = Mpi(), Slow()
    world: Any = type("World", (), {"mpi": mpi})
    channel = Channel(1, 0, 0, "wave", np.array([[2, 3], [4, 5]]), "wave", 6)
    return ClusterExchange(world, [channel], {"wave": store}, [1], lambda: 8, [0], halo), mpi, store


def test_a_message_leaves_when_it_is_packed() -> None:
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
def test_a_message_that_is_needed_is_waited_for(need: str) -> None:
    exchange, mpi, store = made("single" if need == "what was rounded" else "exact")
    exchange.border_predicted(0)
    if need == "the next message":
        exchange.border_corrected(0)
        exchange.border_predicted(0)
    elif need == "the end":
        exchange.wait()
    else:
        exchange.finish_sending(0)
    assert len(mpi.sent) == 1 and store.waited == 1


def test_messages_come_in_turn_into_what_nobody_reads() -> None:
    """The next is received elsewhere, while the device may still unpack the last."""
    exchange, _, store = made()
    for _ in range(3):
        store.arrived = True
        exchange.border_predicted(0)
        assert exchange.ready(0)
        exchange.border_corrected(0)
    assert store.log == ["ready 0", "unpack 0", "ready 1", "unpack 1", "ready 0", "unpack 0", "ready 1"]


def test_while_one_cluster_waits_messages_of_others_leave() -> None:
    """Somebody may wait for them before he sends what this one waits for."""
    mpi, store = Mpi(), Slow()
    world: Any = type("World", (), {"mpi": mpi})
    channels = [Channel(1, c, c, "wave", np.array([[2, 3], [4, 5]]), "wave", 6) for c in range(2)]
    exchange = ClusterExchange(world, channels, {"wave": store}, [1, 2], lambda: 8, [0, 0])
    exchange.border_predicted(1)
    store.arrived = True
    exchange.ready(0)
    assert len(mpi.sent) == 1


def test_messages_leave_while_there_is_no_room_for_another() -> None:
    """The process that has not taken the last two may wait for one that is packed."""
    mpi, store = Mpi(), Slow()
    world: Any = type("World", (), {"mpi": mpi})
    channels = [Channel(1, c, c, "wave", np.array([[2, 3], [4, 5]]), "wave", 6) for c in range(2)]
    exchange = ClusterExchange(world, channels, {"wave": store}, [1, 2], lambda: 8, [0, 0])
    exchange.border_predicted(1)  # packed later
    store.arrived = True
    blocked = exchange.lines[0].sending._request
    blocked.answers = False
    taken: list[int] = []

    def test() -> bool:
        taken.append(len(mpi.sent))
        return len(taken) > 2

    blocked.Test = test
    exchange.border_predicted(0)
    assert taken == [0, 1, 1] and len(mpi.sent) == 2


@pytest.mark.parametrize("where", ["a correction", "the end", "a stage", "room for the next"])
def test_a_silent_process_is_named(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Wherever a process waits there is an end to it, and an error that says for whom and for what."""
    monkeypatch.setattr(messages, "PATIENCE", 0.05)
    mpi, store = Mpi(), Slow()
    store.arrived = True
    world: Any = type("World", (), {"mpi": mpi})
    channels = [Channel(r, 0, 0, "wave", np.array([[2, 3], [4, 5]]), "wave", 6) for r in (3, 4)]
    if where == "a stage":
        stages = StageExchange(world, channels, {"wave": store})
        action = stages.wait
    else:
        exchange = ClusterExchange(world, channels, {"wave": store}, [1], lambda: 8, [0])
        exchange.border_predicted(0)
        action = {"a correction": lambda: exchange.wait_for([0]), "the end": exchange.wait}.get(
            where, lambda: exchange.border_predicted(0)
        )
    for request in mpi.requests:
        request.answers = False
    with raises(RunError):
        action()
