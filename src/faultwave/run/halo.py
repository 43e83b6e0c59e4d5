"""How messages between the devices of a run go; started by itself, the test that a child process makes: ``python -m faultwave.run.halo
BACKEND PLACE``."""

from __future__ import annotations

import functools
import sys
from typing import Any

from faultwave import backends
from faultwave.base.errors import InputError, Problem
from faultwave.comm import World
from faultwave.comm.aware import Way, find, try_alone


@functools.cache
def way(world: World, asked: str, device: Any) -> Way | None:
    """``asked``: numerics.halo; ``device``: of this process, None where it computes in the host's memory: then there is but one way.
    All processes must ask. Raises InputError where direct is asked for and cannot be."""
    if device is None:
        if asked == "direct":
            what = "direct is for devices, and this backend computes in the host's memory, where MPI takes messages from as it is"
            raise world.everyones(InputError(Problem("numerics.halo", what, "auto, host")))
        return None
    command = [sys.executable, "-m", "faultwave.run.halo", device.target.dialect, str(world.place)]
    return find(world, asked, device, command)


def main(kind: str, place: str) -> int:
    """Exit code 0 where a message of a device's memory came to itself."""
    device: Any = backends.make(kind, place=int(place)).device  # type: ignore[attr-defined]
    return 0 if try_alone(device) else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
