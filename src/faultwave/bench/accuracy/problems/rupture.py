"""TPV5's rupture times against those of a finer run: how far off they are, in seconds, root mean square over the part that broke.

The first two and a half seconds, on a fault whose elements grow beyond the reach of the front by then. Points are those in the cohesive
zone as Day et al. (2005) estimate it: edge / order goes into it so often.
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
"""End [s], distance [m] from the start that the front does not reach by then, length [m] over which sizes are counted."""
FINEST = Setting("dg", 5, 64, "double")
"""The run that the others are compared with."""
ZONE = 828.0
"""[m]: 9 pi / 32 mu d_c / ((1 - nu) (strength drop)), in plane."""


def edge(setting: Setting) -> float:
    """Of elements on the fault [m]."""
    return PIECES / setting.size


def points(setting: Setting) -> float:
    """Points in the cohesive zone."""
    return ZONE * setting.order / edge(setting)


def rupture(setting: Setting) -> tuple[measure.Rupture, float, float]:
    """Rupture times, processor time of stepping [s], cell updates."""
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
    """Of the run that the others are compared with."""
    return rupture(FINEST)[0]


def run(setting: Setting) -> Point:
    """The difference of rupture times."""
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
