"""Comparison of estimated with true errors of seismograms on problems with a known solution.

Measures how many estimates are within a factor of two of the true error, and the cost of the estimate.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from faultwave.base.types import Settings
from faultwave.bench.accuracy.problem import Array, Setting, velocity
from faultwave.bench.accuracy.problems import full_space, layered
from faultwave.case.load import load_case
from faultwave.case.native import load_native
from faultwave.observe.dataset import Dataset, receivers_from_arrays
from faultwave.observe.error_estimates import estimated, middle, motion_errors, percent
from faultwave.run import simulate
from faultwave.run.coarser import coarser
from faultwave.run.errors import known_errors
from faultwave.verify.scec.benchmark import Domain, Resolution, find
from faultwave.verify.scec.folder import write_case

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from faultwave.case.settings.model import Case
    from faultwave.run.session import Session

FACTOR = 2.0
"""Factor between estimate and true error within which an estimate counts as correct."""


@dataclass(frozen=True)
class Compared:
    """True and estimated relative errors of the seismograms of one run.

    Attributes
    ----------
    problem : str
    setting : Setting
    true, estimated : ndarray, shape (n,)
        Relative errors of the receivers.
    cost : float
        Processor time of stepping with the runs for the estimate, relative to the run alone.
    """

    problem: str
    setting: Setting
    true: Array
    estimated: Array
    cost: float

    @property
    def within(self) -> float:
        """Fraction of the receivers whose estimate is within a factor of two."""
        return float(np.mean(np.abs(np.log(self.estimated / self.true)) <= np.log(FACTOR)))


@dataclass(frozen=True)
class Truth:
    """Problem with a known solution on which estimates are tested.

    Attributes
    ----------
    case_of : callable
        Function of a setting that returns a context with the case as a dictionary.
    expected : callable
        Function that returns times (nt,), all of them sample times of the run, and the exact velocities (nr, nt, 3).
    settings : tuple of Setting
        Settings to run.
    """

    case_of: Callable[[Setting], AbstractContextManager[Settings]]
    expected: Callable[[], tuple[Array, Array]]
    settings: tuple[Setting, ...]


def compared(name: str, truth: Truth, setting: Setting) -> Compared:
    """Run a setting and its two coarser runs, and compare the estimated errors with the true ones."""
    times, exact = truth.expected()
    with truth.case_of(setting) as settings:
        case, problems = load_case(settings, {"threads": 1})
        problems.raise_errors()
        assert case is not None  # it is None only where there are errors
        lower = coarser(case)
        ours, *seconds = _run(case)
        assert ours.receivers is not None
        until = lower.until(middle(ours.receivers), case.end_time)
        sessions, others = zip(*(_run(*each) for each in zip(lower.cases, until, strict=True)), strict=True)
    runs = [_velocities(session, times) for session in (ours, *sessions)]
    found = motion_errors(
        estimated(runs[0], runs[1:], lower.method, lower.description, known_errors(sessions[0], lower))
    )
    assert found is not None  # velocities were recorded
    wrong = velocity(runs[0]) - exact
    true = np.sqrt((wrong**2).sum((1, 2)) / (exact**2).sum((1, 2)))
    return Compared(name, setting, true, found, 1.0 + sum(others) / seconds[0])


def _run(case: Case | Settings, until: float | None = None) -> tuple[Session, float]:
    """Run a case to its end or ``until`` [s]; return the session and the processor time of stepping [s]."""
    session = simulate(case)
    before = time.process_time()
    session.run(until=until, write=False)
    return session, time.process_time() - before


def _velocities(session: Session, times: Array) -> Dataset:
    """Return the velocities at those ``times`` that the run has reached."""
    data = session.receivers
    assert data is not None
    times = times[times < data["time"][-1] + 1e-6]
    retained = np.searchsorted(data["time"], times - 1e-6)
    names = ["v1", "v2", "v3"]
    columns = [data.quantities.index(name) for name in names]
    return receivers_from_arrays(times, data["values"][retained][..., columns], names, data["location"])


def measure(truths: Mapping[str, Truth], say: Callable[[str], None]) -> list[Compared]:
    """Return the comparison of every setting of every problem."""
    found = []
    for name, truth in truths.items():
        for setting in truth.settings:
            say(f"{name}: {setting.engine}, order {setting.order}, {setting.size}")
            found.append(compared(name, truth, setting))
    return found


def rows(found: Sequence[Compared]) -> list[tuple[str, ...]]:
    """Return a row per run: true and estimated errors (root mean square over receivers), fraction within a factor of two, cost."""
    return [
        (
            c.problem, f"{c.setting.engine}, order {c.setting.order}, {c.setting.size}", str(len(c.true)), _percent(c.true),
            _percent(c.estimated), f"{100 * c.within:.0f} %", f"{c.cost:.2f}",
        )
        for c in found
    ]  # fmt: skip


def within(found: Sequence[Compared]) -> float:
    """Return the fraction of all receivers of all runs whose estimate is within a factor of two."""
    counts = [len(c.true) for c in found]
    return float(np.average([c.within for c in found], weights=counts))


HEADER = ("problem", "run", "receivers", "true error", "estimated", "within a factor of 2", "cost of both")


def _percent(errors: Array) -> str:
    return f"{percent(np.sqrt(np.mean(errors**2)))} %"


# ---- problems -----------------------------------------------------------------------------------------------------

TPV5_END, TPV5_EDGE, TPV5_FINEST = 2.5, 12_000.0, Setting("dg", 5, 30, "single")
_random = np.random.default_rng(5)
TPV5_POINTS = np.stack(
    [_random.uniform(-3e3, 3e3, 12), np.array([-1, 1] * 6) * _random.uniform(600, 3e3, 12), -_random.uniform(4500, 11e3, 12)], 1
)  # fmt: skip
"""Receivers on both sides of TPV5's fault, near the nucleation."""


FACE = 1500.0
"""Depth [m] of the top of the lower block of LOH.1 on two blocks, below the layer and above the source."""


@contextmanager
def on_blocks(setting: Setting) -> Iterator[Settings]:
    """Yield LOH.1 with twice the grid spacing below the layer."""
    with layered.case_of(setting) as case:
        grid = case["grid"]
        yield {**case, "grid": {**grid, "blocks": [{"below": FACE, "spacing": 2.0 * grid["spacing"]}]}}


@contextmanager
def tpv5_case(setting: Setting) -> Iterator[Settings]:
    """Yield TPV5 until the rupture front has propagated a few kilometres."""
    tpv5 = find("tpv5")
    near = replace(tpv5, stations={"main": ((0.0, 7.5e3),)}, domain=Domain(margin=12e3, far_size=4e3))
    resolution = Resolution(TPV5_EDGE / setting.size, setting.order, TPV5_END, setting.precision, reach=4000.0)
    with tempfile.TemporaryDirectory(prefix="faultwave-bench-") as folder:
        read, problems = load_native(write_case(near, resolution, Path(folder)), {})
        problems.raise_errors()
        assert read is not None
        output = {"receivers": {"points": TPV5_POINTS.tolist(), "interval": 0.01}}
        yield {**read.model_dump(exclude_unset=True), "output": output}


@cache
def tpv5_expected() -> tuple[Array, Array]:
    """Return times and velocities of the finest run."""
    times = 0.01 * np.arange(round(TPV5_END / 0.01) + 1)
    with tpv5_case(TPV5_FINEST) as settings:
        case, _ = load_case(settings, {"threads": 1})
        assert case is not None
        return times, velocity(_velocities(_run(case)[0], times))


def _all(
    engine: Literal["dg", "fd"], listed: Sequence[tuple[int, int]], precision: str = "double"
) -> tuple[Setting, ...]:
    return tuple(Setting(engine, order, size, precision) for order, size in listed)


TRUTHS = {
    "full-space": Truth(
        lambda setting: nullcontext(full_space.case_of(setting)),
        lambda: full_space.expected(whole=True),
        (*_all("dg", [(4, 5), (4, 7), (5, 4), (5, 6), (6, 4)]), *_all("fd", [(4, 30), (4, 40)], "single")),
    ),
    "loh1": Truth(
        layered.case_of,
        layered.expected,
        (*_all("dg", [(4, 1), (5, 1), (6, 1), (4, 2)]), *_all("fd", [(4, 12), (4, 20)], "single")),
    ),
    "loh1-blocks": Truth(on_blocks, layered.expected, _all("fd", [(4, 16), (4, 20)], "single")),
    "tpv5": Truth(tpv5_case, tpv5_expected, _all("dg", [(4, 12), (4, 18), (5, 12)])),
}
"""Problems with a known solution, by name."""
