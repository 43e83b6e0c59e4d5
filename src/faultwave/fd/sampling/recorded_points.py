"""Checkpointing and gathering of samples at points that several processes share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.comm import World
from faultwave.comm.gather import collect
from faultwave.engine.capability import RestoredFrom, State
from faultwave.observe.series import SeriesRecorder


def checkpoint_state(recorder: SeriesRecorder, mine: np.ndarray) -> Mapping[str, State]:
    """Return the checkpoint entries of the points ``mine`` (n,) of this process."""
    retained = recorder.state()

    def restore(values: np.ndarray, origin: RestoredFrom) -> None:
        series = {name: origin.arrays[name].swapaxes(0, 1) for name in ("samples", "last")}
        recorder.restore(series | {"count": origin.arrays["count"]})

    def ignore(values: np.ndarray, origin: RestoredFrom) -> None:
        """Do nothing: ``restore`` writes these values together with the samples."""

    return {
        "last": State(mine, lambda: retained["last"].swapaxes(0, 1), ignore),
        "count": State(None, lambda: retained["count"], ignore),
        "samples": State(mine, lambda: retained["samples"].swapaxes(0, 1), restore),
    }


def gather_series(
    recorder: SeriesRecorder, mine: np.ndarray, count: int, world: World
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return times (nt,) [s] and samples (nt, count, channels, Q) of the points of all processes.

    None except on the first.
    """
    time, values = recorder.arrays()
    if world.size > 1:
        found = collect(world, mine, [values.swapaxes(0, 1)], count)
        if found is None:
            return None
        values = found[0].swapaxes(0, 1)
    return time, values


__all__ = ["gather_series", "checkpoint_state"]
