"""Stencil proxy: grid point updates per second of the engine fd on a box of one material, and the memory bandwidth measured with it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np

from faultwave.backends.cpu.stencil import StencilRunner, candidates
from faultwave.base.errors import Problems
from faultwave.base.processes.host import machine_memory
from faultwave.bench.proxy import facts
from faultwave.bench.report import Section
from faultwave.bench.results import Measured, check_counts
from faultwave.bench.rooflines.roofs import Roofs
from faultwave.fd.capabilities.receivers import PointSampler
from faultwave.fd.method import stencils
from faultwave.fd.method.absorbing import Absorber, AbsorberKind
from faultwave.fd.method.effective_medium import Medium
from faultwave.fd.method.grid import SIDES, Grid, SideKind
from faultwave.fd.method.program import fields, point_nbytes
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.operators.operator import Machine, Operator
from faultwave.kernels.stencil import cost
from faultwave.media.attenuation import Spectrum, relaxation

FORMAT = "faultwave-bench-fd-1"
REPEAT_SECONDS = 1.0
SMALLEST, WIDTH, RECEIVERS = 24, 10, 10
SPACING = 100.0
RHO, VP, VS, Q = 2700.0, 6000.0, 3464.0, 50.0
PUBLISHED_FLOPS = 307
"""Flops per point and step, with attenuation, by which the published rates of AWP-ODC are counted."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """Settings of a measurement of stencils.

    Attributes
    ----------
    cells : tuple of int
        Grid points (nx, ny, nz), including absorbing layers.
    attenuation : bool
        True for viscoelastic rock.
    boundaries : bool
        True for CPML of 10 points, a free surface and receivers; False for rigid sides.
    precision : {"single", "double"}
        Precision of the fields.
    threads, repeats : int
        Number of threads (None: all cores) and of repeats.
    """

    cells: tuple[int, int, int] = (256, 256, 256)
    attenuation: bool = False
    boundaries: bool = False
    precision: str = "single"
    threads: int | None = None
    repeats: int = 5


def check(s: Setting) -> None:
    """Raise InputError with all problems of a setting."""
    problems = Problems()
    if min(s.cells) < SMALLEST:
        problems.error("--cells", f"is {s.cells}", f"at least {SMALLEST} along each axis")
    if s.precision not in ("double", "single"):
        problems.error("--precision", f"'{s.precision}' does not exist", "double, single")
    check_counts(problems, threads=s.threads, repeats=s.repeats)
    problems.raise_errors()
    needed, memory = math.prod(s.cells) * point_nbytes(s.attenuation, s.precision), machine_memory() or float("inf")
    if needed > memory:
        points = " x ".join(map(str, s.cells))
        what = f"{points} points need more than {needed / 2**30:,.3g} GiB, and this machine has {memory / 2**30:.3g}"
        problems.error("--cells", what, advice="Measure fewer.")
    problems.raise_errors()


def operator(s: Setting) -> Operator:
    """Return the operator of a run on the box of ``s``, with nonzero fields everywhere."""
    nx, ny, nz = s.cells
    grid = Grid((0.0, 0.0, 0.0), SPACING, (nz, ny, nx))
    kind = SideKind.ABSORBING if s.boundaries else SideKind.RIGID
    sides: dict[str, SideKind] = dict.fromkeys(SIDES, kind)
    if s.boundaries:
        sides["z+"] = SideKind.FREE_SURFACE
    scheme = Scheme(grid, 0.44 * SPACING / VP, VP, sides, Absorber(AbsorberKind.CPML, WIDTH, 1.0), s.attenuation)
    fitted = relaxation(Spectrum(0.05, 5.0, 1.0)) if s.attenuation else None
    mu = RHO * VS**2
    values = {"lam": RHO * VP**2 - 2 * mu, "mu2": 2 * mu, "mu_xy": mu, "mu_xz": mu, "mu_yz": mu}
    values |= dict.fromkeys(("b_x", "b_y", "b_z"), 1 / RHO)
    if fitted is not None:
        mean = float(fitted.defect(np.full(8, Q), np.arange(8)).mean())
        values |= dict.fromkeys(("defect_p", "defect_s"), mean)
    medium = Medium({k: np.array(v) for k, v in values.items()}, VP, VS, (0.0, 0.0, 0.0), 0.0)
    samplers = [PointSampler(scheme, _receivers(grid), False)] if s.boundaries else []
    made = Operator(scheme, medium, fitted, samplers=samplers, machine=Machine("cpu", s.precision, s.threads))
    noise = np.random.default_rng(0).normal(size=(ny, nx))
    for name in stencils.FIELDS:  # numbers of every size: zeros would be no work for some processors
        made.runner.view(name)[...] = noise * (1e-6 if name in stencils.VELOCITY else 10.0)
    return made


def _receivers(grid: Grid) -> np.ndarray:
    """Return the receivers (n, 3) on the surface."""
    share = (np.arange(RECEIVERS) + 0.5) / RECEIVERS
    x, y, z = grid.upper
    return np.stack([share * x, share[::-1] * y, np.full(RECEIVERS, z)], 1)


def bytes_per_point(attenuation: bool, itemsize: int) -> int:
    """Return the bytes that one sweep moves per point: every array is read once, fields and memory variables are also written."""
    precision = "single" if itemsize == 4 else "double"
    return point_nbytes(attenuation, precision) + itemsize * len(fields(attenuation))


def bench(s: Setting, say: Say = lambda _: None, sweep: int | None = None) -> Measured:
    """Measure a proxy; return plain data (docs/benchmarks.md explains each key) or raise InputError."""
    check(s)
    say("preparing")
    op = operator(s)
    runner = op.runner
    assert isinstance(runner, StencilRunner)
    say("finding the best blocking")
    tried = runner.tune(candidates(runner.arrays, runner.threads))
    roofs = Roofs(s.precision, runner.threads, sweep)
    say("measuring")
    block, points = runner.blocking.steps, op.scheme.grid.box.points
    steps = block * max(1, round(REPEAT_SECONDS / (min(tried.values()) * block)))
    roofs.sample(["copy"])
    roofs.samples.clear()
    rates = []
    for _ in range(s.repeats):
        roofs.sample(["copy"])
        op.advance(block)
        start = time.perf_counter()
        op.advance(steps)
        rates.append(points * steps / (time.perf_counter() - start))
    rate, copies = float(np.median(rates)), np.array(roofs.samples["copy"])
    itemsize = np.dtype(runner.arrays.dtype).itemsize
    moved = bytes_per_point(s.attenuation, itemsize)
    inside = stencils.StencilPlace()
    flops = sum(cost(f)[0] for f in (stencils.velocity(False, inside), stencils.stress(s.attenuation, False, inside)))
    wave = runner.arrays.storage["wave"].nbytes + runner.arrays.storage["medium"].nbytes
    return {
        "format": FORMAT,
        **facts(),
        "setting": asdict(replace(s, threads=runner.threads)),
        "points": points,
        "points_per_second": rate,
        "points_per_second_samples": rates,
        "points_per_second_spread": (max(rates) - min(rates)) / rate,
        "bytes_per_point": moved,
        "copy_bandwidth": roofs.roof("copy").value,
        "copy_bandwidth_spread": roofs.roof("copy").spread,
        "roof_fraction": float(np.median(np.array(rates) * moved / copies)),
        "flops_per_point": flops,
        "flops_per_second": rate * flops,
        "published_flops_per_point": PUBLISHED_FLOPS if s.attenuation else None,
        "published_flops_per_second": rate * PUBLISHED_FLOPS if s.attenuation else None,
        "blocking": asdict(runner.blocking),
        "blockings_tried": [{**asdict(b), "points_per_second": points / t} for b, t in tried.items()],
        "memory_bytes": runner.nbytes,
        "memory_per_point": point_nbytes(s.attenuation, s.precision),
        "memory_per_point_with_halo": wave / points,
    }


def sections(r: Measured) -> list[Section]:
    """Return the result as tables."""
    s, block = r["setting"], r["blocking"]
    what = "with attenuation" if s["attenuation"] else "elastic"
    sides = "CPML, free surface, receivers" if s["boundaries"] else "no boundaries"
    threads = f"{s['threads']} thread{'s' * (s['threads'] > 1)}"
    title = f"{what}, {' x '.join(map(str, s['cells']))} points, {s['precision']}, {sides}, {threads}"
    rows: list[tuple[str, ...]] = [
        ("Mpt/s", f"{1e-6 * r['points_per_second']:.1f}", f"spread {100 * r['points_per_second_spread']:.1f} %"),
        ("bytes a point and sweep", f"{r['bytes_per_point']}", f"{100 * r['roof_fraction']:.0f} % of a copy"),
        ("copy [GB/s]", f"{1e-9 * r['copy_bandwidth']:.2f}", f"spread {100 * r['copy_bandwidth_spread']:.1f} %"),
        ("GFLOP/s", f"{1e-9 * r['flops_per_second']:.1f}", f"{r['flops_per_point']} flops a point"),
        ("blocking", f"{block['steps']} steps in one pass, tiles of {block['rows']} rows", ""),
        ("memory a point", f"{r['memory_per_point']} bytes", f"{r['memory_per_point_with_halo']:.1f} with halo"),
    ]
    if r["published_flops_per_second"]:
        rows.append(
            (
                "GFLOP/s",
                f"{1e-9 * r['published_flops_per_second']:.1f}",
                f"as AWP-ODC counts, {PUBLISHED_FLOPS} a point",
            )
        )
    return [(title, (), rows)]
