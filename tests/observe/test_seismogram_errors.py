"""Estimated errors of seismograms, of waves that coarser runs damp in a known way."""

import math

import numpy as np
import pytest

from faultwave.observe.dataset import receivers_from_arrays
from faultwave.observe.error_estimates import (
    KnownErrors,
    estimated,
    extrapolate_by_laws,
    middle,
    percent,
    polynomial_law,
    with_errors,
)

ORDERS = (4, 3, 2)
QUANTITIES = ["s_xx", "s_xy", "v1", "v2"]


def run(order, samples=200, share=(1.0, 0.2, 1.0, 0.0)):
    """Receivers at 1, 2 and 4 wavelengths, and one at rest."""
    time = np.linspace(0.0, 10.0, 401)[:samples]
    lost = np.array([1.0, 2.0, 4.0, 0.0]) / math.factorial(order)
    size = np.exp(-lost) * np.array([1.0, 0.5, 0.2, 0.0])
    wave = np.exp(-(((time - 3.0) / 0.7) ** 2)) * np.sin(6 * time)
    values = wave[:, None, None] * size[:, None] * np.array(share)
    attrs = {"stations": ["A", "B", "C", "D"], "networks": ["FW"] * 4}
    return receivers_from_arrays(time, values, QUANTITIES, np.eye(4, 3), attrs=attrs)


def true(order):
    return 1.0 - np.exp(-np.array([1.0, 2.0, 4.0]) / math.factorial(order))


def test_errors_of_damped_waves_are_found_for_every_unit():
    ours, near, far = (run(n) for n in ORDERS)
    found = estimated(
        ours, [near, far], extrapolate_by_laws([polynomial_law(ORDERS)]), "orders 3 and 2 in addition to order 4"
    )
    for name in ("velocity", "stress"):
        assert found[f"relative_error_of_{name}"][:3] == pytest.approx(true(4), rel=0.35)  # one factor for all
        assert np.isnan(found[f"relative_error_of_{name}"][3])
    each = found["relative_error"]
    np.testing.assert_allclose(np.hypot(each[:3, 0], each[:3, 1]), found["relative_error_of_stress"][:3])
    np.testing.assert_allclose(each[:3, 1], 0.2 * each[:3, 0])
    assert np.all(each[:3, 3] == 0.0)


def test_a_coarser_run_with_fewer_samples_is_compared_as_far_as_it_goes():
    ours, near, far = run(4, 300), run(3, 299), run(2, 300)
    found = estimated(ours, [near, far], extrapolate_by_laws([polynomial_law(ORDERS)]), "")
    assert found["relative_error_of_velocity"][:3] == pytest.approx(true(4), rel=0.35)  # one factor for all


def test_seismograms_keep_everything_and_know_their_errors():
    ours, near, far = (run(n) for n in ORDERS)
    errors = estimated(
        ours, [near, far], extrapolate_by_laws([polynomial_law(ORDERS)]), "orders 3 and 2 in addition to order 4"
    )
    made = with_errors(with_errors(ours, errors), errors)
    assert made["values"] is ours["values"]
    assert made.attrs["errors_estimated_from"] == "orders 3 and 2 in addition to order 4"
    assert made.attrs["stations"] == ["A", "B", "C", "D"]
    np.testing.assert_array_equal(made["relative_error"], errors["relative_error"])
    assert len(made.variables) == len(ours.variables) + 3


def test_errors_of_steps_in_time_are_taken_out_of_differences_and_put_into_the_error():
    """Each run is late by what is known of it: then they do not differ."""
    time = np.linspace(0.0, 10.0, 401)

    def wave(late):
        return receivers_from_arrays(
            time, np.sin(time - late)[:, None, None] * np.array([0.6, 0.8]), ["v1", "v2"], np.eye(1, 3)
        )

    def known_as(late):
        return lambda series, interval: series - np.sin(interval * np.arange(401))[:, None, None] * np.array([0.6, 0.8])

    runs = [wave(late) for late in (0.01, 0.02, 0.04)]
    method, known = (
        extrapolate_by_laws([polynomial_law(ORDERS)]),
        KnownErrors(time=[known_as(late) for late in (0.01, 0.02, 0.04)]),
    )
    found = estimated(runs[0], runs[1:], method, "", known)["relative_error"]
    np.testing.assert_allclose(found, [[0.006, 0.008]], rtol=0.05)
    assert np.all(estimated(runs[0], runs[1:], method, "")["relative_error"] < 0.7 * found)


def test_half_of_what_receivers_record_comes_before_the_middle():
    time = np.linspace(0.0, 10.0, 1001)
    pulses = np.stack([np.exp(-(((time - t) / 0.1) ** 2)) for t in (2.0, 6.0)], 1)[:, :, None]
    data = receivers_from_arrays(time, pulses * np.array([1.0, 1e6, 0.0]), ["v1", "s_xx", "s_xy"], np.eye(2, 3))
    assert 2.3 < middle(data) < 6.0
    assert middle(receivers_from_arrays(time, pulses[:, :1], ["v1"], np.eye(1, 3))) == pytest.approx(2.0, abs=0.02)
    assert middle(receivers_from_arrays(time, 0.0 * pulses, ["v1"], np.eye(2, 3))) == 10.0


def test_percents_are_read_at_a_glance():
    assert [percent(x) for x in (0.00123, 0.0991, 0.99, 0.999, 1.404, 17.0)] == [
        "0.12",
        "9.9",
        "99",
        "100",
        "140",
        "1700",
    ]


def test_errors_that_all_runs_share_come_on_top():
    """Of a pulse at 1 Hz: those of that frequency, in shares of the quantities, and never more than the wave."""
    time = np.linspace(0.0, 20.0, 801)
    wave = np.exp(-(((time - 10.0) / 3.0) ** 2)) * np.sin(2.0 * np.pi * time)
    ours = receivers_from_arrays(time, wave[:, None, None] * np.array([0.6, 0.8]), ["v1", "v2"], np.zeros((1, 3)))
    method = extrapolate_by_laws([polynomial_law(ORDERS)])

    def found(*shared):
        return estimated(ours, [ours, ours], method, "", KnownErrors(shared))["relative_error"][0]

    assert np.all(found() == 0.0)
    slope = np.array([0.0, 2.0]), np.array([0.0, 0.02])
    np.testing.assert_allclose(found(slope), 0.0101 * np.array([0.6, 0.8]), rtol=0.01)
    np.testing.assert_allclose(found(slope, slope), np.sqrt(2.0) * found(slope))
    np.testing.assert_allclose(found((slope[0], np.array([9.0, 9.0]))), [0.6, 0.8], rtol=1e-6)
    near = receivers_from_arrays(time, 1.1 * ours["values"], ["v1", "v2"], np.zeros((1, 3)))
    waves = estimated(ours, [near, near], method, "")["relative_error"][0]
    both = estimated(ours, [near, near], method, "", KnownErrors([slope]))["relative_error"][0]
    np.testing.assert_allclose(both, np.hypot(waves, found(slope)))
