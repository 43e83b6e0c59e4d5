"""Stress rules against what they promise: orientation, stress ratio, mean stress, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.media.easi.components.stress import COMPONENTS, andersonian, optimal, strike_or_dip_slip

ratios = st.floats(0.05, 0.95)


def tensor(values) -> np.ndarray:
    result = np.zeros((3, 3))
    for name, (i, j) in COMPONENTS.items():
        result[i, j] = result[j, i] = np.ravel(values[name])[0]
    return result


def columns(**values) -> dict[str, np.ndarray]:
    return {name: np.array([float(value)]) for name, value in values.items()}


def plane(strike: float, dip: float, rake: float) -> tuple[np.ndarray, np.ndarray]:
    """Normal into the hanging wall and the hanging wall's slip direction (Aki & Richards 2002, eq. 4.88-4.89)."""
    s, d, r = np.radians([strike, dip, rake])
    north = np.cos(r) * np.cos(s) + np.cos(d) * np.sin(r) * np.sin(s)
    east = np.cos(r) * np.sin(s) - np.cos(d) * np.sin(r) * np.cos(s)
    return (
        np.array([np.cos(s) * np.sin(d), -np.sin(s) * np.sin(d), np.cos(d)]),
        np.array([east, north, np.sin(r) * np.sin(d)]),
    )


@given(st.floats(0, 360), st.floats(5, 90), st.floats(-180, 180), ratios, ratios, st.floats(0, 2))
def test_optimal_stress_loads_its_plane(strike, dip, rake, ratio, shape, cohesion):
    mu_s, mu_d = 0.6, 0.2
    stress = tensor(optimal(columns(
        mu_s=mu_s, mu_d=mu_d, strike=strike, dip=dip, rake=rake, effectiveConfiningStress=-30, cohesion=cohesion,
        R=ratio, s2ratio=shape)))  # fmt: skip
    normal, slip = plane(strike, dip, rake)
    traction = stress @ normal
    pressure, shear = -traction @ normal, traction @ slip
    assert np.trace(stress) == pytest.approx(-90)  # the confining stress is the mean stress
    np.testing.assert_allclose(traction, -pressure * normal + shear * slip, atol=1e-11)  # shear is along the rake
    # R: dynamic stress drop over strength drop, with cohesion in the static strength
    assert (shear - mu_d * pressure) == pytest.approx(ratio * (cohesion + (mu_s - mu_d) * pressure), rel=1e-11)
    s1, s2, s3 = -np.linalg.eigvalsh(stress)
    assert (s2 - s3) / (s1 - s3) == pytest.approx(shape, abs=1e-10)
    # no plane is closer to failure: shear = mu * pressure has its tangent here, dtau/dsigma = mu on Mohr's circle
    assert shear / ((s1 - s3) / 2) == pytest.approx(np.cos(np.arctan(mu_s)), rel=1e-11)


@pytest.mark.parametrize(("kind", "vertical"), [(1, 0), (2, 1), (3, 2)])
def test_andersonian_stress(kind, vertical):
    azimuth, mu_s, mu_d, shape, ratio, cohesion = 30.0, 0.6, 0.3, 0.4, 1.5, 0.5
    stress = tensor(andersonian(columns(
        mu_d=mu_d, mu_s=mu_s, SH_max=azimuth, sig_zz=-50, cohesion=cohesion, S=ratio, s2ratio=shape, S_v=kind
    )))  # fmt: skip
    assert stress[2, 2] == -50
    assert stress[0, 2] == stress[1, 2] == 0
    largest = np.array([np.sin(np.radians(azimuth)), np.cos(np.radians(azimuth)), 0])
    other = np.array([largest[1], -largest[0], 0])
    horizontal, smaller = -largest @ stress @ largest, -other @ stress @ other
    assert largest @ stress @ other == pytest.approx(0, abs=1e-12)
    assert horizontal > smaller
    magnitudes = sorted([horizontal, smaller, 50.0], reverse=True)
    assert magnitudes.index(50.0) == vertical
    s1, s2, s3 = magnitudes
    assert (s2 - s3) / (s1 - s3) == pytest.approx(shape)
    # before scaling to the vertical stress the mean stress is 50: undo the scaling and test the ratio on the best plane
    scale = 50 / (sum(magnitudes) / 3)
    angle = np.pi / 4 - np.arctan(mu_s) / 2
    shear, pressure = (np.array([np.sin(2 * angle), -np.cos(2 * angle)]) * (s1 - s3) / 2) * scale
    pressure += scale * (s1 + s3) / 2
    assert (shear - mu_d * pressure) == pytest.approx((cohesion + (mu_s - mu_d) * pressure) / (1 + ratio))


@pytest.mark.parametrize(("strike", "dip"), [(0, 90), (35, 60), (200, 30)])
def test_deprecated_strike_slip_form_loads_along_strike(strike, dip):
    mu_s, mu_d, ratio = 0.6, 0.2, 0.7
    stress = tensor(strike_or_dip_slip(columns(
        mu_s=mu_s, mu_d=mu_d, strike=strike, dip=dip, s_zz=40, cohesion=0.3, R=ratio, DipSlipFaulting=0, s2ratio=0.5
    ))) * 40  # fmt: skip
    normal, slip = plane(strike, dip, 0.0)
    traction = stress @ normal  # compression is positive in this form
    pressure, shear = traction @ normal, traction @ slip
    np.testing.assert_allclose(traction, pressure * normal + shear * slip, atol=1e-11)
    assert abs(shear) - mu_d * pressure == pytest.approx(ratio * (0.3 + (mu_s - mu_d) * pressure))


@pytest.mark.parametrize(("strike", "dip"), [(0, 30), (35, 60), (200, 10)])
def test_deprecated_dip_slip_form_is_scaled_to_the_vertical_stress(strike, dip):
    mu_s, mu_d, ratio = 0.6, 0.2, 0.7
    stress = tensor(strike_or_dip_slip(columns(
        mu_s=mu_s, mu_d=mu_d, strike=strike, dip=dip, s_zz=40, cohesion=0.3, R=ratio, DipSlipFaulting=1, s2ratio=0.5
    )))  # fmt: skip
    assert stress[2, 2] == pytest.approx(1)
    along = np.array([np.sin(np.radians(strike)), np.cos(np.radians(strike)), 0])
    np.testing.assert_allclose(np.cross(stress @ along, along), 0, atol=1e-12)  # strike is a principal axis
    normal, slip = plane(strike, dip, 90.0)
    traction = 40 * stress @ normal
    pressure, shear = traction @ normal, traction @ slip
    assert abs(shear) - mu_d * pressure == pytest.approx(ratio * (0.3 + (mu_s - mu_d) * pressure))


def test_in_a_deck_constants_and_parent_share_the_inputs(easi, at):
    field = easi("""
        !EvalModel
        parameters: [b_xx, b_yy, b_zz, b_xy, b_yz, b_xz]
        model: !FunctionMap
          map: {effectiveConfiningStress: return 1670*9.8*z;}
          components: !OptimalStress
            constants: {mu_d: 0.2, mu_s: 0.6, strike: 90, dip: 90, rake: 180, cohesion: 0, R: 0.7, s2ratio: 0.5}
        components: !FunctionMap
          map: {s_xy: return b_xy;, s_mean: return (b_xx+b_yy+b_zz)/3;}
    """)
    depth = np.array([-1000.0, -2000.0])
    points = np.column_stack([0 * depth, 0 * depth, depth])
    assert at(field, "s_mean", points) == pytest.approx((1670 * 9.8 * depth).tolist())
    first, second = at(field, "s_xy", points)
    assert second == pytest.approx(2 * first)
    assert first != 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "!OptimalStress {constants: {mu_d: 0.2}}",
            "lacks mu_s, strike, dip, rake, effectiveConfiningStress.*available inputs",
        ),
        ("!AndersonianStress {constants: {SHmax: 0.2}}", "no input 'SHmax'.*did you mean 'SH_max'"),
        (
            "!AndersonianStress {constants: {mu_d: 0.2, mu_s: 0.6, SH_max: 0, sig_zz: 1, cohesion: 0, S: 1, "
            "s2ratio: 0.5, S_v: 4}}",
            "'S_v' is 4",
        ),
    ],
)
def test_missing_and_wrong_inputs(easi, text, message):
    with pytest.raises(InputError, match=message):
        easi(text)
