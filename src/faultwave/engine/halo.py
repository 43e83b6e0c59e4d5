"""Choice of the halo exchange of runs on devices: GPU-aware MPI or copies through the host.

As a program, ``python -P -m faultwave.engine.halo BACKEND NUMBER`` is the GPU-awareness test that runs in a child process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Protocol

from faultwave import backends
from faultwave.base.errors import InputError, Problem
from faultwave.comm import World
from faultwave.comm.gpu_aware import DeviceMemoryProvider, HaloPath, choose_halo_path, try_alone
from faultwave.engine.checks import DIRECT_NEEDS_DEVICE


class Target(Protocol):
    """Kind of device that kernels are compiled for."""

    @property
    def dialect(self) -> str:
        """Name of the backend."""


class Device(DeviceMemoryProvider, Protocol):
    """Device of a process."""

    @property
    def target(self) -> Target: ...


def halo_path(
    world: World, requested: str, device: Device | None, partners: Sequence[int], name: str = "host"
) -> HaloPath | None:
    """Determine how halo messages travel between processes (collective).

    Parameters
    ----------
    world : World
        Processes of the run.
    requested : {'auto', 'direct', 'host'}
        Requested path, ``numerics.halo``.
    device : Device or None
        Device of this process, None if it computes in host memory.
    partners : sequence of int
        Ranks that this process exchanges messages with.
    name : str
        Name of the host backend, used if ``device`` is None.

    Returns
    -------
    HaloPath or None
        Chosen path with its reason; None on host backends, where MPI reads host memory directly.

    Raises
    ------
    InputError
        If processes have different backends or requested paths, or if ``direct`` is requested and impossible.
    """
    kind = name if device is None else device.target.dialect
    found = world.mpi.allgather((kind, requested))
    # Different backends round differently, and the others would wait for a device's test.
    _check_equal(world, "numerics.backend", [k for k, _ in found])
    _check_equal(world, "numerics.halo", [a for _, a in found])
    if device is None:
        if requested == "direct":
            raise world.mark_raised_everywhere(InputError(Problem("numerics.halo", DIRECT_NEEDS_DEVICE, "auto, host")))
        return None
    command = [sys.executable, "-P", "-m", "faultwave.engine.halo", kind, str(world.device_number)]
    return choose_halo_path(world, requested, device, command, sorted(set(partners)))


def _check_equal(world: World, where: str, found: Sequence[str]) -> None:
    """Raise InputError if the processes have different values of a setting."""
    if len(set(found)) > 1:
        ranks = {value: [str(r) for r, v in enumerate(found) if v == value] for value in dict.fromkeys(found)}
        listed = "; ".join(f"{value} on {', '.join(r[:8])}{' ...' if len(r) > 8 else ''}" for value, r in ranks.items())
        what = f"the processes of one run have different settings or different devices: {listed}"
        advice = (
            "Use the same options on every process; select the backend explicitly instead of 'auto' to find "
            "out which process lacks it."
        )
        raise world.mark_raised_everywhere(InputError(Problem(where, what, "one for all processes", advice)))


def main(kind: str, number: str) -> int:
    """Return 0 if the device of this process can send a message to itself, else 1.

    Parameters
    ----------
    kind : str
        Name of the backend.
    number : str
        Rank of the process among those on its machine, which selects the device.
    """
    device = backends.make(kind, place=int(number)).device
    return 0 if device is not None and try_alone(device) else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
