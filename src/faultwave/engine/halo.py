"""How messages between the devices of a run go; started by itself, the test that a child process makes: ``python -m faultwave.engine.halo
BACKEND PLACE``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from faultwave import backends
from faultwave.base.errors import InputError, Problem
from faultwave.comm import World
from faultwave.comm.aware import Way, find, try_alone
from faultwave.engine.backend import ON_HOST


def way(world: World, asked: str, device: Any, partners: Sequence[int], name: str = "host") -> Way | None:
    """``asked``: numerics.halo; ``device``: of this process, None where it computes in the host's memory, as ``name`` does: then there is
    but one way; ``partners``: processes that it exchanges messages with. All processes must ask. Raises InputError where they compute
    with different backends or were asked for different ways, and where direct is asked for and cannot be."""
    kind = name if device is None else device.target.dialect
    found = world.mpi.allgather((kind, asked))
    _alike(
        world, "numerics.backend", [k for k, _ in found]
    )  # they round differently, and the others would wait for a device's test
    _alike(world, "numerics.halo", [a for _, a in found])
    if device is None:
        if asked == "direct":
            raise world.everyones(InputError(Problem("numerics.halo", ON_HOST, "auto, host")))
        return None
    command = [sys.executable, "-m", "faultwave.engine.halo", kind, str(world.place)]
    return find(world, asked, device, command, sorted(set(partners)))


def _alike(world: World, where: str, found: Sequence[str]) -> None:
    if len(set(found)) > 1:
        ranks = {value: [str(r) for r, v in enumerate(found) if v == value] for value in dict.fromkeys(found)}
        told = "; ".join(f"{value} on {', '.join(r[:8])}{' ...' if len(r) > 8 else ''}" for value, r in ranks.items())
        what = f"processes of one run were given different ones, or found different devices: {told}"
        advice = (
            "Give every process the same options; name the backend instead of 'auto' to see what one of them lacks."
        )
        raise world.everyones(InputError(Problem(where, what, "one for all processes", advice)))


def main(kind: str, place: str) -> int:
    """Exit code 0 where a message of a device's memory came to itself."""
    device: Any = backends.make(kind, place=int(place)).device  # type: ignore[attr-defined]
    return 0 if try_alone(device) else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
