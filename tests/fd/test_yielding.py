"""Rock that yields on grids: the stencils against the exact relaxation, and what their averages may do."""

from dataclasses import replace

import numpy as np
import pytest

from faultwave.backends import missing
from faultwave.fd.operators.points import norm_weights
from faultwave.fd.rheology import yielding
from faultwave.physics.rheology import STRESS, rheology

from . import setups

LAW = rheology("drucker-prager")
COHESION, FRICTION, TIME = 2e6, 0.6, 0.02
AT_REST = dict(zip(STRESS, (-3e6, -2e6, -4e6, 3e5, 2e5, -1e5), strict=True))
ARRAYS = dict(zip(STRESS, ("sxx", "syy", "szz", "sxy", "syz", "sxz"), strict=True))
PERIODIC = dict.fromkeys(("x-", "x+", "y-", "y+", "z-", "z+"), "periodic")
BACKENDS = [
    "numpy",
    "cpu",
    pytest.param("opencl", marks=pytest.mark.skipif(bool(missing("opencl")), reason="no OpenCL")),
]


def rock(backend, sides=None, constants=None, cohesion=COHESION, lateral=False, shape=(20, 16, 16), at_rest=AT_REST):
    """A grid at rest that yields, and its step."""
    scheme = replace(setups.scheme(shape, sides), yields=True)
    constants = constants or {"relaxation_time": TIME, "seissol_strain": 0.0}
    observer = yielding.observers(scheme, scheme.grid.box, LAW, constants, yielding.RockStorage(lateral), {})
    made = setups.runner(scheme, backend, "double", observers=[observer])
    for name, values in yielding.lines(scheme, lambda z: {n: np.full(len(z), v) for n, v in at_rest.items()}).items():
        made.view(name)[...] = values
    given = {"plastic_cohesion": cohesion, "bulk_friction": FRICTION}
    p = LAW.prepare(given, constants, {"mu": np.array(setups.MU)})
    for name in yielding.own_parameters(LAW):
        if lateral:
            made.view(name, 1)[:, 1:-1, 1:-1] = p[name]
        else:
            made.view(name)[...] = p[name]
    return scheme, made


def steps(made, count=1):
    made.run(count, np.zeros((len(made.program.levels), count, 1)))


def add(made, change):
    for name, value in change.items():
        made.view(ARRAYS[name], 2)[...] += value


def whole_stress(made, at=(7, 7, 7)):
    return np.array([float(made.view(ARRAYS[n])[at]) + AT_REST[n] for n in STRESS])


def relaxed(stress, time, relaxation=TIME):
    """The exact solution of d s / dt = -(s / tau) (tau - tau_c) / T after a time; the mean stays, and so tau_c."""
    mean = stress[:3].mean()
    deviator = stress - np.array([mean] * 3 + [0.0] * 3)
    tau = np.sqrt(0.5 * (deviator[:3] ** 2).sum() + (deviator[3:] ** 2).sum())
    phi = np.arctan(FRICTION)
    limit = max(0.0, COHESION * np.cos(phi) - mean * np.sin(phi))
    new = tau if tau <= limit else limit + (tau - limit) * np.exp(-time / relaxation)
    lost = 1.0 - new / tau
    return stress - lost * deviator, (tau - new) / (2 * setups.MU), (tau**2 - new**2) / (2 * setups.MU)


LOADS = (
    ({"s_xy": 6e6, "s_xx": 2e6, "s_yz": -2e6}, 5),
    ({"s_xy": -4e6, "s_yz": 2e6}, 3),
    ({"s_xz": 5e6, "s_xy": 3e6, "s_zz": 4e6}, 4),
)


def driven(backend, relaxation=TIME):
    """Stress, eta and work of one of many equal cells, and the exact ones, after each load."""
    scheme, made = rock(backend, PERIODIC)
    exact, eta, work, found = np.array(list(AT_REST.values())), 0.0, 0.0, []
    for change, count in LOADS:
        add(made, change)
        exact = exact + [change.get(n, 0.0) for n in STRESS]
        steps(made, count)
        exact, more, lost = relaxed(exact, count * scheme.step, relaxation)
        eta, work = eta + more, work + lost
        state = [float(made.view(n)[7, 7, 7]) for n in yielding.YIELDED]
        found.append((whole_stress(made), exact, state, [eta, work]))
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_load_unload_and_reload_follow_the_exact_relaxation(backend):
    found = driven(backend)
    for stress, exact, state, known in found:
        assert np.abs(stress - exact).max() < 1e-12 * np.abs(exact).max()
        assert state == pytest.approx(known, rel=1e-11)
    (first, _, (eta, _), _), (_, _, (same, _), _), (_, _, (more, _), _) = found
    assert eta > 0 and same == eta < more  # unloading is elastic


def test_the_exact_relaxation_tells_formulas_apart():
    """Times that differ by a hundredth are told from each other, with a margin of many digits."""
    stress, exact, _, _ = driven("numpy", 1.01 * TIME)[0]
    assert np.abs(stress - exact).max() > 1e-4 * np.abs(exact).max()


def test_shear_stresses_lose_the_mean_of_the_centres_around():
    """One weak cell alone: its normal stresses lose its share, the shear stresses around it a quarter of it, others nothing."""
    cohesion = np.full((22, 16, 16), 1e12)
    cohesion[9, 8, 7] = COHESION  # of the cell (8, 8, 7): one plane of the halo comes before
    scheme, made = rock("numpy", PERIODIC, cohesion=cohesion, lateral=True)
    add(made, {"s_xy": 6e6, "s_xz": 3e6, "s_yz": -2e6})
    before = {n: made.view(n).copy() for n in ARRAYS.values()}
    steps(made)
    lost = made.view(yielding.LOST_SHARE)
    share = float(lost[8, 8, 7])
    assert share > 0 and (lost > 0).sum() == 1
    mean = np.mean([before[n][0, 0, 0] + AT_REST[f"s_{n[1:]}"] for n in ("sxx", "syy", "szz")])
    for name, (a, b) in yielding.IN_PLANE.items():
        array = ARRAYS[name]
        expected = before[array].copy()
        total = expected[0, 0, 0] + AT_REST[name]
        for far in ((0, 0), (1, 0), (0, 1), (1, 1)):
            at = np.array([8, 8, 7])
            for axis, back in zip((a, b), far, strict=True):
                at["zyx".index(axis)] -= back
            expected[tuple(at)] -= 0.25 * share * total
        assert np.abs(made.view(array) - expected).max() < 1e-9 * abs(total), name
    for array in ("sxx", "syy", "szz"):
        expected = before[array].copy()
        expected[8, 8, 7] -= share * (expected[8, 8, 7] + AT_REST[f"s_{array[1:]}"] - mean)
        assert np.abs(made.view(array) - expected).max() < 1e-9 * abs(mean), array


def strain_energy(scheme, made, at_rest):
    """Of the whole stress, in the norm of the grid."""
    top, total = scheme.grid.shape[0], 0.0
    for k in range(top + 1):
        s = {n: made.view(ARRAYS[n], 1)[1 + k, 1:-1, 1:-1] + v for n, v in at_rest.items()}
        trace, square = s["s_xx"] + s["s_yy"] + s["s_zz"], s["s_xx"] ** 2 + s["s_yy"] ** 2 + s["s_zz"] ** 2
        normal = (square - setups.LAM / (3 * setups.LAM + 2 * setups.MU) * trace**2) / (4 * setups.MU)
        total += float(norm_weights(scheme, "szz", k)) * normal.sum()
        for name in ("s_xy", "s_xz", "s_yz"):
            if name == "s_xy" or k < top:
                total += 0.5 * float(norm_weights(scheme, ARRAYS[name], k)) * (s[name] ** 2 / setups.MU).sum()
    return total


def test_yielding_never_adds_energy():
    """Random stresses below a free surface in rock that cannot move."""
    still = dict.fromkeys(STRESS, 0.0)
    scheme, made = rock("numpy", at_rest=still)
    rng = np.random.default_rng(5)
    for array in ARRAYS.values():
        made.view(array, 1)[1:, 1:-1, 1:-1] = rng.normal(0.0, 4e6, made.view(array, 1)[1:, 1:-1, 1:-1].shape)
    for axis in "xyz":
        made.view(f"b_{axis}", 1)[...] = 0.0
    before = strain_energy(scheme, made, still)
    found = []
    for _ in range(12):
        steps(made)
        found.append(strain_energy(scheme, made, still))
    falls = -np.diff([before, *found])
    assert (falls > 0).all() and found[-1] < 0.85 * before
    planes = norm_weights(scheme, "szz", np.arange(scheme.grid.shape[0] + 1))
    counted = sum(planes[k] * made.view("plastic_work", 1)[1 + k, 1:-1, 1:-1].sum() for k in range(len(planes)))
    assert counted == pytest.approx(before - found[-1], rel=0.06)  # plain means of the shear stresses count half
    yielded = made.view("eta", 1)[1:-1, 1:-1, 1:-1] > 0
    assert yielded[:, 4:-4, 4:-4][4:].mean() > 0.3
    layers = [yielded[:4], yielded[:, :4], yielded[:, -4:], yielded[:, :, :4], yielded[:, :, -4:]]
    assert not any(layer.any() for layer in layers)  # absorbing layers stay elastic
    assert (made.view("eta", 1)[-1, 5:-5, 5:-5] > 0).any()  # the surface itself yields


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_backends_agree_below_a_free_surface(backend):
    results = []
    for name in ("numpy", backend):
        scheme, made = rock(name)
        rng = np.random.default_rng(7)
        for array in ARRAYS.values():
            inside = made.view(array)[6:-1, 6:-6, 6:-6]
            inside[...] = rng.normal(0.0, 4e6, inside.shape)
        steps(made, 6)
        names = (*ARRAYS.values(), "u", "w", *yielding.YIELDED, yielding.INITIAL_STRESS_WORK)
        results.append({n: made.view(n, 1).copy() for n in names})
    for n, values in results[0].items():
        assert np.abs(values - results[1][n]).max() <= 1e-12 * np.abs(values).max(), n
        assert np.abs(values).max() > 0, n
