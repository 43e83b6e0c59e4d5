"""Blocks of different spacing in the engine fd: energy, reciprocity, accuracy, reflection, and savings below a basin.

* Energy of motion in a heterogeneous material, in double precision: the discrete energy conserved by leapfrog, from stresses at one time
  and the product of velocities half a step before and after. Over 100,000 steps of two small blocks with rigid sides, and over 5,000
  steps of three blocks (spacings as 1 to 2 to 6) with periodic ones.
* Reciprocity through both block interfaces, with attenuation, below a hill: forward runs against strain Green tensors.
* Waves of a double couple above an interface against a uniform grid of the smaller spacing, by points of the larger spacing per S
  wavelength at 2.5 times the peak frequency. The error includes the dispersion of the larger spacing, not only the interface.
* An S wave that rises through an interface: the reflected over the incident amplitude.
* A column in which Vs grows from 300 m/s at the surface to 3,000 m/s at 3.6 km depth, three blocks against one spacing: an S wave rises
  through both, and they are compared with half the spacing. Waves, material and errors depend on z alone, so that columns a few points
  wide represent a basin of any extent; point updates are counted over equal areas.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.base.types import Settings
from faultwave.fd.method.stencils import NORMAL, SHEAR, VELOCITY
from faultwave.fd.operators.operator import Operator
from faultwave.fd.operators.points import norm_weights
from faultwave.green_tensors import green_tensors, seismograms
from faultwave.run import simulate
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_least, at_most
from faultwave.verify.exact import Array

STEPS, LOOKS = {("two", "rigid"): 100_000, ("three", "periodic"): 5_000}, 50
VARIED = {"vp": "3400 - 0.4*z + 0.05*x", "vs": "2000 - 0.2*z + 0.04*y", "rho": "2500 - 0.03*z", "Qp": "60", "Qs": "50"}
NAMES = ("xx", "yy", "zz", "xy", "yz", "xz")
TENSORS = np.array([[4e14, -1e14, 2e14, 1e15, -3e14, 5e14], [0.0, 0.0, 0.0, 1e14, 0.0, -2e14]])
ERRORS = {(2, 6): 2.0, (3, 6): 2.0, (2, 10): 1.0, (3, 10): 1.0}
"""Largest error [%] by ratio of spacings and points per wavelength."""
Fields = dict[str, Array]


class LeapfrogEnergy:
    """Discrete energy of all blocks of a grid that leapfrog conserves [J]."""

    def __init__(self, operator: Operator):
        self.operator, self.blocks = operator, operator.blocks
        self.shares = [self._shares(op) for op in self.blocks]

    def _shares(self, op: Operator) -> tuple[Fields, Array, Fields]:
        """Return the weights of planes in the norm, lambda / (3 lambda + 2 mu), and the inverse of each coefficient."""
        filled = op.scheme.filled(op.subdomain.owned.box)
        planes = np.arange(filled.lo[0], filled.hi[0])
        weight = {n: norm_weights(op.scheme, n, planes)[:, None, None] for n in (*VELOCITY, *NORMAL, *SHEAR)}
        names = ("lam", "mu2", "mu_xy", "mu_xz", "mu_yz", "b_x", "b_y", "b_z")
        made = {n: op.filled_values(n).astype(float) * op.units.of(n) for n in names}
        inverse = {n: np.divide(1.0, v, out=np.zeros_like(v), where=v > 0) for n, v in made.items()}
        return weight, made["lam"] / np.maximum(3 * made["lam"] + made["mu2"], 1e-9), inverse

    def state(self) -> list[Fields]:
        """Return the present fields of every block."""
        return [{n: np.array(op.filled_values(n), float) for n in (*VELOCITY, *NORMAL, *SHEAR)} for op in self.blocks]

    def between(self, before: Sequence[Fields], after: Sequence[Fields]) -> float:
        """Return the energy [J] of two states one step apart."""
        total = 0.0
        for op, a, b, (weight, share, inverse) in zip(self.blocks, before, after, self.shares, strict=True):
            own = sum((weight[n] * a[n] * b[n] * inverse[f"b_{axis}"]).sum() for n, axis in VELOCITY.items())
            square = sum(a[n] ** 2 for n in NORMAL) - share * sum(a[n] for n in NORMAL) ** 2
            square = square * inverse["mu2"] + a["sxx"] ** 2 * inverse["lam"] * (
                inverse["mu2"] == 0
            )  # mu2 is zero in fluids, where only this term contributes
            own += (weight["szz"] * square).sum()
            own += sum((weight[n] * a[n] ** 2 * inverse[f"mu_{n[1:]}"]).sum() for n in SHEAR)
            total += 0.5 * op.scheme.grid.spacing**3 * float(own)
        return total

    def now(self) -> float:
        """Advance by one step and return the energy [J]."""
        before = self.state()
        self.operator.advance(1)
        return self.between(before, self.state())


def three(ground: bool = False, attenuation: bool = False) -> Settings:
    """Return the case of three blocks of spacings 100, 200 and 600 m below a free surface, periodic along x and y."""
    below = (2000.0, 4400.0) if ground else (1400.0, 3800.0)
    grid: Settings = {
        "lower": [0, 0, -below[1] - 4800.0], "upper": [4800, 4800, 200.0 * ground], "spacing": 100.0,
        "blocks": [{"below": below[0], "spacing": 200.0}, {"below": below[1], "spacing": 600.0}],
        "boundaries": {"x": "periodic", "y": "periodic", "z-": "rigid", "z+": "free-surface"},
    }  # fmt: skip
    if ground:
        hill = "60 + 55*sin(x*6.283185307179586/4800)*cos(y*6.283185307179586/4800)"
        grid["topography"] = {"expression": hill, "sources": "elevation", "receivers": "depth"}
    return {
        "engine": "fd", "end_time": 2.0, "material": {"expression": VARIED}, "grid": grid, "sources": [], "output": {},
        "numerics": {"precision": "double"}, **({"attenuation": {}} if attenuation else {}),
    }  # fmt: skip


def two() -> Settings:
    """Return the case of two small blocks of spacings 100 and 200 m below a free surface."""
    made = three()
    made["grid"] |= {
        "lower": [0, 0, -2800.0],
        "upper": [1600, 1600, 0],
        "blocks": [{"below": 1200.0, "spacing": 200.0}],
    }
    return made


def drift(blocks: str, sides: str, steps: int, looks: int = LOOKS) -> float:
    """Return the largest relative change of the energy of random motion.

    Parameters
    ----------
    blocks : str
        'two' or 'three' blocks.
    sides : str
        Boundary condition along x and y.
    steps : int
        Number of time steps.
    looks : int
        Number of times at which the energy is evaluated.
    """
    made = two() if blocks == "two" else three()
    made["grid"]["boundaries"] |= {"x": sides, "y": sides}
    solver = setups.grid_solver(made)
    rng, op = np.random.default_rng(0), solver.operator
    solver.set_initial(lambda x, t: rng.normal(size=(len(x), 9)) * ([0.0] * 6 + [1.0] * 3))
    energy = LeapfrogEnergy(op)
    first, worst = energy.now(), 0.0
    for _ in range(looks):
        op.advance(steps // looks - 1)
        worst = max(worst, abs(energy.now() / first - 1))
    return worst


def reciprocity() -> float:
    """Return the largest difference of velocities between forward runs and strain Green tensors at any step, over the largest."""
    places = ([2905.0, 2610.0, -3220.0], [1905.0, 2210.0, -8250.0])
    sources = [
        {"kind": "moment-tensor", "location": place, "tensor": dict(zip(NAMES, tensor, strict=True)),
         "time_function": {"kind": "gaussian", "duration": 0.1}} for place, tensor in zip(places, TENSORS.tolist(), strict=True)
    ]  # fmt: skip
    made = three(True, True) | {"sources": sources}
    made["output"] = {"receivers": {"points": [[2020.0, 2930.0, 0.0]], "interval": 0.01}}
    step = setups.grid_solver(made).plan.scheme.step
    made["output"]["receivers"]["interval"] = step
    solver = setups.grid_solver(made)
    forward = np.array([solver.operator.advance(1)[0][0, 0, 0, 6:] for _ in range(solver.plan.steps)]).T
    found = seismograms(green_tensors(made, duration=0.1, delay=0.5 * step), TENSORS)[0][:, 1:]
    return float(np.abs(forward - found).max() / np.abs(forward).max())


def wave_case(ratio: int, points: int, blocks: bool) -> Settings:
    """Return the case of a double couple above a block interface by six of the larger spacings, in homogeneous rock."""
    h, shear = 10.0, 1000.0
    coarse = ratio * h
    f0, length, width, face = shear / (2.5 * points * coarse), 48 * coarse, 8 * coarse, 10 * coarse
    x, y = length / 2, width / 2
    places = [
        [x + 5 * coarse, y + coarse / 3, -face + 4.1 * coarse],
        [x + 5 * coarse, y, -face - 5.2 * coarse],
        [x - 7 * coarse, y + coarse / 2, -face + 9 * coarse],
    ]
    return {
        "engine": "fd", "end_time": 1.2 / f0 + 0.62 * length / shear, "material": {"constant": _rock(shear)},
        "sources": [{"kind": "moment-tensor", "location": [x, y, -face + 6 * coarse],
                     "tensor": {"xx": 1e12, "zz": -1e12, "xz": 5e11, "xy": 3e11},
                     "time_function": {"kind": "ricker", "duration": 1 / f0}}],
        "grid": {"lower": [0, 0, -2 * face], "upper": [length, width, 0], "spacing": h,
                 "blocks": [{"below": face, "spacing": coarse}] if blocks else [],
                 "absorbing": {"width": 10 if blocks else 10 * ratio},
                 "boundaries": {"x": "periodic", "y": "periodic", "z-": "absorbing", "z+": "rigid"}},
        "output": {"receivers": {"points": places, "interval": 0.1 / f0}},
    }  # fmt: skip


def _rock(shear: float) -> dict[str, float]:
    return {"rho": 2000.0, "vp": 3**0.5 * shear, "vs": shear}


def wave_error(ratio: int, points: int) -> float:
    """Return the largest relative L2 error of all receivers [%]."""
    with_blocks, one = (_velocities(wave_case(ratio, points, blocks)) for blocks in (True, False))
    return 100 * float(np.sqrt(((with_blocks - one) ** 2).sum((0, 2)) / (one**2).sum((0, 2))).max())


def _velocities(case: Settings) -> Array:
    data = simulate(case).run(write=False).receivers
    assert data is not None
    return np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1)


def rising_case(points: int, blocks: bool, step: float | None = None) -> Settings:
    """Return the case of an S wave that rises through a block interface and is recorded below, or without the finer block."""
    h, coarse, shear = 10.0, 30.0, 1000.0
    f0, width = shear / (2.5 * points * coarse), 8 * coarse
    length = shear / f0
    thick = 3 * length  # so that no reflection from the upper side arrives in time
    return {
        "engine": "fd", "end_time": 6.0 / f0, "material": {"constant": _rock(shear)},
        "sources": [{"kind": "plane-wave", "z": -thick - 2 * length, "velocity": [1.0, 0.0, 0.0],
                     "time_function": {"kind": "ricker", "duration": 1 / f0}}],
        "numerics": {"precision": "double"},
        "grid": {"lower": [0, 0, -thick - 4 * length], "upper": [width, width, 0], "spacing": h if blocks else coarse,
                 "blocks": [{"below": thick, "spacing": coarse}] if blocks else [], "absorbing": {"width": 10},
                 **({} if step is None else {"step": step}),
                 "boundaries": {"x": "periodic", "y": "periodic", "z-": "absorbing", "z+": "rigid"}},
        "output": {"receivers": {"points": [[width / 2, width / 2, -thick - length]], "interval": 0.02 / f0}},
    }  # fmt: skip


def sent_back(points: int) -> float:
    """Return the largest reflected over the largest incident motion at a block interface."""
    step = simulate(rising_case(points, True)).plan.scheme.step
    motion, alone = (_velocities(rising_case(points, blocks, step)) for blocks in (True, False))
    return float(np.abs(motion - alone).max() / np.abs(alone).max())


# ---- a basin --------------------------------------------------------------------------------------------------------------

SLOWEST, FASTEST, FLOOR, BOTTOM = 300.0, 3000.0, 3600.0, 7300.0
"""S speeds [m/s] at the surface and from the basin floor down; depths [m] of the floor and the bottom."""
HIGHEST = 1.0
"""Frequency [Hz] with six points per wavelength."""
FACES = ((1000.0, 150.0), (3700.0, 450.0))
"""Depths of block interfaces and the spacings below them [m]; the uppermost spacing is 50 m."""


def basin(finer: int, blocks: bool) -> Settings:
    """Return the case of a column with a plane wave rising from below; the spacing is 50 m over ``finer``."""
    spacing = SLOWEST / (6 * HIGHEST) / finer
    shear = f"min({FASTEST}, {SLOWEST} - z * {(FASTEST - SLOWEST) / FLOOR})"
    wide = 8 * (FACES[-1][1] if blocks else spacing)
    peak = HIGHEST / 2.5
    return {
        "engine": "fd", "end_time": 14.0,
        "material": {"expression": {"vs": shear, "vp": f"1.8 * {shear}", "rho": "2200"}},
        "sources": [{"kind": "plane-wave", "z": -5500.0, "velocity": [1.0, 0.0, 0.0],
                     "time_function": {"kind": "ricker", "duration": 1 / peak}}],
        "grid": {"lower": [0, 0, -BOTTOM], "upper": [wide, wide, 0], "spacing": spacing,
                 "blocks": [{"below": d, "spacing": h} for d, h in FACES] if blocks else [],
                 "absorbing": {"width": 5 if blocks else 45 * finer},
                 "boundaries": {"x": "periodic", "y": "periodic", "z-": "absorbing", "z+": "free-surface"}},
        "output": {"receivers": {"points": [[wide / 2, wide / 2, 0.0]], "interval": 0.02}},
    }  # fmt: skip


def updates(case: Settings) -> float:
    """Return the number of point updates of a case per square metre."""
    plan = setups.grid_solver(case).plan
    return float(plan.points * plan.steps / np.prod(plan.upper[:2] - plan.lower[:2]))


def basin_errors() -> tuple[float, float]:
    """Return the relative L2 errors [%] of the surface motion with blocks and with one spacing."""
    exact, blocks, one = (
        _velocities(basin(finer, with_blocks)) for finer, with_blocks in ((2, False), (1, True), (1, False))
    )
    norm = np.sqrt((exact**2).sum())
    return 100 * float(np.sqrt(((blocks - exact) ** 2).sum()) / norm), 100 * float(
        np.sqrt(((one - exact) ** 2).sum()) / norm
    )


def run(progress: Progress) -> Result:
    """Judge energy, reciprocity, accuracy, reflection and the basin."""
    rows: list[Row] = []
    for (blocks, sides), steps in STEPS.items():
        progress(f"energy over {steps:,} steps, {blocks} blocks, {sides} sides")
        name = f"relative drift of energy, {steps:,} steps, {blocks} blocks, {sides} sides"
        rows.append(at_most(name, drift(blocks, sides, steps), 1e-10))
    progress("reciprocity")
    rows.append(at_most("reciprocity through two faces and a hill, with attenuation", reciprocity(), 1e-10))
    for (ratio, points), limit in ERRORS.items():
        progress(f"ratio {ratio}, {points} points")
        rows.append(
            at_most(
                f"error [%], ratio {ratio}, {points} points of the larger spacing", wave_error(ratio, points), limit
            )
        )
    for points, limit in ((6, 3e-2), (10, 1e-2)):
        progress(f"reflection, {points} points")
        rows.append(
            at_most(f"S wave sent back by a face, {points} points of the larger spacing", sent_back(points), limit)
        )
    progress("basin")
    mine, one = basin_errors()
    rows.append(at_most(f"basin: error [%] with blocks, one spacing has {one:.3g}", mine, 1.2 * one))
    saved = updates(basin(1, False)) / updates(basin(1, True))
    rows.append(at_least("basin: times fewer point updates with blocks", saved, 10.0))
    return Result(tuple(rows))


FD_BLOCKS = VerificationCase("fd-blocks", "grids of blocks: energy, reciprocity, errors, what they save", run, 8.0)
