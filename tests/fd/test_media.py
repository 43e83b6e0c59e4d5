"""What a cell feels of a material that varies within it."""

import numpy as np
import pytest

from faultwave.fd.method import effective_medium as medium_module
from faultwave.fd.method.effective_medium import effective_medium
from faultwave.fd.method.grid import Grid
from faultwave.kernels.stencil import Box
from faultwave.media.attenuation import Spectrum, relaxation
from faultwave.media.field import Expression

UPPER, LOWER = {"rho": 2000.0, "lambda": 4e9, "mu": 2e9}, {"rho": 3000.0, "lambda": 3e10, "mu": 4e10}
GRID = Grid((0.0, 0.0, -800.0), 100.0, (8, 8, 8))


def layered(upper, lower, axis, at):
    """Coefficients around an interface across ``axis``, which lies ``at`` cells above the lowest corner."""
    edge = GRID.lower[axis] + 100.0 * at

    text = {n: f"if ({'xyz'[axis]} > {edge}) {{ return {upper[n]}; }} return {lower[n]};" for n in upper}
    field = Expression.of(text)
    found = effective_medium(field, GRID, (np.array(GRID.lower), np.array(GRID.upper)), None, np.float64).coefficients
    whole = {n: np.broadcast_to(v, GRID.shape) for n, v in found.items()}
    return lambda name, cell: whole[name][tuple(cell if k == 2 - axis else 4 for k in range(3))]


def p_modulus(values):
    return values["lambda"] + 2 * values["mu"]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.875])
def test_moduli_across_and_along_an_interface(axis, share):
    c = layered(UPPER, LOWER, axis, 3 + share)  # cell 3 holds ``share`` of the lower material
    mean = lambda a, b: share * a + (1 - share) * b  # noqa: E731
    harmonic = lambda a, b: 1 / mean(1 / a, 1 / b)  # noqa: E731
    planes = {n: [k for k in "xyz" if k in n[2:]] for n in ("mu_xy", "mu_xz", "mu_yz")}
    for name, plane in planes.items():
        if "xyz"[axis] not in plane:  # sits at the height of the centre
            assert c(name, 3) == pytest.approx(mean(LOWER["mu"], UPPER["mu"]))
    across, along = harmonic(p_modulus(LOWER), p_modulus(UPPER)), mean(p_modulus(LOWER), p_modulus(UPPER))
    assert c("lam", 3) + c("mu2", 3) == pytest.approx((across + 2 * along) / 3)
    k = [v["lambda"] + 2 / 3 * v["mu"] for v in (LOWER, UPPER)]
    assert c("lam", 3) == pytest.approx(harmonic(*k) - 2 / 3 * harmonic(LOWER["mu"], UPPER["mu"]))


def test_shear_across_an_interface_and_density():
    c = layered(UPPER, LOWER, 2, 3.75)  # half an edge up: cells from 3.5 to 4.5, a quarter of them below
    assert c("mu_xz", 3) == pytest.approx(1 / (0.25 / LOWER["mu"] + 0.75 / UPPER["mu"]))
    assert 1 / c("b_z", 3) == pytest.approx(0.25 * LOWER["rho"] + 0.75 * UPPER["rho"])
    assert 1 / c("b_x", 3) == pytest.approx(0.75 * LOWER["rho"] + 0.25 * UPPER["rho"])


def test_two_fluids_and_a_fluid_on_rock_bear_no_shear():
    water, oil = {"rho": 1000.0, "lambda": 2.2e9, "mu": 0.0}, {"rho": 800.0, "lambda": 1.5e9, "mu": 0.0}
    for lower in (oil, LOWER):
        c = layered(water, lower, 2, 3.5)
        assert c("mu2", 3) == 0 and c("mu2", 6) == 0
    assert c("mu2", 1) == pytest.approx(2 * LOWER["mu"])


@pytest.mark.parametrize("upper", [UPPER, {"rho": 1000.0, "lambda": 2.2e9, "mu": 0.0}])
def test_the_plane_on_the_surface_feels_half_a_cell(upper):
    """Where an interface is a quarter of a spacing below it."""
    text = {n: f"if (z > -25) {{ return {upper[n]}; }} return {LOWER[n]};" for n in upper}
    box, corners = Box((3, 0, 0), (9, 8, 8)), (np.array(GRID.lower), np.array(GRID.upper))
    found = effective_medium(Expression.of(text), GRID, corners, None, np.float64, box=box).coefficients
    inside = effective_medium(Expression.of(text), GRID, corners, None, np.float64).coefficients
    for name, values in found.items():
        assert len(values) == 6 and np.array_equal(values[:-1], inside[name][3:]), name
    assert found["mu_xy"][-1] == pytest.approx(0.5 * (LOWER["mu"] + upper["mu"]))
    assert 1 / found["b_x"][-1] == pytest.approx(0.5 * (LOWER["rho"] + upper["rho"]))
    bulk = [v["lambda"] + 2 / 3 * v["mu"] for v in (LOWER, upper)]
    shear = 2 / (1 / LOWER["mu"] + 1 / upper["mu"]) if upper["mu"] else 0.0
    assert found["lam"][-1] == pytest.approx(2 / sum(1 / k for k in bulk) - 2 / 3 * shear)


def test_nothing_moves_along_the_surface_of_a_fluid():
    """There is no pressure."""
    water = {"rho": "1000", "lambda": "2200000000", "mu": "if (x > 400) { return 0; } return 1000000000;"}
    box, corners = Box((3, 0, 0), (9, 8, 8)), (np.array(GRID.lower), np.array(GRID.upper))
    found = effective_medium(Expression.of(water), GRID, corners, None, np.float64, box=box).coefficients
    moves = np.broadcast_to(found["b_x"], box.shape)[:, 4] > 0
    assert moves[:-1].all() and moves[-1].tolist() == [True] * 4 + [False] * 4


def test_the_slowest_wave_is_that_of_water_over_fast_rock():
    """P waves of water are as short as S waves of 1,500 m/s."""
    text = {
        "rho": "return 2500;",
        "lambda": "if (z > -400) { return 5625000000; } return 30000000000;",
        "mu": "if (z > -400) { return 0; } return 25000000000;",
    }
    found = effective_medium(
        Expression.of(text), GRID, (np.array(GRID.lower), np.array(GRID.upper)), None, np.float64, 1600.0
    )
    assert found.slowest == pytest.approx(1500.0) and found.slow_place[2] > -400
    assert found.shear == pytest.approx(np.sqrt(1e7)) and found.too_slow == pytest.approx(0.5, abs=0.05)


def test_slabs_of_single_planes_give_the_same_medium(monkeypatch):
    """Wide grids are sampled plane by plane, to bound the memory; no bit depends on it."""
    text = {n: f"if (z + 0.3*x - 0.2*y > -310) {{ return {UPPER[n]}; }} return {LOWER[n]};" for n in UPPER}
    text |= {"Qp": "return 80 + 0.01*x;", "Qs": "return 40 - 0.01*z;"}
    fitted = relaxation(Spectrum(0.1, 10.0, 1.0))

    def found():
        corners = (np.array(GRID.lower), np.array(GRID.upper))
        return effective_medium(Expression.of(text), GRID, corners, fitted, np.float64, limit=1500.0)

    whole = found()
    monkeypatch.setattr(medium_module, "MOST_SAMPLES", 1)
    single = found()
    assert whole.coefficients.keys() == single.coefficients.keys()
    for name, values in whole.coefficients.items():
        np.testing.assert_array_equal(values, single.coefficients[name], err_msg=name)
    assert (whole.fastest, whole.slowest, whole.shear) == (single.fastest, single.slowest, single.shear)
