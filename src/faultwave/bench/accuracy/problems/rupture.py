"""Rupture times of TPV5 compared with a finer run: root mean square difference [s] over the area that ruptured.

Runs cover the first 2.5 s on a fault whose elements grow in size beyond the distance that the rupture front reaches by then. Points are
counted in the cohesive zone of Day et al. (2005): its length divided by edge / order.
"""

from __future__ import annotations

import functools
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from faultwave.bench.accuracy.problem import AccuracyProblem, Point, Setting
from faultwave.run import simulate
from faultwave.verify.scec import measure
from faultwave.verify.scec.benchmark import Domain, Resolution, find
from faultwave.verify.scec.folder import write_case

END, REACH, PIECES = 2.5, 4000.0, 12_000.0
"""End time [s], distance [m] from the hypocentre that the front does not reach by then, and length [m] divided by the size of a setting."""
FINEST = Setting("dg", 5, 64, "double")
"""Setting of the reference run."""
ZONE = 828.0
"""Cohesive zone length [m] in plane: 9 pi / 32 mu d_c / ((1 - nu) (strength drop))."""


def edge(setting: Setting) -> float:
    """Return the edge length [m] of the elements on the fault."""
    return PIECES / setting.size


def points(setting: Setting) -> float:
    """Return the number of points in the cohesive zone."""
    return ZONE * setting.order / edge(setting)


def rupture(setting: Setting) -> tuple[measure.Rupture, float, float]:
    """Return the rupture times, the processor time of stepping [s] and the number of cell updates."""
    tpv5 = find("tpv5")
    near = replace(tpv5, stations={"main": ((0.0, 7.5e3),)}, domain=Domain(margin=12e3, far_size=4e3))
    resolution = Resolution(edge(setting), setting.order, END, setting.precision, reach=REACH)
    with tempfile.TemporaryDirectory(prefix="faultwave-bench-") as folder:
        place = Path(folder)
        sim = simulate(write_case(near, resolution, place), force=True, output=place / "results", threads=1)
        before = time.process_time()
        sim.run()
        seconds = time.process_time() - before
        found = measure.read_ruptures(near, place)["main"]
        return found, seconds, float(getattr(sim.solver, "updates", 0))


@functools.cache
def finest() -> measure.Rupture:
    """Return the rupture times of the reference run."""
    return rupture(FINEST)[0]


def run(setting: Setting) -> Point:
    """Return the point with the difference of rupture times from the reference run."""
    found, seconds, updates = rupture(setting)
    difference, _ = measure.differences(found, finest(), edge(FINEST))
    return Point(setting, points(setting), seconds, updates, (difference,))


SIZES = (12, 16, 20, 27, 36, 48)
RUPTURE = AccuracyProblem(
    name="tpv5",
    title="rupture times of TPV5, against order 5 on edges of 190 m",
    distances=(END,),
    volume_time=1.0,
    points=points,
    run=run,
    ladders={("dg", 4, "single"): SIZES, **{("dg", order, "double"): SIZES for order in (2, 3, 4, 5, 6)}},
    levels=(0.05, 0.02, 0.01),
    unit="s",
    needs="gmsh",
    budgets=4.0,
)
