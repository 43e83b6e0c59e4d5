"""Energy that the machines of a run consume, from the counters of their processors (RAPL).

Linux offers the counters as files below ``/sys/class/powercap`` [1]_. They count for a whole machine, other programs included, so
one process of each machine reads them. They wrap around after a few minutes of full load at the earliest, so they are read
repeatedly.

References
----------
.. [1] Power Capping Framework, documentation of the Linux kernel, ``Documentation/power/powercap/powercap.rst``.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from faultwave.base.types import Settings
from faultwave.comm import World

POWERCAP = Path("/sys/class/powercap")

ZONES = "intel-rapl:*"
"""Zones of the counters, those of AMD processors included; the zones ``intel-rapl-mmio`` count the same energy again."""

PACKAGE, DRAM = "package", "dram"
"""Domains that are added up. Cores and graphics are parts of a package, and ``psys`` contains everything again."""

PERMIT = (
    "who can permit it until the next restart of the machine with: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"
)

INTERVAL = 20.0
"""Time between two readings [s]. A counter of 65 kJ, the smallest known, would have to run at 3 kW to wrap around in it."""


class Unreadable(Exception):
    """Raised if a counter cannot be read."""


@dataclass
class Counter:
    """Counter of one domain.

    Attributes
    ----------
    domain : str
        'package' or 'dram'.
    path : Path
        File with the reading [uJ].
    reach : int
        Reading at which the counter wraps around to zero [uJ].
    last : int
        Last reading [uJ].
    total : int
        Energy since ``start`` [uJ].
    """

    domain: str
    path: Path
    reach: int
    last: int = 0
    total: int = 0

    def read(self) -> int:
        """Return the present reading [uJ]. Raises Unreadable."""
        return read_number(self.path)

    def start(self) -> None:
        """Count from now on. Raises Unreadable."""
        self.last, self.total = self.read(), 0

    def update(self) -> None:
        """Add the energy since the last reading. Raises Unreadable."""
        now = self.read()
        self.total += now - self.last + (self.reach if now < self.last else 0)
        self.last = now


def read_number(path: Path) -> int:
    """Return the number in a file. Raises Unreadable with the reason."""
    text = ""
    try:
        text = path.read_text().strip()
        return int(text)
    except PermissionError:
        raise Unreadable(f"{path} is readable only by the administrator, {PERMIT}") from None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise Unreadable(f"{path} contains {text[:20]!r} instead of a number") from None


def find_counters(root: Path = POWERCAP) -> list[Counter]:
    """Return the counters of this machine, none if it has no RAPL. Raises Unreadable."""
    found = []
    for zone in sorted(root.glob(ZONES)):
        try:
            name = (zone / "name").read_text().strip()
        except OSError:
            continue
        domain = next((domain for domain in (PACKAGE, DRAM) if name == domain or name.startswith(f"{domain}-")), None)
        if domain is not None:
            found.append(Counter(domain, zone / "energy_uj", read_number(zone / "max_energy_range_uj")))
    return found


@dataclass(frozen=True)
class EnergyUse:
    """Energy of the steps of a run.

    Attributes
    ----------
    joules : dict of str to float
        Energy of each domain, summed over the machines [J]; empty if it was not measured.
    machines : int
        Number of machines.
    updates : float
        Cell or point updates of these steps.
    reason : str
        Reason why nothing was measured, for the user.
    """

    joules: dict[str, float]
    machines: int
    updates: float = 0.0
    reason: str = ""

    @property
    def total(self) -> float:
        """Energy of all domains [J]."""
        return sum(self.joules.values())

    def manifest(self) -> Settings:
        """Return the entry of the manifest."""
        if self.reason:
            return {"not_measured": self.reason}
        per_joule = {"updates_per_joule": self.updates / self.total} if self.total > 0 else {}
        return {"joules": self.total, "domains": self.joules, "machines": self.machines, **per_joule}

    def line(self) -> str:
        """Return the line of the run's summary."""
        if self.reason:
            return f"energy not measured: {self.reason}"
        domains = ", ".join(f"{name} {joules:.4g}" for name, joules in self.joules.items())
        rate = f", {self.updates / self.total:,.4g} updates/J" if self.total > 0 else ""
        machines = "the machine" if self.machines == 1 else f"{self.machines} machines"
        return f"energy of {machines} during the steps, other programs included: {self.total:.4g} J ({domains}){rate}"


class EnergyMeter:
    """Meter of the energy that the machines of a run consume.

    Parameters
    ----------
    world : World
        Processes of the run.
    root : Path
        Folder with the counters.
    interval : float
        Time between two readings [s].

    Attributes
    ----------
    used : EnergyUse or None
        Energy of the last run, on process 0; None if no machine has counters.
    """

    def __init__(self, world: World, root: Path = POWERCAP, interval: float = INTERVAL):
        self.world, self.root, self.interval = world, root, interval
        self.used: EnergyUse | None = None
        self.counters: Sequence[Counter] = ()
        self.reason = ""
        self._done = threading.Event()

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Measure inside the context; ``collect`` then adds up what the machines have consumed."""
        self._start()
        thread = threading.Thread(target=self._watch, name="faultwave-energy", daemon=True)
        if self.counters:
            thread.start()
        try:
            yield
        finally:
            self._done.set()
            if self.counters:
                thread.join()
            self._try(self._update)

    def _start(self) -> None:
        self._done.clear()
        self.counters, self.reason = (), ""
        if self.world.local_rank == 0:
            self._try(self._find)

    def _find(self) -> None:
        found = find_counters(self.root)
        for counter in found:
            counter.start()
        self.counters = found

    def _update(self) -> None:
        for counter in self.counters:
            counter.update()

    def _try(self, action: Callable[[], None]) -> None:
        """Read counters; the first that cannot be read ends the measurement, because a part of the energy would mislead."""
        if self.reason:
            return
        try:
            action()
        except Unreadable as error:
            self.reason = str(error)

    def _watch(self) -> None:
        while not self._done.wait(self.interval):
            self._try(self._update)

    def collect(self, updates: float) -> None:
        """Add up the energy of all machines on process 0 (collective).

        Parameters
        ----------
        updates : float
            Cell or point updates of all processes in the time of the measurement.
        """
        here = (platform.node(), self.reason, [(c.domain, c.total) for c in self.counters]) if self._reads else None
        found = [one for one in self.world.gather(here) or [] if one is not None]
        reasons = [(node, reason) for node, reason, _ in found if reason]
        self.used = None
        if reasons:
            node, reason = reasons[0]
            self.used = EnergyUse({}, len(found), updates, reason if len(found) == 1 else f"{node}: {reason}")
        elif found and any(counters for *_, counters in found):
            lacking = [node for node, _, counters in found if not counters]
            joules: dict[str, float] = {}
            for *_, counters in found:
                for domain, total in counters:
                    joules[domain] = joules.get(domain, 0.0) + 1e-6 * total
            reason = f"{lacking[0]} has no counters" if lacking else ""
            self.used = EnergyUse({} if lacking else joules, len(found), updates, reason)

    @property
    def _reads(self) -> bool:
        return self.world.local_rank == 0
