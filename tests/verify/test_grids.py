"""Small runs of the verifications of grids, and the wavenumber integration against the exact full space."""

import numpy as np
import pytest

from faultwave.fd.method.absorbing import stable_along
from faultwave.run import simulate
from faultwave.verify.cases.grids import absorbing, attenuation, full_space, layered, surface_waves
from faultwave.verify.exact import Medium, half_space
from faultwave.verify.exact.full_space import FullSpace, tensor
from faultwave.verify.exact.half_space import Layer, LayeredHalfSpace
from faultwave.verify.exact.time_functions import ricker

ROCK = Medium(2500.0, 1e10, 1e10)


def test_layers_of_one_material_are_no_layers():
    def spectrum(w):
        return np.exp(-((w * 0.2) ** 2) / 2 + 1.2j * w)

    moment = np.array(tensor(xy=1e15, xz=3e14, zz=-2e14))
    points = np.array([[700.0, 900.0], [-1500.0, 300.0]])
    one, cut = (
        LayeredHalfSpace([Layer(t, 2500.0, ROCK.cp, ROCK.cs) for t in tops], 1500.0, spectrum, moment=moment).velocity(
            points, 8.0, 4.0
        )
        for tops in ((0.0,), (0.0, 400.0, 1500.0, 2100.0))
    )
    assert np.abs(cut[1] - one[1]).max() < 1e-9 * np.abs(one[1]).max()


def test_what_waves_do_after_the_window_does_not_come_back_at_its_beginning():
    """A layer rings for longer than the window; before the first wave arrives there is nothing."""
    layers = [Layer(0.0, 2600.0, 4000.0, 2000.0), Layer(1000.0, 2700.0, 6000.0, 3464.0)]

    def spectrum(w):
        return np.exp(-((w * 0.2) ** 2) / 2 + 1.2j * w)

    exact = LayeredHalfSpace(layers, 2000.0, spectrum, moment=np.array(tensor(xy=1e18)))
    times, found = exact.velocity(np.array([[6000.0, 8000.0]]), 4.0, 5.0)
    assert np.abs(found[0, times < 0.5]).max() < 3e-4 * np.abs(found).max()


@pytest.mark.parametrize("kind", ["moment", "force"])
def test_sh_waves_double_at_the_surface(kind):
    """Transverse motion right above a transverse source comes from its mirror image alone: twice that of a full space."""
    f = 1.0
    source = {"moment": np.array(tensor(yz=1e15))} if kind == "moment" else {"force": np.array([0.0, 1e11, 0.0])}

    def spectrum(w):  # of the Ricker wavelet (1 - 2 a) exp(-a), a = (pi f (t - 1.5 / f))^2
        wavelet = (
            2 / np.sqrt(np.pi) * (w / (2 * np.pi * f)) ** 2 / f * np.exp(-((w / (2 * np.pi * f)) ** 2) + 1.5j * w / f)
        )
        return wavelet * (1.0 if kind == "moment" else -1j * w)

    depth = 12000.0
    times, found = LayeredHalfSpace([Layer(0.0, 2500.0, ROCK.cp, ROCK.cs)], depth, spectrum, **source).velocity(
        np.array([[1.0, 0.0]]), 16.0, 4.0
    )
    exact = {"moment": tuple(map(tuple, source["moment"]))} if kind == "moment" else {"force": tuple(source["force"])}
    expected = FullSpace(ROCK, ricker(f, 1.5 / f), location=(0.0, 0.0, -depth), **exact).velocity(
        np.array([[1.0, 0.0, 0.0]]), times
    )[0]
    s_wave = np.abs(times - depth / ROCK.cs - 1.5) < 1.5
    difference = np.abs(found[0, s_wave, 1] - 2 * expected[s_wave, 1]).max()
    assert difference < 0.015 * 2 * np.abs(expected[s_wave, 1]).max()


@pytest.mark.parametrize("kind", ["moment-tensor", "force"])
def test_full_space_nearby(kind):
    found = full_space.misfits(full_space.settings(kind, 1.0), kind)
    assert len(found) == 1 and found[0] < 0.01


def test_a_layer_over_a_half_space_far_from_coarse():
    found = layered.layer_over_half_space(True, spacing=200.0)
    assert found[1] < 0.12  # three points per wavelength at the top of the spectrum; the verification has eight


def test_a_force_on_the_surface():
    assert layered.lamb_on_top(spacing=100.0) < 0.025


def test_steps_of_a_force_on_the_surface():
    """Nothing before the P wave, then what Boussinesq's static solution says, 6 of the unit, behind the Rayleigh wave."""
    tau = np.array([0.1, half_space.P_ARRIVAL, 1.0, half_space.RAYLEIGH_ARRIVAL, 3.0, 4.0])
    found = half_space.step_integral(tau)
    assert (found[:2] == 0).all() and found[5] - found[4] == pytest.approx(6.0)
    fine = np.linspace(0, 2, 4001)
    rises = np.diff(half_space.step_integral(fine)) / np.diff(fine)
    assert np.abs(rises[fine[1:] < half_space.P_ARRIVAL + 0.01]).max() < 0.3  # it sets in from nothing
    assert rises[fine[1:] < half_space.RAYLEIGH_ARRIVAL].min() < -10  # and goes to infinity at the Rayleigh wave


def test_a_bump_of_force_leaves_nothing_behind():
    """Nothing moves before the P wave; displacement adds up to Boussinesq's static one, and is back at rest behind the Rayleigh wave."""
    distance = 3000.0
    times = np.linspace(0, 4, 801)
    found = half_space.vertical_displacement(ROCK, distance, times)
    assert (np.abs(found[times < distance / ROCK.cp]) < 1e-6 * np.abs(found).max()).all()
    assert np.trapezoid(found, times) == pytest.approx(0.75 / (2 * np.pi * ROCK.mu * distance), rel=2e-3)
    assert (
        np.abs(found[times > half_space.RAYLEIGH_ARRIVAL * distance / ROCK.cs + 1.01]) < 1e-4 * np.abs(found).max()
    ).all()


def test_rayleigh_waves_at_six_points():
    assert surface_waves.rayleigh_error(6, 3**0.5) == pytest.approx(0.0037, abs=1e-4)


def test_layers_swallow_waves_and_stay_stable():
    layers = absorbing.LAYERED["Vp/Vs 3.75"]
    assert absorbing.left_over("cpml", layers, 4000) < 1e-3
    assert absorbing.left_over("sponge", layers, 2000) < 1e-2


@pytest.mark.parametrize(
    ("kind", "frequency", "q", "along", "limit"),
    [("S", 0.3, 50.0, "z", 0.03), ("P", 3.0, 50.0, "y", 0.03), ("S", 1.78, 20.0, "x", 0.045)],
)
def test_plane_waves_decay_as_asked(kind, frequency, q, along, limit):
    found, speed = attenuation.plane_wave(kind, frequency, q, along=along)
    assert found == pytest.approx(attenuation.in_time(q), rel=limit)
    assert speed == pytest.approx(attenuation.ROCK[f"v{kind.lower()}"], rel=0.02)


def test_constant_quality_in_the_reference_of_layers():
    modulus = layered.constant_q(40.0)(np.array([0.5, 2.5]) + 0j)
    assert modulus.real / modulus.imag == pytest.approx([40, 40])
    speeds = 1 / (1 / np.sqrt(modulus)).real
    assert speeds[1] == pytest.approx(1.0) and speeds[0] == pytest.approx(5 ** (-np.arctan(1 / 40) / np.pi))


def test_waves_decay_less_at_high_frequencies_where_quality_grows():
    """Needs all eight mechanisms, in a medium that depends on no coordinate."""
    assert attenuation.plane_wave("S", 8.0, 40.0, exponent=0.4)[0] == pytest.approx(40 * 8**0.4, rel=0.05)


@pytest.mark.parametrize(("kind", "along"), [("cpml", None), ("cpml", absorbing.ALONG), ("sponge", None)])
def test_boxes_of_the_verification_of_layers_are_sound(kind, along):
    assert simulate(absorbing.box(kind, 0.0, 0.1, along)).plan.steps > 1


def test_damping_along_grows_with_contrast():
    assert [stable_along(c) for c in (1.7, 3.0, 4.5, 6.0, 100.0)] == pytest.approx([0, 0, 0.01, 0.02, 0.02])
