"""Whether MPI is GPU-aware is found out before a run: each way in which it may turn out not to be."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.cli.launch import mpiexec
from faultwave.comm import World, gpu_aware
from tests.messages import raises


def child(body: str) -> list[str]:
    return [sys.executable, "-c", body]


@pytest.mark.parametrize(
    "body, good, words",
    [
        ("print('begun'); print('passed')", True, ""),
        ("import os, signal; print('begun', flush=True); os.kill(os.getpid(), signal.SIGSEGV)", False, "signal 11"),
        ("print('begun'); print('failed'); raise SystemExit(1)", False, "exit code 1"),
        ("raise SystemExit('no MPI here')", None, "no child process could be started"),
        ("import os; print('begun' if 'PMI_RANK' in os.environ else 'begun passed')", True, ""),  # it stands alone
    ],
)
def test_a_child_process_tells_whether_mpi_takes_memory_of_the_device(
    monkeypatch: pytest.MonkeyPatch, body: str, good: Any, words: str
) -> None:
    monkeypatch.setenv("PMI_RANK", "3")
    monkeypatch.setenv("UCX_TLS", "all")  # how the user wants it to be
    found, why = gpu_aware.query_child(child(f"import os; assert os.environ['UCX_TLS'] == 'all'; {body}"))
    assert found == good and words in why


def test_a_child_that_hangs_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_aware, "PATIENCE", 0.5)
    good, why = gpu_aware.query_child(child("import time; print('begun', flush=True); time.sleep(60)"))
    assert not good and "TimeoutExpired" in why


@pytest.mark.parametrize("kind, says, good", [("cuda", True, True), ("cuda", None, False), ("opencl", None, True)])
def test_without_a_child_the_library_must_have_said_yes(
    monkeypatch: pytest.MonkeyPatch, kind: str, says: Any, good: bool
) -> None:
    """But where memory has an address on the host no process can end by it."""
    monkeypatch.setattr(gpu_aware, "query_library", lambda kind: (says, ""))
    device: Any = SimpleNamespace(target=SimpleNamespace(dialect=kind))
    found, why = gpu_aware._child_can(Everyone({}), device, child("raise SystemExit(1)"))
    assert found == good and (good or "no child process" in why)


class Everyone(World):
    """Two processes, of which the other has its own answers."""

    local_rank = 0

    def __init__(self, other: dict[int, tuple[bool, str]]):
        super().__init__()
        self.other, self.asked = other, 0
        self.mpi: Any = SimpleNamespace(allgather=self._gathered)

    def _gathered(self, mine: Any) -> list[Any]:
        self.asked += 1
        return [mine, self.other.get(self.asked, (True, "the other has it"))]


@pytest.mark.parametrize(
    "at, words", [(1, "contains no"), (2, "signal 11"), (3, "not as it was sent"), (0, "says yes")]
)
def test_all_come_to_one_answer(monkeypatch: pytest.MonkeyPatch, at: int, words: str) -> None:
    """Every look comes after the one before has been good everywhere: none may end a process that the others wait for."""
    looks: list[str] = []

    def look(name: str) -> Any:
        def found(world: Any, *rest: Any) -> tuple[bool, str]:
            looks.append(name)
            return gpu_aware._all(world, True, "says yes")

        return found

    for name in ("_library_can", "_child_can", "_partners_can"):
        monkeypatch.setattr(gpu_aware, name, look(name))
    device: Any = SimpleNamespace()
    way = gpu_aware.choose_halo_path(Everyone({at: (False, words)}), "auto", device, [], [])
    assert way.gpu_aware == (at == 0) and words in str(way) and len(looks) == (at or 3)
    if at:
        with raises(InputError):
            gpu_aware.choose_halo_path(Everyone({at: (False, words)}), "direct", device, [], [])
    looks.clear()
    assert not gpu_aware.choose_halo_path(Everyone({}), "host", device, [], []).gpu_aware and not looks


@pytest.mark.parametrize(
    "kind, library, environment, answer, words",
    [
        ("cuda", {"MPIX_Query_cuda_support": 1}, {}, True, "MPIX_Query_cuda_support() is 1"),
        ("cuda", {"MPIX_Query_cuda_support": 0}, {}, False, "MPIX_Query_cuda_support() is 0"),
        ("cuda", {}, {}, None, "does not report it"),
        ("hip", {"MPIX_Query_cuda_support": 1}, {}, None, "does not report it"),
        ("hip", {"MPIX_Query_rocm_support": 0, "MPIX_Query_hip_support": 1}, {}, True, "hip_support() is 1"),
        ("cuda", {"MPIX_Query_cuda_support": 1}, {"name": "MPI VERSION : CRAY MPICH 8"}, False, "ENABLED is not 1"),
        ("hip", {}, {"name": "CRAY MPICH", "MPICH_GPU_SUPPORT_ENABLED": "1"}, True, "ENABLED is 1"),
        ("opencl", {"MPIX_Query_cuda_support": 0}, {}, None, "by the host"),
    ],
)
def test_what_a_library_tells(
    monkeypatch: pytest.MonkeyPatch, kind: str, library: Any, environment: Any, answer: Any, words: str
) -> None:
    name = environment.pop("name", "Some MPI v1.0\nmore of it")
    monkeypatch.setitem(
        sys.modules,
        "mpi4py",
        SimpleNamespace(MPI=SimpleNamespace(__file__="MPI.so", Get_library_version=lambda: name)),
    )
    monkeypatch.setattr(
        gpu_aware.ctypes, "CDLL", lambda path: SimpleNamespace(**{k: lambda v=v: v for k, v in library.items()})
    )
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    found, told = gpu_aware.query_library(kind)
    assert found is answer and words in told and "\n" not in told


MEMORY = """
    import sys
    import numpy as np
    from mpi4py import MPI
    from faultwave.comm import gpu_aware

    class GpuAwareBuffer:
        take = lambda self, received: None
        give = lambda self, sent: self
        wait = lambda self: None

        def __init__(self, size):
            self.memory, self.buffer = np.zeros(size, np.uint8), self
            place = (self.memory.ctypes.data, False)
            self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": place, "version": 3}

    class Device:
        gpu_aware_buffer = GpuAwareBuffer

        def upload(self, memory, values):
            memory[:] = values

        def download(self, memory, values):
            values[:] = memory
            values[-1] ^= int(sys.argv[1])

    class Broken(Device):
        def gpu_aware_buffer(self, size):
            if MPI.COMM_WORLD.Get_rank() == 1:
                raise MemoryError("no more memory")
            return GpuAwareBuffer(size)

    class Silent(Device):
        def upload(self, memory, values):
            if MPI.COMM_WORLD.Get_rank() == 1:
                raise OSError("the device is gone")
            memory[:] = values

    def met(device, partners):
        device.target = SimpleNamespace(dialect="opencl")
        return gpu_aware._partners_can(world(), device, partners)

"""

HEAD = """
    from types import SimpleNamespace
    from faultwave.comm import world
"""


def among(ranks: int, body: str, *given: str) -> None:
    whole = textwrap.dedent(HEAD) + textwrap.dedent(MEMORY) + textwrap.dedent(body)
    command = [mpiexec(), "-n", str(ranks), sys.executable, "-c", whole, *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=dict(os.environ))
    assert done.returncode == 0, done.stderr


@pytest.mark.mpi
@pytest.mark.parametrize("ranks, wrong", [(1, 0), (3, 0), (2, 1)])
def test_messages_by_address_arrive_as_they_were_sent(ranks: int, wrong: int) -> None:
    """Memory is given as CUDA's arrays are, to all others, by requests that are started again; one byte that is wrong is seen."""
    body = """
    others = [r for r in range(world().size) if r != world().rank] or [0]
    good, why = met(Device(), others)
    assert good == (sys.argv[1] == "0") and ("as it was sent" in why) == (not good), why
    """
    among(ranks, body, str(wrong))


@pytest.mark.mpi
def test_a_process_without_neighbours_agrees_with_the_others() -> None:
    among(3, "assert met(Device(), [[1], [0], []][world().rank])[0]", "0")


@pytest.mark.mpi
def test_a_process_that_fails_is_a_no_of_all() -> None:
    """Before it sends, and instead of sending: the others do not wait for it without end."""
    body = """
    assert met(Broken(), [1 - world().rank]) == (False, "MemoryError: no more memory")
    gpu_aware.PATIENCE = 0.5
    good, why = met(Silent(), [1 - world().rank])
    assert not good and "did not arrive within" in why, why  # the words of the first process
    """
    among(2, body, "0")


@pytest.mark.mpi
def test_an_mpi_that_cannot_ends_the_child_only() -> None:
    """It reads where the host has no memory, as one that is not aware of devices does."""
    body = textwrap.dedent(MEMORY).replace("(self.memory.ctypes.data, False)", "(4096, False)")
    good, why = gpu_aware.query_child(child(textwrap.dedent(HEAD) + body + "gpu_aware.try_alone(Device())"))
    assert good is False and "a test message in a child process did not arrive (it ended with" in why


def test_patterns_tell_senders_and_places_apart() -> None:
    seen = [gpu_aware.pattern(rank, 251) for rank in range(8)]
    assert all(len(np.unique(x)) == 251 for x in seen)
    assert all((a != b).all() for i, a in enumerate(seen) for b in seen[:i])
