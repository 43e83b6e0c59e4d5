"""Faces of a fault that stay locked through a step: which ones are found, that they are left out, and that nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.backends.numpy.runtime import execute
from faultwave.dg.fault.coupling import MatrixCoupling, PoreCoupling
from faultwave.dg.fault.points import point_rule
from faultwave.dg.fault.record import recorded
from faultwave.dg.fault.rupture import FrictionOptions, FrictionSizes, rupture
from faultwave.dg.fault.transforms import FaceSeries, mode_bounds
from faultwave.dg.method.predictors.taylor import face_rows, powers
from faultwave.kernels.language import Kernel
from faultwave.physics import friction as faults
from faultwave.physics.friction.law import FrictionLaw
from faultwave.physics.friction.modifiers import composed
from tests.backends.here import present
from tests.dg.test_backends_agree import ITEMS, STEP, friction_arguments, friction_scalars, launch, left_in_time

ALL = present(backends.names())
NOTHING = "never rests"


def restless(law: FrictionLaw) -> Any:
    """The same law, of which nothing is ever left out."""
    made: Any = type(NOTHING, (type(law),), {"stays_locked": lambda self, p, c, s: False})
    found = object.__new__(made)
    found.__dict__.update(law.__dict__)
    return found


# ---- the bound ----------------------------------------------------------------------------------------------------


def series_kernel(rows: Any, times: int, cols: int) -> tuple[Kernel, FaceSeries]:
    k = Kernel("k", fixed=True)
    at_times, weight = k.scalar("at_times", times, len(rows)), k.scalar("weight", times)
    return k, FaceSeries(k.batch("series", sum(rows), cols), rows, at_times, weight)


def bound(kind: Any, order: int, series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(items, 3): the bound of a kernel, and the largest change at the points and times of the rule."""
    rule, rows = point_rule(kind, order - 1), face_rows(order)
    k, given = series_kernel(rows, order, 3)
    out = k.batch("out", 1, 3, "out")
    change = given.columns(0, 3).largest_change(k, k.matrix("mode_bounds", 1, rows[0]))
    k.pointwise(lambda x: [list(x)], [change], [out])
    times = np.array([powers((i + 0.5) * STEP / order, order)[0] for i in range(order)])
    data = {"series": series, "mode_bounds": mode_bounds(rule)[None], "out": np.zeros((len(series), 1, 3))}
    execute(k, data, {"at_times": times, "weight": np.zeros(order)})
    values = np.einsum("tj,jnmc->ntmc", times, apart(series, rows))
    phi = rule.phi if rule.turn is None else rule.phi @ np.swapaxes(rule.turn, 1, 2)
    at_points = np.einsum("gpm,ntmc->ntgpc", phi, values)
    return data["out"][:, 0], np.abs(at_points - at_points[:, -1:]).max((1, 2, 3))


def apart(series: np.ndarray, rows: Any) -> np.ndarray:
    """The coefficients (coefficients, items, modes, columns), with zeros where they end."""
    parts = np.split(series, np.cumsum(rows)[:-1], axis=1)
    return np.stack([np.pad(p, ((0, 0), (0, rows[0] - p.shape[1]), (0, 0))) for p in parts])


@pytest.mark.parametrize("kind", ["symmetric", "conical"])
@pytest.mark.parametrize("order", [2, 4, 6])
def test_traction_changes_by_no_more_than_its_bound(kind: str, order: int) -> None:
    """Of a single number the bound is what it changes."""
    rng, rows = np.random.default_rng(order), face_rows(order)
    size = np.repeat([1.0 / STEP**j for j in range(order)], rows)[:, None]
    series = rng.normal(size=(300, sum(rows), 3)) * size * rng.uniform(0, 1, (300, sum(rows), 1)) ** 4
    got, most = bound(kind, order, series)
    assert (got >= most - 1e-13 * np.abs(series).max()).all() and (got < 60.0 * most).all()
    one = np.zeros((sum(rows), sum(rows), 3))
    one[np.arange(sum(rows)), np.arange(sum(rows))] = size * rng.normal(size=(sum(rows), 3))
    got, most = bound(kind, order, one)
    np.testing.assert_allclose(got[rows[0] :], most[rows[0] :], rtol=1e-9)
    assert (got[: rows[0]] == 0.0).all() and (most[rows[0] :] > 0.0).all()


def test_values_at_a_time() -> None:
    """Also where several coefficients end at the same mode."""
    rows, times, rng = (6, 3, 3, 1), 5, np.random.default_rng(0)
    k, given = series_kernel(rows, times, 5)
    last = k.batch("last", rows[0], 3, "out")
    now, scaled = (k.batch(name, rows[0], 2, "out") for name in ("now", "scaled"))
    given.columns(0, 3).at(k, last, times - 1)

    def both(x: Any, w: Any) -> Any:
        return [list(x), [w[0] * y for y in x]]

    k.repeat("i", times, lambda i: given.columns(3, 2).seen(k, i, both, [now, scaled], given.weight.view(i, 1)))
    at, w, series = rng.normal(size=(times, 4)), rng.normal(size=times), rng.normal(size=(2, sum(rows), 5))
    data = {"series": series} | {a.name: np.zeros((2, a.rows, a.cols)) for a in (last, now, scaled)}
    execute(k, data, {"at_times": at, "weight": w})
    values = np.einsum("tj,jnmc->tnmc", at, apart(series, rows))
    np.testing.assert_allclose(data["last"], values[-1, ..., :3], rtol=1e-12)
    np.testing.assert_allclose(data["now"], values[-1, ..., 3:], rtol=1e-12)
    np.testing.assert_allclose(data["scaled"], w[-1] * values[-1, ..., 3:], rtol=1e-12)


# ---- the kernel ---------------------------------------------------------------------------------------------------


def faces(law: FrictionLaw, constants: Any, kernel: Kernel, order: int, gaps: np.ndarray, seed: int) -> dict[str, Any]:
    """Data of faces whose shear traction is ``gaps`` (ITEMS,) [Pa] below the static strength, and that nothing else weakens."""
    much_changes_in_a_step = [0.02] + [0.2] * (order - 1)
    data = friction_arguments(law, constants, kernel, order, seed, much_changes_in_a_step)
    uniform = {
        "mu_s": 0.6,
        "mu_d": 0.4,
        "d_c": 0.4,
        "cohesion": -1e6,
        "forced_rupture_time": 1e9,
        "tp_initial_pressure": 0.0,
    }
    for i, name in enumerate(law.kernel_parameters):
        data["parameter"][..., i] = uniform.get(name, data["parameter"][:1, :1, i])
    columns = law.shown_columns.places
    data["state"][...] = data["state"][:1, :1]
    for name, value in (("friction", 0.6), ("tp_pressure", 0.0), ("tp_pressure_unheated", 0.0)):
        if name in columns:
            data["state"][..., columns[name]] = value
    angle = np.random.default_rng(seed).uniform(-np.pi, np.pi, (ITEMS, 1))
    shear = (0.6 * 120e6 + 1e6 - gaps)[:, None]
    for i, part in enumerate((-120e6 + 0.0 * shear, shear * np.cos(angle), shear * np.sin(angle))):
        data["stress"][..., i] = part
    return data


def step(
    law: FrictionLaw, order: int, data: Any, seed: int = 0, name: str = "numpy", scalars: Any = None, **options: Any
) -> Any:
    """Results of a step; ``data``: results of ``faces``, or the gaps that it takes."""
    c = law.settings({})
    coupling = options.pop("coupling", None)
    points = len(point_rule("symmetric", order - 1).weights)
    made = FrictionSizes(
        tuple(face_rows(order)), points, 0, FrictionOptions(order, moved=True, breakdown=True, **options)
    )
    kernel = rupture(law, c, made, coupling)
    if not isinstance(data, dict):
        data = faces(law, c, kernel, order, data, seed)
    data = {a.name: data[a.name] for a in kernel.arguments}
    scalars = friction_scalars(order, order) | {"ramp": np.zeros((order, 1))} | (scalars or {})
    return data, launch(name, "double", [kernel], [data], [scalars])[0]


def same(got: Any, want: Any) -> None:
    """Records and states to the bit, waves to rounding."""
    for name in set(want) & {"state", "stress", "record", "inner_state"}:
        assert np.array_equal(got[name], want[name]), name
    np.testing.assert_allclose(got["waves"], want["waves"], rtol=0, atol=1e-12 * np.abs(want["waves"]).max())


LAWS = [("linear-slip-weakening",), ("power-law-slip-weakening",), ("linear-slip-weakening", "thermal-pressurisation")]


@pytest.mark.parametrize("names", LAWS, ids="+".join)
@pytest.mark.parametrize("order", [2, 4])
def test_faces_that_break_within_a_step_are_never_left_out(names: tuple[str, ...], order: int) -> None:
    """Also those that are locked at its end, and at its beginning."""
    law = composed(names[0], names[1:])
    columns, record = law.shown_columns, recorded(True, True)
    healed = left_out = 0
    for seed in range(40):
        data, got = step(law, order, np.geomspace(1e5, 5e6, ITEMS), seed)
        want = step(restless(law), order, data)[1]
        same(got, want)
        state = columns.split(want["state"])
        slipped, at_end = (state["accumulated_slip"] != 0.0).any(1), (state["slip_rate"] > 0.0).any(1)
        healed += int((slipped & ~at_end).sum())
        left_out += int((~slipped).sum())
        assert (record.split(want["record"])["strength"] > 1e7).all()
    assert healed > 3 and left_out > 10, "the data should break faces in mid-step only, and leave others locked"


@pytest.mark.parametrize("coupling", [MatrixCoupling(), PoreCoupling()], ids=["anisotropic", "porous"])
def test_in_other_rock(coupling: Any) -> None:
    law = faults.law("linear-slip-weakening")
    data, got = step(law, 3, np.geomspace(1e4, 1e7, ITEMS), coupling=coupling)
    want = step(restless(law), 3, data, coupling=coupling)[1]
    same(got, want)
    assert 0.1 < (law.shown_columns.split(want["state"])["slip_rate"] > 0.0).mean() < 0.9


@pytest.mark.parametrize(
    "options", [{"linear_normal": True}, {"smooth_sliding": True}, {"quadratic_slip": True}], ids=str
)
def test_with_what_native_cases_smooth(options: dict[str, bool]) -> None:
    law = faults.law("linear-slip-weakening")
    data, got = step(law, 4, np.geomspace(1e4, 1e7, ITEMS), **options)
    same(got, step(restless(law), 4, data, **options)[1])


def broken(
    names: tuple[str, ...], name: str = "numpy", slack: Any = None, scalars: Any = None, change: Any = None
) -> np.ndarray:
    """Which items (ITEMS,) of faces far from slipping, but for those with little ``slack``, are solved at points: tables that only this
    needs are not numbers."""
    law = composed(names[0], names[1:])
    gaps = np.full(ITEMS, 2e7) if slack is None else slack
    data, clean = step(law, 3, gaps, scalars=scalars)
    data = {k: v.copy() for k, v in data.items()}
    if change:
        change(law, data)
    data["back"] = np.full_like(data["back"], np.nan)
    got = step(law, 3, data, name=name, scalars=scalars)[1]["waves"]
    slots = data["slots"][:, 2:]
    solved = np.isnan(got[slots]).any((1, 2))
    if not change:
        np.testing.assert_allclose(got[slots[~solved]], clean["waves"][slots[~solved]], rtol=1e-12, atol=1e-3)
    return np.asarray(solved)


@pytest.mark.parametrize("name", ALL)
def test_locked_faces_are_left_out(name: str) -> None:
    """Of vectors of faces those without one that may slip."""
    assert not broken(("linear-slip-weakening",), name).any()
    slack = np.full(ITEMS, 2e7)
    slack[5] = 1e3
    solved = broken(("linear-slip-weakening",), name, slack)
    lanes = int(solved.sum())
    assert solved[5]
    if name != "numpy":  # which takes all items at once
        assert lanes < ITEMS and solved[5 // lanes * lanes :][:lanes].all()


def column(kind: str, name: str, value: float) -> Any:
    def change(law: FrictionLaw, data: dict[str, np.ndarray]) -> None:
        place: Any = law.shown_columns.places[name] if kind == "state" else law.kernel_parameters.index(name)
        data[kind][..., place] = value

    return change


@pytest.mark.parametrize(
    "names, change, solved",
    [
        (LAWS[0], column("parameter", "forced_rupture_time", 1.0 + STEP), True),  # at the end of the step
        (LAWS[0], column("parameter", "forced_rupture_time", 1.001 + STEP), False),
        (LAWS[0], column("state", "slip_rate", 1e-9), True),  # it must become zero
        (LAWS[0], column("state", "friction", 0.59), True),  # friction that does not fit the slip
        (LAWS[1], column("state", "accumulated_slip", 0.1), True),
        (LAWS[2], column("state", "peak_slip_rate", 1e-9), True),  # what was heated goes on changing pressure
        (LAWS[2], None, False),
        (("linear-slip-weakening", "prakash-clifton"), None, True),  # strength follows stress although nothing slips
        (LAWS[0], column("parameter", "cohesion", 0.0), False),
        (LAWS[0], column("parameter", "mu_s", 0.61), True),
    ],
)
def test_points_that_change_without_slip_are_solved(names: tuple[str, ...], change: Any, solved: bool) -> None:
    found = broken(names, change=change or (lambda law, data: None))
    assert found.all() if solved else not found.any()


def test_faces_that_slid_are_not_asked() -> None:
    """Until they have not slid for a step; what they leave is the same."""
    law, gaps = faults.law("linear-slip-weakening"), np.geomspace(1e5, 5e6, ITEMS)
    data, first = step(law, 3, gaps)
    slid = (law.shown_columns.split(first["state"])["accumulated_slip"] != 0.0).any(1)
    assert np.array_equal(first["slides"][:, 0, 0] > 0.0, slid) and 0.2 < slid.mean() < 0.9
    hinted = step(law, 3, data | {"slides": np.ones((ITEMS, 1, 1))})[1]
    same(hinted, first)
    assert np.array_equal(hinted["slides"], first["slides"])
    assert broken(LAWS[0], change=lambda law, data: data["slides"].fill(1.0)).all()


@pytest.mark.parametrize(
    "component, shear, solved", [(0, 73.36e6, True), (0, 73.06e6, False), (3, 73.4e6, True), (3, 73.1e6, False)]
)
def test_faces_that_may_slip_only_at_the_first_times_of_a_step(component: int, shear: float, solved: bool) -> None:
    """Compression grows from 120.2 to 121.1 MPa, or shear traction along the first tangent falls by 0.2 to 1.2 MPa from the first of the
    times to the last. Without that the strength is 73 MPa."""

    def pressed(law: FrictionLaw, data: dict[str, np.ndarray]) -> None:
        direction, first = (
            data["frame"][:, 0, component : component + 3],
            face_rows(3)[0],
        )  # the constant part of the derivative
        for side, sign in ((0, 1.0), (1, -1.0)):
            derivatives = np.zeros((ITEMS, sum(face_rows(3)), 3))
            derivatives[:, first] = -sign * 1e6 / STEP * direction
            left = np.concatenate([left_in_time(derivatives, 3), 0.0 * derivatives], 1)  # waves, velocities
            data["waves_in_time"][data["slots"][:, side]] = left.reshape(ITEMS, -1)
        data["stress"][..., 1:] = shear, 0.0

    found = broken(LAWS[0], change=pressed)
    assert found.all() if solved else not found.any()


def test_open_points_without_cohesion_are_solved() -> None:
    """In tension there is no strength."""

    def tension(law: FrictionLaw, data: dict[str, np.ndarray]) -> None:
        data["stress"][..., 0] = 5e6
        data["stress"][..., 1:] = 0.0
        column("parameter", "cohesion", 0.0)(law, data)

    assert broken(LAWS[0], change=tension).all()


def test_faces_are_solved_while_stress_is_added() -> None:
    """An episode adds to it in all of its sub-steps."""
    law, scalars = faults.law("linear-slip-weakening"), friction_scalars(3, 3)
    made = FrictionSizes(tuple(face_rows(3)), len(point_rule("symmetric", 2).weights), 1, FrictionOptions(3))
    kernel = rupture(law, law.settings({}), made)
    data = faces(law, law.settings({}), kernel, 3, np.full(ITEMS, 2e7), 0)
    data["nucleation"] = np.full((ITEMS, made.points, 3), 4e6)
    for ramp in ([0.0, 0.25, 0.0], [0.0, 0.0, 0.0]):
        given = scalars | {"ramp": np.array(ramp)[:, None]}
        after = launch("numpy", "double", [kernel], [data], [given])[0]["stress"]
        np.testing.assert_allclose(after - data["stress"], 4e6 * sum(ramp), rtol=1e-6)


def test_what_a_law_says_of_rest() -> None:
    """Modifiers and law all must."""
    heated = {"peak_slip_rate": np.array([0.0, 1.0])}
    plain, delayed = faults.law("linear-slip-weakening"), composed("linear-slip-weakening", ["prakash-clifton"])
    hot = composed("linear-slip-weakening", ["thermal-pressurisation"])
    assert plain.stays_locked({}, {}, {}) is True and delayed.stays_locked({}, {}, heated) is False
    assert np.array_equal(hot.stays_locked({}, {}, heated), [True, False])
    assert faults.law("rate-and-state-ageing").stays_locked({}, {}, heated) is False
