"""Device that is not present: kernels are planned for it and memory is counted, but nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.backends.device.backend import DeviceBackend
from faultwave.backends.device.calls import Arguments, Call, Function, Memory
from faultwave.backends.device.messages import Staged
from faultwave.backends.device.target import Target

MUCH = 1 << 50  # [bytes] memory is counted, and never refused


class Done:
    """Event that has already happened."""

    done = True

    def wait(self) -> None: ...


class AbsentDevice:
    """Device on which every number is zero and nothing is computed."""

    failures: tuple[type[Exception], ...] = ()

    def __init__(self, target: Target):
        self.target, self.name = target, f"{target.device} ({target.name}), which is not present on this machine"

    def free_memory(self) -> int:
        return MUCH

    def allocate(self, size: int) -> Memory:
        return None

    def upload(self, memory: Memory, values: np.ndarray) -> None: ...

    def download(self, memory: Memory, values: np.ndarray) -> None:
        values[...] = 0

    def pinned(self, size: int) -> np.ndarray:
        return np.zeros(size, np.uint8)

    def bring(self, memory: Memory, into: np.ndarray) -> Done:
        into[...] = 0
        return Done()

    def send(self, memory: Memory, values: np.ndarray) -> Done:
        return Done()

    def why_not_gpu_aware(self) -> str:
        return f"{self.name} is not present on this machine"

    def gpu_aware_buffer(self, size: int) -> Staged:
        return Staged(self, size)

    def attach(self) -> None: ...

    def build(self, text: str, names: list[str], shared: int | None) -> dict[str, Function]:
        return dict.fromkeys(names)

    def launch(self, function: Function, groups: int, threads: int, arguments: Arguments) -> None: ...

    def graph(self, calls: Sequence[Call]) -> Callable[[], None]:
        return self.finish

    def mark(self) -> Done:
        return Done()

    def finish(self) -> None: ...


def backend(target: Target, precision: str = "double") -> DeviceBackend:
    """Return a backend that plans kernels and counts memory for a processor that is not present.

    Raises
    ------
    BackendError
        When a kernel is compiled that does not fit into the shared memory of the processor.
    """
    return DeviceBackend(target.dialect, AbsentDevice(target), precision)
