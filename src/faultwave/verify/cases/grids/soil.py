"""Soft soil of many yield surfaces in the engine fd, against its stress-strain curve and an integration of Masing's rules.

Surfaces: approximation of a hyperbola from 0.01 to 10 reference strains, and its damping in closed form. Cell: strain is prescribed
uniformly, in all directions, through load, unload and reload; the stress must equal a sum of elements evaluated in three dimensions.
Column: a pulse of S waves rises through rock into 20 m of soil; the surface motion must follow ``exact.soil_column``, and the
loops must have the stiffness and damping of the hyperbola.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from faultwave.backends import make_stencils
from faultwave.base.types import Settings
from faultwave.fd.capabilities import soil
from faultwave.fd.method.absorbing import Absorber, AbsorberKind
from faultwave.fd.method.grid import SIDES, Grid, SideKind
from faultwave.fd.method.program import build_program
from faultwave.fd.method.scheme import Scheme
from faultwave.kernels.stencil import Injection
from faultwave.physics.rheology import iwan
from faultwave.physics.sources.time_functions import time_function
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact import Array
from faultwave.verify.exact.soil_column import Column, shaken

ERRORS = {10: 0.0433, 20: 0.00994, 40: 0.00236}
"""Largest error of the backbone curve, by number of surfaces."""
AMPLITUDES = (0.3, 1.0, 3.0)
DEPTH, FOOT, PERIOD, END, VELOCITY, REFERENCE = 20.0, 30.0, 0.3, 0.8, 0.05, 2e-3
SOIL, ROCK = {"rho": 1800.0, "vp": 500.0, "vs": 250.0}, {"rho": 2200.0, "vp": 1200.0, "vs": 800.0}
STRESSES = ("sxx", "syy", "szz", "sxy", "syz", "sxz")


def surface_rows() -> list[Row]:
    """Judge the backbone curve and damping of the surfaces."""
    x, rows = np.geomspace(*(iwan.RANGE[0], 10.0), 400), []
    for count, limit in ERRORS.items():
        of = iwan.along_curve(count)
        error = np.abs(of.stress(x) / iwan.curve(1.0)(x) - 1.0).max()
        rows.append(at_most(f"{count} surfaces: stress less the hyperbola's, over it", error, limit))
    of = iwan.along_curve(20)
    for ratio in AMPLITUDES:
        exact, found = iwan.masing_damping(ratio), float(of.damping(np.array(ratio)))
        rows.append(
            at_most(f"20 surfaces: damping at {ratio:g} reference strains, error", abs(found / exact - 1), 0.05)
        )
    return rows


def strains() -> Array:
    """Return the deviatoric strains (n, 3, 3) of a loading path, half the shear strain in reference strains."""
    turns = np.concatenate([np.linspace(a, b, 12) for a, b in ((0.1, 3.0), (3.0, -1.0), (-1.0, 0.5), (0.5, 6.0))])
    main = np.array([[0.2, 1.0, 0.3], [1.0, -0.5, -0.4], [0.3, -0.4, 0.3]])
    tilt = np.array([[0.3, -0.1, 0.4], [-0.1, -0.2, 0.5], [0.4, 0.5, -0.1]])
    return np.array([x * (main + tilt * np.sin(k / 5.0)) for k, x in enumerate(turns)])


def overlay(path: Array, of: iwan.Surfaces) -> Array:
    """Return the stresses (n, 3, 3) of the elements summed one by one, in G times the reference strain."""
    states, old, found = [np.zeros((3, 3)) for _ in of.strains], np.zeros((3, 3)), []
    for strain in path:
        for n, limit in enumerate(of.strains):
            trial = states[n] + strain - old
            states[n] = trial * min(1.0, limit / max(float(np.sqrt(0.5 * (trial * trial).sum())), 1e-300))
        old = strain
        found.append(sum(share * s for share, s in zip(of.shares, states, strict=True)))
    return np.array(found)


def cell_error() -> float:
    """Return the largest error of the stress at a point of a uniformly strained grid, over the largest stress."""
    of, shape, modulus, rho = iwan.along_curve(20), (12, 8, 8), 1e8, 1800.0
    sides: dict[str, SideKind] = dict.fromkeys(SIDES, SideKind.PERIODIC)
    grid, speed = Grid((0.0, 0.0, 0.0), 1.0, shape), float(np.sqrt(3.0 * modulus / rho))
    scheme = Scheme(grid, 0.4 / speed, speed, sides, Absorber(AbsorberKind.CPML, 2, 2.0), False, 4, yields=True)
    points = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).reshape(-1, 3)
    pushed = [Injection(1, n, points, np.ones(len(points)), np.full(len(points), k)) for k, n in enumerate(STRESSES)]
    listed = soil.tiles(np.zeros(shape[1:], int), shape[0] + 1, "xy")
    program = build_program(scheme, pushed, observers=[soil.observer(scheme, grid.box, of, listed)])
    made = make_stencils("cpu", program, "double", 1)
    material = {"lam": modulus, "mu2": 2 * modulus, **dict.fromkeys(("mu_xy", "mu_xz", "mu_yz"), modulus)}
    for name, value in (material | dict.fromkeys(("b_x", "b_y", "b_z"), 1 / rho)).items():
        made.view(name, 1)[...] = value
    for tile in listed:
        made.view(tile.named(soil.REFERENCE))[...] = REFERENCE
    path, unit = strains(), modulus * REFERENCE
    change = unit * np.diff(path, axis=0, prepend=0.0)
    at = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)]
    found, exact = [], unit * overlay(path, of)
    for k in range(len(path)):
        amplitudes = np.zeros((len(program.levels), 1, 6))
        amplitudes[1, 0] = [change[k][i] for i in at]
        made.run(1, amplitudes)
        found.append([float(made.view(n)[7, 5, 3]) for n in STRESSES])
    wanted = np.array([[s[i] for i in at] for s in exact])
    return float(np.abs(np.array(found) - wanted).max() / np.abs(wanted).max())


def column(direction: int) -> Settings:
    """Return the case of a one-dimensional column with an S wave from below, polarised along x or y."""
    rock = {n: f"if (z > -{DEPTH:g}) {{ return {SOIL[n]:g}; }} return {ROCK[n]:g};" for n in ROCK}
    wave = {
        "kind": "plane-wave", "z": -FOOT, "velocity": [VELOCITY * (axis == direction) for axis in range(3)],
        "time_function": {"kind": "ricker", "duration": PERIOD},
    }  # fmt: skip
    return {
        "engine": "fd", "end_time": END, "material": {"expression": rock}, "sources": [wave],
        "grid": {"lower": [0, 0, -50], "upper": [8, 8, 0], "spacing": 1.0, "boundaries": {"x": "periodic", "y": "periodic"},
                 "absorbing": {"width": 20, "along": 0.0, "frequency": 1.0}},
        "soil": {"slower_than": 400.0, "surfaces": 20, "parameters": {"constant": {"reference_strain": REFERENCE}}},
        "numerics": {"precision": "double", "threads": 1},
        "output": {"receivers": {"points": [[3.0, 3.0, 0.0]], "interval": 0.002},
                   "soil": {"points": [[3.0, 3.0, -18.4], [3.0, 3.0, -9.6]], "interval": 0.001}},
    }  # fmt: skip


def independent(times: Array, reference: float = REFERENCE) -> Array:
    """Return the velocity (n,) [m/s] of the surface by Masing's rules, extrapolated to zero spacing."""
    pulse = time_function(SimpleNamespace(kind="ricker", duration=PERIOD, frequency=None), "t")
    of = Column(
        FOOT,
        lambda z: np.where(z < DEPTH, SOIL["rho"], ROCK["rho"]),
        lambda z: np.where(z < DEPTH, SOIL["vs"], ROCK["vs"]),
        lambda z: np.where(z < DEPTH, reference, np.inf),
    )
    coarse, fine = (
        np.interp(times, *shaken(of, lambda t: VELOCITY * float(pulse.value(np.array(t))), END, h))
        for h in (0.25, 0.125)
    )
    return np.asarray(2.0 * fine - coarse)


def column_rows() -> list[Row]:
    """Judge the motion of the surface, and stress-strain loops at depths of 18.5 and 9.5 m."""
    times = np.arange(0.01, END - 0.01, 0.002)
    exact = independent(times)
    sim = simulate(column(1)).run(write=False)
    seen, loops = sim.receivers, sim.result("soil_receivers")
    assert seen is not None and loops is not None
    found = np.interp(times, seen["time"], seen.quantity("v2")[:, 0])
    modulus = SOIL["rho"] * SOIL["vs"] ** 2
    ratio = loops["loop_strain"] / REFERENCE
    secant = loops["loop_modulus"] * (1.0 + ratio) / modulus
    damping = loops["loop_damping"] / [iwan.masing_damping(r) for r in ratio]
    return [
        at_most(
            "column: motion of its surface, rms", float(np.linalg.norm(found - exact) / np.linalg.norm(exact)), 0.01
        ),
        at_most("column: modulus of its loops", np.abs(secant - 1.0).max(), 0.01),
        at_most("column: damping of its loops", np.abs(damping - 1.0).max(), 0.05),
    ]


def run(progress: Progress) -> Result:
    """Judge surfaces, a cell and a column."""
    rows = surface_rows()
    progress("a cell through load, unload and reload")
    rows.append(at_most("cell: stress along a path in all directions", cell_error(), 1e-12))
    progress("a column of soil")
    rows += column_rows()
    return Result(tuple(rows))


FD_SOIL = VerificationCase("fd-soil", "grids: soft soil against Masing's rules", run, 0.7)
