"""Callbacks of the capabilities at their positions in the steps of clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import get_args

import numpy as np

from faultwave.engine.capability import Callback, Capability, When
from faultwave.engine.timeline import Timeline

Event = tuple[Callback, int, float, float]
"""Callback that launched a kernel, with its cluster, time and step."""


class StepCallbacks:
    """Callbacks of a run.

    Attributes
    ----------
    by_position : dict of When to list of Callback
        All callbacks by their position in the step.
    by_cluster : list of dict
        The same for the steps of each cluster.
    """

    def __init__(
        self,
        capabilities: Mapping[str, Capability],
        further: list[Callback],
        clusters: int,
        timeline: Timeline,
        skips_idle: bool,
    ):
        """Collect the callbacks.

        Parameters
        ----------
        capabilities : mapping of str to Capability
            Attached capabilities.
        further : list of Callback
            Callbacks of the solver itself, which act after those of capabilities.
        clusters : int
            Number of clusters.
        timeline : Timeline
            Timer of the run.
        skips_idle : bool
            Omit calls before they are due. False if recorded steps must be identical to be replayed.
        """
        self._capabilities, self._further, self._clusters = capabilities, further, range(clusters)
        self._timeline, self._skips_idle = timeline, skips_idle
        self._events: list[Event] | None = None  # while events are recorded
        self.refresh()

    def refresh(self) -> None:
        """Collect the callbacks of the capabilities in their present state."""
        found = [call for part in self._capabilities.values() for call in part.callbacks] + self._further
        self.by_position: dict[When, list[Callback]] = {
            when: [c for c in found if c.when == when] for when in get_args(When)
        }
        self.by_cluster = [
            {
                when: [c for c in listed if c.clusters is None or i in c.clusters]
                for when, listed in self.by_position.items()
            }
            for i in self._clusters
        ]
        self._intermediate = [c.needs_intermediate_state for c in found if c.needs_intermediate_state is not None]
        self._intermediate_due = [c.next_due for c in found if c.needs_intermediate_state is not None]
        # For each cluster: steps that end before this time need no callback, or no intermediate state.
        self._idle_until: list[dict[When, float]] = [dict.fromkeys(self.by_position, -np.inf) for _ in self._clusters]
        self._whole_until = [-np.inf for _ in self._clusters]

    def any(self, when: When, cluster: int) -> bool:
        """Return True if a cluster has callbacks at this position."""
        return bool(self.by_cluster[cluster][when])

    def call(self, when: When, section: str, cluster: int, time: float, step: float) -> None:
        """Perform the callbacks of a cluster's step from ``time`` and count them for a section of the timeline."""
        listed = self.by_cluster[cluster][when]
        if not listed or time + step < self._idle_until[cluster][when]:
            return
        self._timeline.start_timer(section, cluster)
        for call in listed:
            if call.act(cluster, time, step) is not False and self._events is not None and call.on_device is not None:
                self._events.append((call, cluster, time, step))
        if self._skips_idle:
            self._idle_until[cluster][when] = min([call.next_due(cluster) for call in listed])

    def need_intermediate_state(self, cluster: int, time: float, step: float) -> bool:
        """Return True if a callback needs the state between the correction that ends at ``time`` and the next prediction."""
        if time + step < self._whole_until[cluster]:
            return False
        found = any(needs(cluster, time, step) for needs in self._intermediate)
        due = [next_due(cluster) for next_due in self._intermediate_due]
        self._whole_until[cluster] = -np.inf if found else min(due, default=np.inf)
        return found

    @contextmanager
    def recording(self) -> Iterator[list[Event]]:
        """Record the callbacks that launch kernels inside the context."""
        self._events = []
        try:
            yield self._events
        finally:
            self._events = None
