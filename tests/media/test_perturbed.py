"""Parameters perturbed by random fields: amounts, coupled parameters, fluids, limits, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.case.settings.fields import FieldSetting
from faultwave.media import load_field
from faultwave.media.checks import check_contradictions
from faultwave.media.field import axes_of, leaves, limit_messages
from faultwave.media.homogenise import at_points
from faultwave.media.perturbed import Statistics, check_read, perturbation_rows

POINTS = np.random.default_rng(0).uniform(-12.0, 12.0, (4000, 3)) * 1e3
GROUPS = np.ones(len(POINTS), np.int64)
ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
BLANK = {"correlation_length": 1000.0, "hurst": 0.3, "shortest_wavelength": 2000.0, "seed": 1}


def loaded(random, where="material", rules=(), volumes=None, **ways):
    ways = ways or {"constant": ROCK}
    return load_field(FieldSetting(**ways, random=random), where, volumes=volumes, rules=rules)


def values(field, *names, groups=GROUPS):
    found = field.evaluate(POINTS, groups, names)
    return [found[name] for name in names] if len(names) > 1 else found[names[0]]


def test_one_field_perturbs_coupled_parameters_in_proportion():
    field = loaded({"rock": {**BLANK, "relative": {"vp": 0.05, "vs": 0.05, "rho": -0.02}}})
    vp, vs, rho, mu, lam = values(field, "vp", "vs", "rho", "mu", "lambda")
    np.testing.assert_allclose(vp / 6000.0, vs / 3464.0, rtol=1e-13)
    np.testing.assert_allclose(rho / 2700.0 - 1.0, -0.4 * (vs / 3464.0 - 1.0), atol=1e-14)
    np.testing.assert_allclose(mu, rho * vs**2, rtol=1e-14)
    np.testing.assert_allclose(lam, rho * vp**2 - 2 * mu, rtol=1e-13)
    assert vs.std() == pytest.approx(0.05 * 3464.0, rel=0.06)  # 4 deviations with 4000 nearly independent points
    assert vs.mean() == pytest.approx(3464.0, abs=0.05 * 3464.0 * 0.08)


def test_absolute_deviations_and_several_fields_add_up():
    one = {**BLANK, "absolute": {"T_s": 2e6}}
    other = {**BLANK, "seed": 2, "relative": {"T_s": 0.1}}
    constant = {"T_s": 7e7, "T_n": -1e8}
    each = [
        values(loaded({name: setting}, constant=constant), "T_s") - 7e7 for name, setting in (("a", one), ("b", other))
    ]
    both = values(loaded({"a": one, "b": other}, constant=constant), "T_s") - 7e7
    np.testing.assert_allclose(both, each[0] + each[1], atol=1e-6)
    assert each[0].std() == pytest.approx(2e6, rel=0.06)
    assert each[1].std() == pytest.approx(7e6, rel=0.06)
    np.testing.assert_array_equal(values(loaded({"a": one}, constant=constant), "T_n"), -1e8)


def test_a_relative_deviation_follows_the_value():
    field = loaded({"a": {**BLANK, "relative": {"d_c": 0.2}}}, expression={"d_c": "return 1 + 0.00001 * z;"})
    change = values(field, "d_c") / (1 + 1e-5 * POINTS[:, 2]) - 1
    expected = values(loaded({"a": {**BLANK, "relative": {"d_c": 0.2}}}, constant={"d_c": 1.0}), "d_c") - 1
    np.testing.assert_allclose(change, expected, atol=1e-12)


@pytest.mark.parametrize("perturbed", [{"vs": 0.1, "vp": 0.1}, {"vs": 0.1}, {"rho": 0.1}, {"mu": 0.1, "lambda": 0.1}])
def test_forms_of_a_material_do_not_matter(perturbed):
    """Speeds and moduli agree after the perturbation, in whichever form the material is defined."""
    mu = 2700.0 * 3464.0**2
    moduli = {"rho": 2700.0, "mu": mu, "lambda": 2700.0 * 6000.0**2 - 2 * mu}
    random = {"a": {**BLANK, "relative": perturbed}}
    by_speeds, by_moduli = loaded(random), loaded(random, constant=moduli)
    names = ("rho", "vp", "vs", "mu", "lambda")
    for field in (by_speeds, by_moduli):
        found = dict(zip(names, values(field, *names), strict=True))
        np.testing.assert_allclose(found["mu"], found["rho"] * found["vs"] ** 2, rtol=1e-12)
        np.testing.assert_allclose(found["lambda"] + 2 * found["mu"], found["rho"] * found["vp"] ** 2, rtol=1e-12)
    if "rho" not in perturbed:
        for one, other in zip(values(by_speeds, *names), values(by_moduli, *names), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
    problems = Problems()
    check_contradictions(by_moduli, ["rho", "mu", "lambda"], (), problems)
    assert not problems.items


def test_fluids_and_other_regions_stay_as_they_are():
    water = {"rho": 1000.0, "vp": 1500.0, "vs": 0.0}
    random = {"a": {**BLANK, "relative": {"vp": 0.1, "vs": 0.1, "rho": 0.1}}}
    field = loaded(random, constant=ROCK, regions={"sea": water}, volumes={"sea": 2, "rock": 1})
    groups = np.where(POINTS[:, 2] > 0, 2, 1)
    for name, still in water.items():
        found = values(field, name, groups=groups)
        np.testing.assert_array_equal(found[groups == 2], still)
        assert found[groups == 1].std() > 0.05 * found[groups == 1].mean()


def test_limits_hold_for_the_perturbed_values_and_are_reported():
    field = loaded({"a": {**BLANK, "relative": {"vs": 0.1}, "limit": 1.5}}, constant=ROCK, minimum={"vs": 3200.0})
    vs = values(field, "vs")
    assert vs.min() == 3200.0
    assert vs.max() == pytest.approx(3464.0 * 1.15, rel=1e-12)
    assert any("vs limited to above 3200" in text for text in limit_messages(field))
    (name, spread), (title, about), (limits, text) = perturbation_rows(field)
    resolved, clipped = about.split("; ")
    assert resolved.endswith("resolves") and "% of von Karman's variance" in resolved
    assert limits == "limits" and text in limit_messages(field)
    assert name == "vs" and f"mean {vs.mean():.5g}" in spread and "3200 to 3983.6, at 4,000 points" in spread
    percentage = float(clipped.split(" at ")[1].split(" %")[0])
    assert title == "a" and "1.5 standard deviations" in clipped
    assert percentage == pytest.approx(13.4, abs=2.2)  # of a normal distribution, 4 deviations of the count


def test_points_in_water_only():
    """Batches of points can lie in a fluid, which stays as it is."""
    field = loaded({"a": {**BLANK, "relative": {"vs": 0.1}}}, constant={"rho": 1000.0, "vp": 1500.0, "vs": 0.0})
    points = np.random.default_rng(0).uniform(-1e3, 1e3, (5, 3))
    assert not field.evaluate(points, np.ones(5, np.int64), ["vs"])["vs"].any()


def test_tapers_leave_the_rest_unperturbed():
    field = loaded({"a": {**BLANK, "relative": {"vs": 0.1}, "taper": {"z": [-1e4, 5e3], "width": 2000.0}}})
    vs, z = values(field, "vs"), POINTS[:, 2]
    outside = (z < -1e4) | (z > 5e3)
    np.testing.assert_array_equal(vs[outside], 3464.0)
    assert vs[~outside].std() > 200.0


def test_strike_and_dip_turn_the_directions():
    """Along the normal of the plane a field of two lengths is constant; strike runs clockwise from y, dip to its right."""
    setting = {**BLANK, "relative": {"vs": 0.1}, "correlation_length": [1000.0, 500.0], "strike": 30.0, "dip": 60.0}
    field = loaded({"a": setting})
    s, d = np.radians([30.0, 60.0])
    right = np.array([np.cos(s), -np.sin(s), 0.0])  # looking along strike
    normal = right * np.sin(d) + np.array([0.0, 0.0, np.cos(d)])
    shifted = field.evaluate(POINTS + 3e3 * normal, GROUPS, ["vs"])["vs"]
    # shifted points are rounded, by 4e-12 m
    np.testing.assert_allclose(shifted, values(field, "vs"), rtol=1e-6)
    moved = field.evaluate(POINTS + 3e3 * right, GROUPS, ["vs"])["vs"]
    assert np.abs(moved - values(field, "vs")).max() > 300.0


def test_members_of_an_ensemble_differ_by_the_seed():
    one, other = (values(loaded({"a": {**BLANK, "seed": s, "relative": {"vs": 0.1}}}), "vs") for s in (1, 2))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.08


def test_the_composed_field_is_seen_through():
    field = loaded({"a": {**BLANK, "relative": {"vs": 0.1}}})
    assert axes_of(field) == frozenset("xyz")
    assert [leaf.source for leaf in leaves(field)] == ["material.constant"]
    assert "material.random" in field.source


@pytest.mark.parametrize(
    ("relative", "message"),
    [
        ({"vd": 0.1}, "material.random.a.relative.vd: 'vd' has no value that could be perturbed"),
        ({"vs": 0.1, "mu": 0.1}, "mu and vs, which are two forms of the same parameters"),
    ],
)
def test_what_cannot_be_perturbed_is_refused(relative, message):
    with pytest.raises(InputError) as caught:
        loaded({"a": {**BLANK, "relative": relative}})
    assert message in str(caught.value)


def test_impossible_values_are_counted_with_places():
    field = loaded({"a": {**BLANK, "relative": {"rho": 0.6}}})
    with pytest.raises(InputError, match=r"rho is not positive at \d+ of 4,000 point\(s\): \(.*") as caught:
        at_points(field, ["rho", "mu", "lambda"], POINTS, GROUPS)
    assert "material.random" in str(caught.value)


def test_parameters_that_nothing_reads_are_an_error():
    field = loaded({"a": {**BLANK, "relative": {"vs": 0.1, "Qs": 0.2}}}, constant=ROCK | {"Qs": 100.0})
    values(field, "mu", "rho")
    problems = Problems()
    check_read(field, problems)
    assert [p.what for p in problems.errors] == ["perturbs Qs, which the case does not read"]


def test_statistics_are_those_of_all_parts():
    numbers = np.random.default_rng(1).normal(1e8, 3.0, 1000)
    found = Statistics()
    for part in np.split(numbers, [0, 10, 700]):
        found.add(part)
    assert found.mean == pytest.approx(numbers.mean(), rel=1e-14)
    assert found.deviation == pytest.approx(numbers.std(), rel=1e-8)
    assert (found.least, found.most, found.count) == (numbers.min(), numbers.max(), 1000)
