"""Whether the halo exchange of a run on devices is GPU-aware. Started by itself, this is the test that a child process makes:
``python -P -m faultwave.engine.halo BACKEND NUMBER``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from faultwave import backends
from faultwave.base.errors import InputError, Problem
from faultwave.comm import World
from faultwave.comm.gpu_aware import HaloPath, find, try_alone
from faultwave.engine.backend import ON_HOST


def halo_path(world: World, asked: str, device: Any, partners: Sequence[int], name: str = "host") -> HaloPath | None:
    """How messages travel. ``asked``: numerics.halo; ``device``: of this process, None where it computes in the host's memory, as ``name``
    does: then MPI takes messages from there; ``partners``: processes that it exchanges messages with. All processes must ask. Raises
    InputError where they compute with different backends or were asked for different paths, and where direct is asked for and cannot be."""
    kind = name if device is None else device.target.dialect
    found = world.mpi.allgather((kind, asked))
    # Different backends round differently, and the others would wait for a device's test.
    _check_equal(world, "numerics.backend", [k for k, _ in found])
    _check_equal(world, "numerics.halo", [a for _, a in found])
    if device is None:
        if asked == "direct":
            raise world.raised_by_all(InputError(Problem("numerics.halo", ON_HOST, "auto, host")))
        return None
    command = [sys.executable, "-P", "-m", "faultwave.engine.halo", kind, str(world.local_rank)]
    return find(world, asked, device, command, sorted(set(partners)))


def _check_equal(world: World, where: str, found: Sequence[str]) -> None:
    """Raise InputError where processes were given different values."""
    if len(set(found)) > 1:
        ranks = {value: [str(r) for r, v in enumerate(found) if v == value] for value in dict.fromkeys(found)}
        listed = "; ".join(f"{value} on {', '.join(r[:8])}{' ...' if len(r) > 8 else ''}" for value, r in ranks.items())
        what = f"processes of one run were given different ones, or found different devices: {listed}"
        advice = (
            "Give every process the same options; name the backend instead of 'auto' to see what one of them lacks."
        )
        raise world.raised_by_all(InputError(Problem(where, what, "one for all processes", advice)))


def main(kind: str, number: str) -> int:
    """Exit code 0 where a message of a device's memory came to itself. ``number``: of the process among those on its machine."""
    device: Any = backends.make(kind, place=int(number)).device  # type: ignore[attr-defined]
    return 0 if try_alone(device) else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
