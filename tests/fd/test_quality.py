"""Quality factors that cannot be had, and wave speeds given outside the band of attenuation."""

import numpy as np
import pytest

from faultwave.case.load import load_case
from faultwave.media.attenuation import Spectrum, modulus, relaxation
from faultwave.run import simulate
from faultwave.run.planned import check

from .test_grids import case

BOX = {"lower": [0, 0, 0], "upper": [800, 800, 800], "spacing": 100.0, "boundaries": dict.fromkeys("xyz", "rigid")}


def attenuating(rock, boundaries="rigid", **band):
    """A shaken box with this rock."""
    made = case(material=rock, attenuation={"low": 0.02, "high": 2.0, **band}, grid={**BOX, "boundaries": dict.fromkeys("xyz", boundaries)},
                output={}, numerics={"backend": "numpy"})  # fmt: skip
    made["sources"][0] |= {"location": [400, 420, 380], "time_function": {"kind": "gaussian", "duration": 0.05}}
    return made


def constant(qp, qs):
    return {"constant": {"rho": 2500.0, "vp": 3464.0, "vs": 2000.0, "Qp": qp, "Qs": qs}}


def told(made):
    settings, found = load_case(made)
    assert settings is not None, found
    return [(p.severity, str(p)) for p in check(settings).items if p.where == "material"]


@pytest.mark.parametrize(("qp", "qs"), [(1e9, 20), (float("inf"), 20), (300, 20), (1000, 50), (46, 20)])
def test_compression_that_would_gain_energy_is_refused(qp, qs):
    ((severity, text),) = told(attenuating(constant(qp, qs)))
    assert severity == "error" and "compression would gain energy" in text
    assert "100 % of the points, about 512 of 512" in text and f"there {0.75 * 1.732**2 * qs:.6g}" in text


@pytest.mark.parametrize(("qp", "qs"), [(45, 20), (44.996, 20), (112.4, 50), (100, 200), (20, float("inf")), (5, 5)])
def test_others_are_not(qp, qs):
    assert told(attenuating(constant(qp, qs))) == []


def test_strong_attenuation_is_refused_with_its_place():
    rock = {
        "expression": {
            "rho": "2500",
            "vp": "3464",
            "vs": "2000",
            "Qp": "return 40;",
            "Qs": "if (z > 400) { return 40; } return 2 + z / 400;",
        }
    }
    (severity, text), (_, second) = told(attenuating(rock))
    assert severity == "error" and "47.1 % of the points, about 241 of 512" in text and "Qp = 40" in second
    assert "Q = 2.0" in text and "at least 5" in text and ", 3.125): Q" in text
    limited = told(attenuating(rock, limit=True))
    assert [severity for severity, _ in limited] == ["warning", "warning"]  # Qp = 40 is too large beside Qs = 5, too
    assert ", 5 is used" in limited[0][1] and ", 11.2" in limited[1][1]


def test_water_has_no_shear_quality():
    water = {"constant": {"rho": 1000.0, "vp": 1500.0, "vs": 0.0, "Qp": 1e4, "Qs": 1e-3}}
    assert told(attenuating(water)) == []


@pytest.mark.parametrize(("qp", "band"), [(1e9, {}), (1e9, {"exponent": 0.6, "corner": 0.2})])
def test_limited_a_run_decays(qp, band):
    """Without the limit these grow by orders within 3,000 steps."""
    sim = simulate(attenuating(constant(qp, 5.0), limit=True, **band))
    op, speed = sim.solver.operator, []
    for _ in range(4):
        op.advance(150)
        speed.append(np.mean([np.square(op.values(n)).mean() for n in "uvw"]) ** 0.5)
    assert speed[1] < 0.5 * speed[0] and speed[3] < speed[2] < speed[1]
    c = sim.plan.medium.coefficients
    bulk_loss = c["defect_p"].astype(float) * (c["lam"] + c["mu2"]) - 2 / 3 * c["defect_s"].astype(float) * c["mu2"]
    assert (bulk_loss >= -1e-6 * c["defect_p"] * c["lam"]).all() and (c["defect_s"] > 0).any()


@pytest.mark.parametrize(("reference", "nearest"), [(100.0, 2.0), (0.001, 0.02), (0.5, 0.5)])
def test_speeds_given_outside_the_band(reference, nearest):
    """At the band's end the speed is what constant Q makes of it (Kjartansson 1979)."""
    q = 20.0
    spectrum = Spectrum(0.02, 2.0, reference)
    made = relaxation(spectrum)
    defects = made.defect(np.full(8, q), np.arange(8))
    inside = made.unrelaxed(q) * modulus(defects, spectrum.times, np.array([nearest]))[0]
    speed = 1 / (1 / np.sqrt(inside)).real
    assert speed == pytest.approx((nearest / reference) ** (np.arctan(1 / q) / np.pi), rel=1e-3)


def test_that_is_told():
    made = attenuating(constant(40, 20), reference=100.0)
    (problem,) = (p for p in check(load_case(made)[0]).items if p.where == "attenuation.reference")
    assert (
        problem.severity == "warning"
        and "100 Hz is outside the band" in str(problem)
        and "are converted to 2 Hz" in str(problem)
    )
