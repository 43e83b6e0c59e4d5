"""Small grids of one material."""

import numpy as np

from faultwave.backends import make_stencils
from faultwave.fd.method.absorbing import Absorber
from faultwave.fd.method.effective_medium import Units
from faultwave.fd.method.grid import SIDES, Grid
from faultwave.fd.method.program import build_program, fields, profiles
from faultwave.fd.method.scheme import Scheme

RHO, VP, VS = 2700.0, 6000.0, 3464.0
LAM, MU = RHO * (VP**2 - 2 * VS**2), RHO * VS**2


def scheme(shape, sides=None, attenuation=False, kind="cpml", width=4, spacing=100.0, courant=0.4, order=4):
    grid = Grid((0.0, 0.0, 0.0), spacing, shape)
    every = dict.fromkeys(SIDES, "absorbing") | {"z+": "free-surface"} | (sides or {})
    return Scheme(grid, courant * spacing / VP, VP, every, Absorber(kind, width, 2.0), attenuation, order)


def runner(of, backend, precision="single", threads=1, **more):
    values = {
        "lam": LAM,
        "mu2": 2 * MU,
        "mu_xy": MU,
        "mu_xz": MU,
        "mu_yz": MU,
        "b_x": 1 / RHO,
        "b_y": 1 / RHO,
        "b_z": 1 / RHO,
    }
    units = Units.fitting({name: np.array(v) for name, v in values.items()})
    made = make_stencils(backend, build_program(of, units=units, **more), precision, threads)
    view = made.view
    for name, value in values.items():
        inside = slice(1, None) if of.free_surface and name not in ("b_z", "mu_xz", "mu_yz") else slice(1, -1)
        view(name, 1)[inside, 1:-1, 1:-1] = value / units.of(name)
    if of.attenuation:
        view("defect_p")[...], view("defect_s")[...], view("B")[...] = 0.05, 0.1, 0.01
        view("A")[...] = np.random.default_rng(0).uniform(0.9, 1.0, (2, 2, of.grid.shape[2]))
    for name, values in profiles(of).items():
        view(name)[...] = values
    return made


def everything(made, attenuation):
    return {n: np.array(made.view(n, 2)) for n in fields(attenuation)}
