"""Every kernel of the dg engine, every law and friction law: backends against the NumPy reference on random data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.dg.fault.coupling import MatrixCoupling, PoreCoupling
from faultwave.dg.fault.points import point_rule
from faultwave.dg.fault.record import HUGE, recorded
from faultwave.dg.fault.rupture import FrictionOptions, FrictionSizes, rupture
from faultwave.dg.fault.transforms import tables as fault_tables
from faultwave.dg.method.basis import triangle_basis
from faultwave.dg.method.forms import FORMS, Cells, Form
from faultwave.dg.method.forms import form as find_form
from faultwave.dg.method.outgoing_waves import weights_left
from faultwave.dg.method.predictors.taylor import Taylor, face_rows, powers
from faultwave.dg.operators import kernels
from faultwave.domain.tets.mesh import BoundaryKind
from faultwave.kernels.language import Array, Kernel
from faultwave.physics import friction as faults
from faultwave.physics import waves as laws
from faultwave.physics.friction.modifiers import composed
from faultwave.physics.waves.law import LAYER
from faultwave.physics.waves.viscoelastic import element_names
from tests.backends.here import present
from tests.physics.friction.sampling import sample_range
from tests.physics.waves.pores import porous
from tests.physics.waves.tensors import skewed

OTHERS = present([n for n in backends.names() if n != "numpy"])
VARIANTS: dict[str, Any] = {
    **laws.laws(),
    "maxwell-lossy": laws.law("maxwell").adapted({"conductivity": np.ones(1)}),
    "poroelastic-viscous": laws.law("poroelastic").adapted({"viscosity": np.ones(1)}),
    "maxwell-matched": laws.law("maxwell").adapted(dict.fromkeys(("conductivity", *LAYER), np.ones(1))),
    "viscoelastic-2": laws.law("viscoelastic").adapted({element_names(i)[2]: np.array([3.0 * i]) for i in (1, 2)}),
}
EVERYTHING = [
    (law, order, precision) for law in VARIANTS for order in range(2, 9) for precision in ("double", "single")
]
USUAL = {("elastic", 2, "single"), ("elastic", 3, "double"), ("elastic", 4, "single"),
         ("acoustic", 3, "single"), ("acoustic", 5, "double"), ("maxwell", 4, "double"), ("maxwell", 3, "single"),
         ("maxwell-lossy", 4, "double"), ("maxwell-lossy", 3, "single"),
         ("maxwell-matched", 3, "double"), ("maxwell-matched", 2, "single"),
         ("anisotropic", 3, "double"), ("anisotropic", 4, "single"),
         ("viscoelastic-2", 2, "double"), ("viscoelastic-2", 3, "single"), ("viscoelastic-2", 4, "double"),
         ("poroelastic", 2, "single"), ("poroelastic-viscous", 3, "double"), ("poroelastic-viscous", 4, "single")}  # fmt: skip
USUAL_ELSEWHERE = {
    ("elastic", 3, "double"),
    ("anisotropic", 2, "double"),
    ("maxwell-lossy", 2, "single"),
    ("viscoelastic-2", 2, "double"),
    ("poroelastic-viscous", 2, "double"),
}
"""Those of backends that take seconds to compile a kernel; there the fast form stands for both."""
TOLERANCE = {"double": 1e-12, "single": 3e-5}
OPTIONAL = {"slot", "part_slots", "sum_slots", "friction_slots"}  # slot 0 is nobody's
ITEMS = 32  # a multiple of all lanes


def some(chosen: set[tuple], elsewhere: set[tuple], everything: list[tuple]) -> list[Any]:
    """All cases of every backend, those that are not chosen marked slow."""
    assert chosen | elsewhere <= set(everything)
    return [
        pytest.param(*name.values, *case, marks=[*name.marks, *([] if case in quick else [pytest.mark.slow])])
        for name in OTHERS
        for quick in [chosen if name.values == ("cpu",) else elsewhere]
        for case in everything
        if name.values == ("cpu",) or case[1] <= 6
    ]


def dg_kernels(form: Form) -> list[Kernel]:
    points = np.random.default_rng(0).normal(size=(5, form.b3))
    split = kernels.StoringVariant(derivatives=False, parts=4)
    made = [
        make(form, kept, to_slower=kept is not None)
        for make in (kernels.predict, kernels.correct_and_predict)
        for kept in (None, kernels.StoringVariant(fault=True, parts=2), split)
    ]
    return made + [
        kernels.correct(form), kernels.sample(form, points), kernels.samples(form, 4), kernels.energies(form),
        *([kernels.surface(form, 1, points)] if "velocity" in form.law.roles else []),
    ]  # fmt: skip


def test_no_kernel_is_forgotten() -> None:
    """Every public function of the module that makes a kernel is in the list above."""
    makers = {
        n
        for n, f in vars(kernels).items()
        if getattr(f, "__annotations__", {}).get("return") == "Kernel" and f.__module__ == kernels.__name__
    }
    assert makers == {
        "predict",
        "correct",
        "correct_and_predict",
        "sample",
        "surface",
        "samples",
        "energies",
    }


class Random:
    """Arguments of kernels by the names that kernels share; cells are random tetrahedra of one size."""

    def __init__(self, form: Form, seed: int):
        self.form, self.order, self.rng = form, form.order, np.random.default_rng(seed)
        inverse = np.linalg.qr(self.rng.normal(size=(ITEMS, 3, 3)))[0] @ np.diag([0.8, 1.0, 1.3])
        mesh = np.concatenate([np.zeros((ITEMS, 1, 3)), np.linalg.inv(inverse).transpose(0, 2, 1)], 1)
        topology_faces = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
        corners = mesh[:, topology_faces]
        cross = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
        kinds = [BoundaryKind[b.upper().replace("-", "_")] for b in form.law.boundaries if b != "periodic"]
        out = np.sign(((corners[:, :, 0] - mesh) * cross).sum(-1, keepdims=True))
        areas = np.linalg.norm(cross, axis=2) / 2
        self.cells = Cells(
            inverse, np.abs(np.linalg.det(np.linalg.inv(inverse))) / 6, areas, out * cross / (2 * areas[..., None]),
            self.rng.integers(-1, ITEMS, (ITEMS, 4)), self.rng.choice(kinds, (ITEMS, 4)), np.zeros((ITEMS, 4), bool),
            {n: self.rng.uniform(0.5, 2.0, ITEMS) for n in (*(p.name for p in form.law.parameters), *LAYER)},
        )  # fmt: skip
        for i in range(1, 7):  # a stiffness is positive definite
            if f"c{i}{i}" in self.cells.material:
                self.cells.material[f"c{i}{i}"] += 10.0
        if "porosity" in self.cells.material:  # a frame is softer than its grains
            self.cells.material["porosity"] *= 0.2
            self.cells.material["bulk_solid"] += 10.0

    def __call__(self, a: Array) -> np.ndarray:
        match a.name:
            case "cell":
                return self.form.cell_constants(self.cells)[:, None]
            case "face":
                return self.form.face_constants(self.cells)
            case "parameters":
                names = [p.name for p in self.form.law.parameters]
                return np.stack([*(self.cells.material[n] for n in names), self.cells.volume], 1)[:, None]
        if a.space == "index":
            first = ITEMS * {"sum_slots": 8, "part_slots": 16}.get(a.name, 0)  # apart from all others
            slots = (
                1
                + first
                + self.rng.permutation(ITEMS * max(8, a.cols + 1) - 1)[: ITEMS * a.cols].reshape(ITEMS, a.cols)
            )
            if a.name in OPTIONAL:  # nothing to leave for one half, for some of the other
                slots[ITEMS // 2 :] = 0
                slots[1 : ITEMS // 2 : 3] = 0
            return slots
        if a.space == "store":
            return self.rng.normal(size=(ITEMS * 36, a.rows * a.cols))
        return self.rng.normal(size=(ITEMS, a.rows, a.cols))

    def units(self, *shape: int) -> np.ndarray:
        vectors = self.rng.normal(size=(*shape, 3))
        return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))

    def scalars(self, kernel: Kernel) -> dict[str, Any]:
        predictor = self.form.predictor
        advance, integral = predictor.at(0.07, 0.07), predictor.integral(0.0, 0.07, 0.07)
        known = {"advance": advance, "integral": integral, "keep": 0.7}
        known |= {f"part{p}": predictor.integral(0.01 * p, 0.01 * p + 0.02, 0.07) for p in range(3)}
        known |= {**predictor.scalars(0.07), **predictor.ended(0.07)}
        return {s.name: [0.4, 0.2, 0.3][: s.rows] if s.name == "shares" else known[s.name] for s in kernel.scalars}


def launch(
    name: str, precision: str, kernel_list: list[Kernel], data: list[Mapping[str, np.ndarray]], scalars: list[dict]
) -> list[dict]:
    """Results of all kernels, by argument."""
    backend: Any = backends.make(name, precision, 2)
    compiled = backend.compile(kernel_list)
    results = []
    for kernel, values, tables in zip(kernel_list, data, scalars, strict=True):
        buffers = {}
        for a in kernel.arguments:
            if a.space == "index":
                buffers[a.name] = backend.index(values[a.name], kernel.fixed)
            elif a.space == "matrix":
                buffers[a.name] = backend.matrix(values[a.name], kernel.fixed)
            else:
                shape = values[a.name].shape
                buffers[a.name] = backend.store(*shape) if a.space == "store" else backend.batch(*shape, kernel.fixed)
                buffers[a.name].put(values[a.name])
        with np.errstate(all="ignore"):
            compiled[kernel.name](buffers)(0, ITEMS, **tables)
        results.append({a.name: buffers[a.name].get() for a in kernel.arguments if a.space in ("batch", "store")})
    return results


def assert_same(kernel: Kernel, got: dict[str, np.ndarray], want: dict[str, np.ndarray], tolerance: float) -> None:
    """Against the largest of each number over the items: rounding errors are of that size."""
    for name, values in want.items():
        assert np.isfinite(values).all(), f"{kernel.name}: {name} of the reference is not finite"
        scale = np.abs(values).max(0, keepdims=True) + 1e-30
        error = np.abs(got[name] - values) / scale
        assert error.max() <= tolerance, (
            f"{kernel.name}: {name} differs by {error.max():.2e} at {np.unravel_index(error.argmax(), error.shape)}"
        )


@pytest.mark.parametrize("name, law, order, precision", some(USUAL, USUAL_ELSEWHERE, EVERYTHING))
def test_wave_kernels(name: str, law: str, order: int, precision: str) -> None:
    physics: Any = VARIANTS[law]
    brief = name != "cpu" and (law, order, precision) in USUAL_ELSEWHERE
    quick = any(kind.suits(physics) for kind in FORMS)
    for fast in (False, True):
        if (not fast or quick) and not (brief and not fast and quick):
            check_wave_kernels(name, find_form(physics, order, 0.7, fast), precision)


def check_wave_kernels(name: str, form: Form, precision: str) -> None:
    kernel_list, make = dg_kernels(form), Random(form, form.order)
    data = [{a.name: make(a) for a in k.arguments} for k in kernel_list]
    for arguments in data:
        if "incoming" in arguments and "outgoing" in arguments:  # a fused kernel works in place, see layout
            arguments["outgoing"] = arguments["incoming"]
    scalars = [make.scalars(k) for k in kernel_list]
    want = launch("numpy", precision, kernel_list, data, scalars)
    got = launch(name, precision, kernel_list, data, scalars)
    for kernel, g, w, given in zip(kernel_list, got, want, data, strict=True):
        for name in {"history", "friction", "waves"} & set(w):
            g[name][0] = w[name][0] = given[name][0]
        assert_same(kernel, g, w, TOLERANCE[precision])
        written = [a.name for a in kernel.arguments if a.intent in ("out", "inout")]
        assert written and all(np.abs(w[n] - given[n]).max() > 1e-3 for n in written), f"{kernel.name} writes nothing"


# ---- friction -----------------------------------------------------------------------------------------------------

FRICTION = [
    (law, order, precision) for law in faults.laws() for order in range(2, 9) for precision in ("double", "single")
]
USUAL_FRICTION = {("linear-slip-weakening", 2, "double"), ("linear-slip-weakening", 5, "single"), ("rate-and-state-ageing", 3, "double"),
                  ("rate-and-state-slip", 4, "single"), ("severe-velocity-weakening", 2, "double"),
                  ("strong-velocity-weakening", 3, "double"), ("imposed-yoffe", 3, "double"),
                  ("imposed-gaussian", 2, "double"),
                  ("imposed-delta", 2, "single"), ("power-law-slip-weakening", 3, "double")}  # fmt: skip
USUAL_FRICTION_ELSEWHERE = {
    ("linear-slip-weakening", 2, "double"),
    ("rate-and-state-slip", 3, "single"),
    ("strong-velocity-weakening", 2, "double"),
    ("strong-velocity-weakening", 6, "double"),  # more modes than workers, beside the projection of the state
    ("imposed-yoffe", 2, "double"),
}
STEP, ETA = 0.01, 4.6e6
MADE = {  # per point: lowest and highest
    "mu_s": (0.55, 0.7), "mu_d": (0.3, 0.5), "d_c": (0.05, 0.4), "cohesion": (-1e6, 0.0), "forced_rupture_time": (0.0, 3.0),
    "rs_a": (0.006, 0.02), "rs_sl0": (0.01, 0.05), "rs_f0": (0.55, 0.65), "rs_b": (0.010, 0.014),
    "rs_srW": (0.1, 0.3), "rs_muw": (0.1, 0.3),
    "strike_slip": (-2.0, 2.0), "dip_slip": (-1.0, 1.0), "rupture_onset": (0.0, 1.2), "tau_S": (0.1, 0.3), "tau_R": (0.7, 2.0),
    "rupture_rise_time": (0.3, 1.0), "weakening_exponent": (0.2, 0.5),
    "pc_reference_rate": (0.5, 2.0), "pc_length": (0.002, 0.02),
    "tp_half_width": (0.005, 0.05), "tp_hydraulic_diffusivity": (1e-7, 4e-4), "tp_thermal_diffusivity": (1e-6, 2e-6),
    "tp_heat_capacity": (2e6, 3e6), "tp_undrained_response": (0.5e5, 1e5), "tp_initial_temperature": (300.0, 500.0),
    "tp_initial_pressure": (-5e6, 0.0),
}  # fmt: skip
COMPOSED = [("linear-slip-weakening", "prakash-clifton"), ("rate-and-state-ageing", "thermal-pressurisation"),
            ("power-law-slip-weakening", "thermal-pressurisation", "prakash-clifton")]  # fmt: skip

PER_LAW = {
    "severe-velocity-weakening": {"rs_sl0": (0.1, 0.3), "rs_f0": (0.7, 0.75), "rs_b": (0.75, 0.8)},
    "imposed-delta": {"rupture_onset": (0.995, 1.025)},  # in and after the step
}
RATES = {"rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-12}
UNIFORM = {name: RATES for name, law in faults.laws().items() if law.solver == "newton"} | {
    "severe-velocity-weakening": RATES | {"rs_sr0": 0.1}
}


def taylor(order: int) -> Taylor:
    return Taylor(SimpleNamespace(order=order, unit=1.0, full=False))  # type: ignore[arg-type]


def left_in_time(derivatives: np.ndarray, order: int) -> np.ndarray:
    """What cells leave of the derivatives (..., rows, columns) on a face after a step: in place of the first its integral over the step."""
    found, at, most = derivatives.copy(), 0, face_rows(order)[0]
    found[..., :most, :] = 0.0
    for rows, weight in zip(face_rows(order), powers(STEP, order)[1], strict=True):
        found[..., :rows, :] += weight * derivatives[..., at : at + rows, :]
        at += rows
    return found


def friction_arguments(
    law: Any, constants: dict[str, float], kernel: Kernel, order: int, seed: int, sizes: Sequence[float] | None = None
) -> dict[str, np.ndarray]:
    """A fault under load, slipping at some points and not at others; ``sizes`` by which derivatives are multiplied."""
    rng = np.random.default_rng(seed)
    rule = point_rule("symmetric", order - 1)
    points = len(rule.weights)
    count = ITEMS * points
    shear, sigma = rng.uniform(30e6, 85e6, count), rng.uniform(-130e6, -100e6, count)
    angle = rng.uniform(-np.pi, np.pi, count)
    bounds = MADE | PER_LAW.get(law.name, {})
    given = law.given({p.name: rng.uniform(*sample_range(p, bounds), count) for p in law.parameters}, count)
    directions = faults.Directions(*(np.stack([np.cos(angle), np.sin(angle), -np.sin(angle), np.cos(angle)])))
    p = law.prepare(given, constants, directions)
    wide = law.state_columns.widths.items()
    zero = {s: np.zeros(count if size is None else (count, size)) for s, size in wide}
    state = zero | law.initial(p, constants, shear, sigma)
    rows = np.concatenate([np.full(n, k) for k, n in enumerate(face_rows(order))])
    channels = kernel.arrays["waves"].cols
    decay = np.array([math.factorial(k) / STEP**k for k in rows]) * 0.3**rows * np.array(sizes or [1.0] * order)[rows]
    traction, flow = rng.normal(size=(2, ITEMS * 8, len(rows), channels)) * decay[:, None]
    wave, flow = left_in_time(2e6 * traction - 3.2 * ETA * 0.4 * flow, order), left_in_time(0.4 * flow, order)
    traces = np.concatenate([wave, flow], 1)[:, : kernel.arrays["waves_in_time"].rows]
    frames = np.linalg.qr(rng.normal(size=(ITEMS, 3, 3)))[0]
    z = np.broadcast_to([2 * ETA * 1.7, 2 * ETA, 2 * ETA * 1.6, 2.1 * ETA], (ITEMS, 1, 4))
    if channels == 4:
        z = porous_sides(rng)
    elif kernel.arrays["impedance"].cols != 4:
        z = anisotropic_sides(rng)
    width = next(a.cols for a in kernel.arguments if a.name == "record")
    options = itertools.product((True, False), repeat=3)
    columns = next(c for c in (recorded(*flags) for flags in options) if c.size == width)
    record = {name: np.zeros((ITEMS, points)) for name in columns} | {"least": np.full((ITEMS, points), HUGE)}
    values = {
        "slots": rng.permutation(ITEMS * 8)[: ITEMS * 4].reshape(ITEMS, 4),
        "waves_in_time": traces.reshape(ITEMS * 8, -1),
        "waves": rng.normal(size=(ITEMS * 8, kernel.arrays["waves"].rows * channels)) * 1e5,
        "frame": frames.reshape(ITEMS, 1, 9), "impedance": z,
        "stress": np.stack([sigma, shear * np.cos(angle), shear * np.sin(angle)], -1).reshape(ITEMS, points, 3),
        "state": law.shown_columns.join(state).reshape(ITEMS, points, -1),
        **({"inner_state": law.inner_columns.join(state).reshape(ITEMS, points, -1)} if law.inner_columns.size else {}),
        "parameter": np.stack([p[n] for n in law.kernel_parameters], -1).reshape(ITEMS, points, -1),
        "nucleation": rng.normal(size=(ITEMS, points, 6)) * 1e6,
        "record": columns.join(record), "slides": np.zeros((ITEMS, 1, 1)),
        "jumped": rng.normal(size=(ITEMS, face_rows(order)[0], 2)), "work_moved": rng.normal(size=(ITEMS, 1, 1)),
        "group": np.repeat([[1], [0]], ITEMS // 2, 0),  # the same points in two orders
        **fault_tables(rule, list(kernel.arrays)), "face_mean": 2.0 * rule.weights[None],
        "phi": np.stack([rule.phi[0], rule.phi[0][::-1]]), "back": np.stack([rule.back[0], rule.back[0][:, ::-1]]),
    }  # fmt: skip
    return {a.name: values[a.name] for a in kernel.arguments}


def friction_scalars(order: int, times: int) -> dict[str, Any]:
    ends = 1.0 + STEP * np.arange(1, times + 1) / times
    clock = np.stack([np.full(times, STEP / times), ends, ends - STEP / times], 1)
    values = [powers((i + 0.5) * STEP / times, order)[0] for i in range(times)]
    at_times = [weights_left(taylor(order), x, STEP) for x in values]
    ramp = np.random.default_rng(1).uniform(0, 0.3, (times, 2))
    return {"at_times": at_times, "weight": np.full(times, STEP / times), "clock": clock, "ramp": ramp, "damping": 0.9}


def friction_case(
    law: Any, order: int, precision: str, name: str, linear: bool = False, coupling: Any = None, **constants: float
) -> tuple[Kernel, dict, dict, dict]:
    plain = law.name.partition(" + ")[0]  # of a law with modifiers
    c = law.settings(UNIFORM.get(plain, {}) | UNIFORM.get(law.name, {}) | constants)
    times = order
    points = len(point_rule("symmetric", order - 1).weights)
    options = FrictionOptions(times, moved=True, breakdown=True, linear_normal=linear)
    kernel = rupture(law, c, FrictionSizes(tuple(face_rows(order)), points, 2, options), coupling)
    data = friction_arguments(law, c, kernel, order, 10 + order)
    tables = friction_scalars(order, times)
    (want,) = launch("numpy", precision, [kernel], [data], [tables])
    (got,) = launch(name, precision, [kernel], [data], [tables])
    return kernel, data, got, want


@pytest.mark.parametrize("name, law, order, precision", some(USUAL_FRICTION, USUAL_FRICTION_ELSEWHERE, FRICTION))
def test_friction_kernel(name: str, law: str, order: int, precision: str) -> None:
    check_friction_kernel(faults.law(law), order, precision, name)


@pytest.mark.parametrize("name", ["numpy", *OTHERS])
@pytest.mark.parametrize("law", ["linear-slip-weakening", "strong-velocity-weakening"])
@pytest.mark.parametrize("some", [False, True])
def test_parameters_that_are_the_same_everywhere(name: str, law: str, some: bool) -> None:
    """Given once they are as good as given at every point, all of them or some."""
    physics, order, points = faults.law(law), 2, len(point_rule("symmetric", 1).weights)
    c = physics.settings(UNIFORM.get(law, {}))
    uniform = physics.kernel_parameters[1:3] if some else physics.kernel_parameters
    sizes = FrictionSizes(tuple(face_rows(order)), points, 2, FrictionOptions(order, moved=True, breakdown=True))
    kernel, lean = (rupture(physics, c, s) for s in (sizes, replace(sizes, uniform=uniform)))
    data, tables = friction_arguments(physics, c, kernel, order, 12), friction_scalars(order, order)
    places = [physics.kernel_parameters.index(n) for n in uniform]
    data["parameter"][..., places] = data["parameter"][:1, :1, places]
    once = {"uniform": [data["parameter"][0, 0, i] for i in places]}
    others = [i for i in range(len(physics.kernel_parameters)) if i not in places]
    fewer = {a.name: data["parameter"][..., others] if a.name == "parameter" else data[a.name] for a in lean.arguments}
    assert ("parameter" in fewer) == some
    (want,) = launch("numpy", "double", [kernel], [data], [tables])
    (got,) = launch(name, "double", [lean], [fewer], [tables | once])
    if physics.solver == "newton":
        without_drift(kernel, physics, got, want)
    tolerance = 1e-6 if physics.solver == "newton" else 1e-12
    for argument in ("state", "record", "waves"):
        assert_same(kernel, {argument: got[argument]}, {argument: want[argument]}, tolerance)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("names", COMPOSED, ids="+".join)
def test_modified_friction_kernel(name: str, names: tuple[str, ...]) -> None:
    check_friction_kernel(composed(names[0], names[1:]), 2, "double", name)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("law", ["linear-slip-weakening", "strong-velocity-weakening", "imposed-gaussian"])
def test_friction_in_anisotropic_rock(name: str, law: str) -> None:
    check_friction_kernel(faults.law(law), 2, "double", name, MatrixCoupling())


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("law", ["linear-slip-weakening", "strong-velocity-weakening"])
def test_friction_in_porous_rock(name: str, law: str) -> None:
    check_friction_kernel(faults.law(law), 2, "double", name, PoreCoupling())


def porous_sides(rng: np.random.Generator) -> np.ndarray:
    """Constants (ITEMS, 1, columns) of faces between two rocks."""
    rocks = [porous({"rho": 2600.0 * s, "lambda": 3e10, "mu": 3.2e10 * s}) for s in rng.uniform(0.7, 1.3, 2)]
    material = {name: np.tile([r[name] for r in rocks], (ITEMS, 1)) for name in rocks[0]}
    return PoreCoupling().constants(laws.law("poroelastic"), material, np.zeros((ITEMS, 3, 3)))[:, None]


def anisotropic_sides(rng: np.random.Generator) -> np.ndarray:
    """Constants (ITEMS, 1, columns) of faces between random rocks."""
    rocks = [skewed({"rho": 2600.0, "lambda": 3e10, "mu": 3.2e10}, seed) for seed in rng.integers(0, 1000, 2)]
    material = {name: np.tile([r[name] for r in rocks], (ITEMS, 1)) for name in rocks[0]}
    frames = np.linalg.qr(rng.normal(size=(ITEMS, 3, 3)))[0]
    return MatrixCoupling().constants(laws.law("anisotropic"), material, frames)[:, None]


def without_drift(kernel: Kernel, law: Any, got: dict, want: dict) -> None:
    """Take it off both states: it is a difference of nearly equal numbers, of which only a guess is made."""
    if "drift" not in law.shown_columns.places:
        return
    place = law.shown_columns.places["drift"]
    assert_same(kernel, {"drift": got["state"][..., place]}, {"drift": want["state"][..., place]}, 1e-3)
    for found in (got, want):
        found["state"] = np.delete(found["state"], place, -1)


def check_friction_kernel(physics: Any, order: int, precision: str, name: str, coupling: Any = None) -> None:
    kernel, data, got, want = friction_case(physics, order, precision, name, coupling=coupling)
    iterates = physics.solver == "newton"
    # The state of friction stays double in single runs; only the waves in and out are single.
    # Imposed slip is an increment of an integral, in which digits cancel.
    waves = 1e-6 if iterates else 1e-11 if physics.solver == "imposed" else 1e-12
    if iterates:
        without_drift(kernel, physics, got, want)
    for argument in {"state", "stress", "record", "inner_state", "jumped", "work_moved"} & set(want):
        assert_same(kernel, {argument: got[argument]}, {argument: want[argument]}, waves)
    assert_same(
        kernel, {"waves": got["waves"]}, {"waves": want["waves"]}, waves if precision == "double" else max(waves, 1e-6)
    )
    rate = want["state"][..., physics.shown_columns.places["slip_rate"].start]
    assert (rate > 1e-2).any() and (rate < 1e-3).mean() > 0.05, "the data should slip here and stick there"
    assert (np.abs(want["waves"] - data["waves"]).max(1) > 1e3).sum() == 2 * ITEMS


@pytest.mark.parametrize("name", OTHERS)
def test_strength_under_the_linear_part_of_the_normal_traction(name: str) -> None:
    """It is the whole at order 2. Above, what a fault point remembers of it is linear on the face, and strength differs."""
    law = faults.law("linear-slip-weakening")
    for order in (2, 4):
        kernel, _, got, want = friction_case(law, order, "double", name, linear=True)
        for argument in ("state", "stress", "record", "waves"):
            assert_same(kernel, {argument: got[argument]}, {argument: want[argument]}, 1e-12)
        full = friction_case(law, order, "double", name)[3]
        old, new = (recorded(True, True).split(x["record"]) for x in (full, want))
        assert np.array_equal(old.traction_n, new.traction_n) == (order == 2)
        linear_in = triangle_basis(point_rule("symmetric", order - 1).points[0], 1)
        for points in (new.traction_n[: ITEMS // 2, ::-1], new.traction_n[ITEMS // 2 :]):
            fitted = linear_in @ np.linalg.lstsq(linear_in, points.T, rcond=None)[0]
            np.testing.assert_allclose(fitted.T, points, atol=1e-9 * np.abs(points).max())
        different = np.abs(old.strength - new.strength).max() / np.abs(old.strength).max()
        assert different == 0.0 if order == 2 else different > 1e-3


def sliding_case(order: int, name: str, smooth: bool) -> tuple[Kernel, dict, dict]:
    """Kernel and results, ``name``'s and numpy's, where every other face has slipped by 2 d_c."""
    law = faults.law("linear-slip-weakening")
    c = law.settings(UNIFORM.get(law.name, {}))
    points = len(point_rule("symmetric", order - 1).weights)
    options = FrictionOptions(order, moved=True, breakdown=True, smooth_sliding=smooth)
    kernel = rupture(law, c, FrictionSizes(tuple(face_rows(order)), points, 2, options))
    data = friction_arguments(law, c, kernel, order, 10 + order)
    slip = law.shown_columns.places["accumulated_slip"].start
    data["state"][::2, :, slip] = 2.0 * data["parameter"][::2, :, law.kernel_parameters.index("d_c")]
    data["stress"][::2, :, 1] += 200e6  # so that they slide as a whole
    scalars = friction_scalars(order, order)
    (want,) = launch("numpy", "double", [kernel], [data], [scalars])
    (got,) = launch(name, "double", [kernel], [data], [scalars])
    return kernel, got, want


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("order", [2, 4])
def test_points_of_weakened_faces_slide_together_under_their_own_friction(name: str, order: int) -> None:
    """Other faces keep their bits. Where a weakened face slides, all of its points do, with the dynamic friction."""
    kernel, got, want = sliding_case(order, name, True)
    for argument in ("state", "stress", "record", "waves"):
        assert_same(kernel, {argument: got[argument]}, {argument: want[argument]}, 1e-12)
    full = sliding_case(order, name, False)[2]
    assert np.array_equal(want["state"][1::2], full["state"][1::2])
    smooth, plain = recorded(True, True, True).split(want["record"]), recorded(True, True).split(full["record"])
    for column in plain:
        assert np.array_equal(smooth[column][1::2], plain[column][1::2]), column
    rates = faults.law("linear-slip-weakening").shown_columns.split(want["state"][::2])["slip_rate"]
    slides = rates > 0.0
    assert slides.any() and (slides.all(1) | ~slides.any(1)).all()


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("law", [law for law, f in faults.laws().items() if f.solver == "newton"])
def test_iterated_friction_to_rounding_when_asked(name: str, law: str) -> None:
    tight = {
        "rs_slip_rate_tolerance": 1e-14,
        "rs_slip_rate_updates": 100,
    }
    kernel, _, got, want = friction_case(faults.law(law), 3, "double", name, **tight)
    without_drift(kernel, faults.law(law), got, want)
    columns = recorded(True, True).places
    work, breakdown = columns["dissipated"], columns["breakdown"]
    for found in (got, want):  # breakdown work is what little is left of the work: its rounding is that of the work
        found["record"][..., breakdown] += found["record"][..., work]
    for argument in ("stress", "record", "waves", "state"):
        assert_same(kernel, {argument: got[argument]}, {argument: want[argument]}, 1e-11)
