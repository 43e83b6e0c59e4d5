"""Intensity measures against closed forms and an independent integration."""

import numpy as np
import pytest

from faultwave.observe.motions.measures import (
    GRAVITY,
    fourier,
    lasting,
    left_alone,
    measures,
    oscillator,
    response,
    smoothed,
)

STEP = 0.005


def sine(frequency=1.0, length=20.0):
    t = np.arange(0.0, length, STEP)
    return t, np.sin(2 * np.pi * frequency * t)


@pytest.mark.parametrize("period", [0.2, 1.0, 4.0])
def test_response_is_the_recursion_from_rest(period):
    acceleration = np.random.default_rng(1).normal(size=(2, 200))
    a, b = oscillator(period, 0.05, STEP)
    state, found = np.zeros((2, 2)), [np.zeros(2)]
    for k in range(199):
        state = a @ state + b @ acceleration[:, k : k + 2].T
        found.append(state[0])
    np.testing.assert_allclose(response(acceleration, STEP, period), np.array(found).T, atol=1e-14)


def test_a_stiff_oscillator_feels_the_peak_acceleration():
    t, a = sine(0.2)
    stiff = (2 * np.pi / 0.05) ** 2 * np.abs(response(a, STEP, 0.05)).max()
    assert stiff == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("period", [1.0, 2.0, 3.0, 5.0])
@pytest.mark.parametrize("damping", [0.0, 0.05, 0.5])
def test_oscillators_swing_on_after_a_short_record(period, damping):
    """As after one with zeros at its end: the ground keeps the velocity it has."""
    t = STEP * np.arange(201)
    v = np.sin(0.5 * np.pi * t) ** 2
    short, long = (
        measures(STEP, w, 0.4 * w, periods=(period,), damping=damping).rotd(100)[f"SA({period})"]
        for w in (v, np.pad(v, (0, 4000), "edge"))
    )
    assert short == pytest.approx(long, rel=2e-3)


def test_oscillators_left_alone_turn_where_their_recursion_does():
    period, damping, step = 2.0, 0.05, 1e-3
    a, _ = oscillator(period, damping, step)
    rng = np.random.default_rng(3)
    x, v = rng.normal(size=20), rng.normal(scale=3.0, size=20)
    state, largest = np.array([x, v]), np.abs(x)
    for _ in range(4000):
        state = a @ state
        largest = np.maximum(largest, np.abs(state[0]))
    np.testing.assert_allclose(left_alone(x, v, period, damping), largest, rtol=1e-5)
    assert left_alone(np.zeros(1), np.zeros(1), period) == 0.0


def test_windows_are_those_of_konno_and_ohmachi():
    """Bull. Seism. Soc. Am. 88 (1998), eq. 4: (sin(b log10(f/fc)) / (b log10(f/fc)))^4, here over the sum of all."""
    frequency, b = np.array([0.97, 0.985, 1.0, 1.012, 1.03]), 40.0
    z = b * np.log10(frequency)
    window = np.array([1.0 if x == 0 else (np.sin(x) / x) ** 4 for x in z])
    for k in range(len(frequency)):
        line = np.eye(len(frequency))[k]
        assert smoothed(frequency, line, np.array([1.0]), b)[0] == pytest.approx(window[k] / window.sum(), rel=1e-12)
    assert window[0] == pytest.approx(0.828, abs=1e-3)


def test_ten_samples_a_period_are_enough():
    def tone(step, period=0.1):
        t = np.arange(0.0, 20.0, step)
        return np.exp(-(((t - 8) / 2) ** 2)) * np.sin(2 * np.pi / period * t)

    coarse, fine = (measures(step, tone(step), 0 * tone(step), periods=(0.1,)) for step in (0.01, 0.0005))
    for name in ("PGA", "Arias", "CAV", "SA(0.1)"):
        assert coarse.rotd(100)[name] == pytest.approx(fine.rotd(100)[name], rel=0.02)


def test_linear_motion_has_its_largest_along_itself():
    t, v = sine()
    found = measures(STEP, 0.6 * v, 0.8 * v)
    assert found.rotd(100)["PGV"] == pytest.approx(1.0, rel=1e-3)
    assert found.rotd(50)["PGV"] == pytest.approx(np.cos(np.pi / 4), rel=0.02)  # the median of |cos| over half a turn
    assert found.rotd(100)["PGA"] == pytest.approx(2 * np.pi, rel=1e-3)


def test_circular_motion_is_the_same_in_all_directions():
    t, _ = sine()
    found = measures(STEP, np.cos(2 * np.pi * t), np.sin(2 * np.pi * t))
    for name in ("PGV", "PGA", "SA(1.0)"):
        assert found.rotd(50)[name] == pytest.approx(found.rotd(100)[name], rel=0.02)


def test_integrals_of_a_sine():
    t, v = sine()
    found = measures(STEP, v, 0 * v, up=v).rotd(100)
    size = 2 * np.pi
    assert found["Arias"] == pytest.approx(np.pi / (2 * GRAVITY) * size**2 * 10.0, rel=1e-3)
    assert found["CAV"] == pytest.approx(size * 2 / np.pi * 20.0, rel=1e-3)
    assert found["D5-95"] == pytest.approx(0.9 * 20.0, rel=0.01)
    assert found["D5-75"] == pytest.approx(0.7 * 20.0, rel=0.02)
    assert measures(STEP, v, 0 * v, up=2 * v).vertical["PGV"] == pytest.approx(2.0, rel=1e-3)


def test_periods_that_are_not_sampled_are_no_number():
    t, v = sine()
    found = measures(STEP, v, v, periods=(0.02, 1.0)).rotd(50)
    assert np.isnan(found["SA(0.02)"]) and found["SA(1.0)"] > 0


def test_duration_of_growth_at_a_constant_rate():
    growth = np.tile(np.linspace(0, 1, 101), (2, 1)) * [[1.0], [0.0]]
    np.testing.assert_allclose(lasting(growth, 0.1, 0.05, 0.95), [9.0, 0.0])


def test_fourier_spectrum_of_a_pulse():
    n, width = 4000, 0.2
    t = STEP * np.arange(n) - 4.0
    pulse = np.exp(-0.5 * (t / width) ** 2)
    frequency, found = fourier(np.array([pulse, pulse]), STEP)
    expected = width * np.sqrt(2 * np.pi) * np.exp(-0.5 * (2 * np.pi * frequency * width) ** 2)
    some = (frequency > 0.2) & (frequency < 2.0)
    np.testing.assert_allclose(found[some], expected[some], rtol=0.02)


def test_fourier_spectrum_up_to_a_fourth_of_the_sampling_rate():
    t = STEP * np.arange(4000) - 4.0
    velocity = np.exp(-0.5 * (t / 0.01) ** 2)
    made = measures(STEP, velocity, velocity)
    size = (
        2 * np.pi * made.frequency * 0.01 * np.sqrt(2 * np.pi) * np.exp(-0.5 * (2 * np.pi * made.frequency * 0.01) ** 2)
    )
    some = (made.frequency > 1.0) & (made.frequency < 45.0)
    np.testing.assert_allclose(made.fourier[some], size[some], rtol=0.05)


def test_smoothing_keeps_a_flat_spectrum():
    frequency = np.linspace(0.01, 10, 5000)
    np.testing.assert_allclose(smoothed(frequency, np.full(5000, 3.0), np.geomspace(0.1, 5, 9)), 3.0)
