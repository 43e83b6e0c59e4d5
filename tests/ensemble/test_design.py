"""Designs: samples, correlations, and what changes when members or variables are added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from faultwave.base.errors import Problems
from faultwave.ensemble.design import Table, cholesky, make_table
from faultwave.ensemble.study import load_study
from tests.messages import expect

S4 = {"kind": "sobol", "members": 4}
NORMAL = {"setting": "end_time", "distribution": "norm", "parameters": {"loc": "2 s", "scale": "100 ms"}}
UNIFORM = {"setting": "material.constant.rho", "distribution": "uniform", "parameters": {"loc": 1.0, "scale": 2.0}}


TWO_LISTS = {"a": {"setting": "end_time", "values": [1]}, "b": {"setting": "numerics.order", "values": [2, 3]}}
THREE = {"a": NORMAL, "b": UNIFORM, "c": UNIFORM | {"setting": "material.constant.vp"}}


def pairs(*listed: tuple[str, str, float]) -> dict[str, Any]:
    return {"correlations": [{"variables": [a, b], "rank": rank} for a, b, rank in listed]}


def table(design: dict[str, Any], vary: dict[str, Any], **more: Any) -> Table:
    study, where = load_study({"case": "tpv5", "design": design, "vary": vary, **more})
    problems = Problems()
    found = make_table(study, where, problems)
    assert found is not None and not problems.items, problems.items
    return found


def problems_of(design: dict[str, Any], vary: dict[str, Any], **more: Any) -> str:
    study, where = load_study({"case": "tpv5", "design": design, "vary": vary, **more})
    problems = Problems()
    assert make_table(study, where, problems) is None
    return "\n".join(map(str, problems.errors))


@pytest.mark.parametrize("kind", ["random", "latin-hypercube", "sobol"])
def test_samples_have_their_distribution(kind):
    found = table({"kind": kind, "members": 256}, {"a": NORMAL, "b": UNIFORM}, seed=3)
    assert stats.kstest(found.column("a"), stats.norm(2.0, 0.1).cdf).pvalue > 0.01
    assert stats.kstest(found.column("b"), stats.uniform(1.0, 2.0).cdf).pvalue > 0.01
    assert abs(stats.spearmanr(found.column("a"), found.column("b")).statistic) < 0.15


def test_a_latin_hypercube_has_one_value_in_every_stratum():
    found = np.array(table({"kind": "latin-hypercube", "members": 50}, {"b": UNIFORM}).column("b"))
    assert sorted(np.floor((found - 1.0) / 2.0 * 50).astype(int)) == list(range(50))


@given(
    few=st.integers(1, 20),
    more=st.integers(1, 20),
    seed=st.integers(0, 2**40),
    kind=st.sampled_from(["random", "sobol"]),
)
def test_more_members_change_no_earlier_one(few, more, seed, kind):
    first = table({"kind": kind, "members": few}, {"a": NORMAL, "b": UNIFORM}, seed=seed)
    both = table({"kind": kind, "members": few + more}, {"a": NORMAL, "b": UNIFORM}, seed=seed)
    assert both.rows[:few] == first.rows


@given(members=st.integers(1, 20), seed=st.integers(0, 2**40))
def test_more_variables_change_no_other(members, seed):
    own = {"setting": "numerics.order", "seed": True}
    alone = table({"kind": "random", "members": members}, {"a": NORMAL}, seed=seed)
    both = table({"kind": "random", "members": members}, {"first": own, "b": UNIFORM, "a": NORMAL}, seed=seed)
    assert both.column("a") == alone.column("a")
    assert len(set(both.column("first"))) == members


def test_another_seed_gives_other_values():
    one, two = (table({"kind": "random", "members": 5}, {"a": NORMAL}, seed=s).column("a") for s in (0, 1))
    assert not set(one) & set(two)


@given(rank=st.floats(-0.95, 0.95))
def test_rank_correlations_are_those_requested(rank):
    found = table({"kind": "sobol", "members": 1024}, {"a": NORMAL, "b": UNIFORM},
                  correlations=[{"variables": ["a", "b"], "rank": rank}])  # fmt: skip
    assert stats.spearmanr(found.column("a"), found.column("b")).statistic == pytest.approx(rank, abs=0.03)
    assert stats.kstest(found.column("b"), stats.uniform(1.0, 2.0).cdf).pvalue > 0.01


def test_limits_truncate_a_distribution():
    found = np.array(
        table({"kind": "sobol", "members": 512}, {"a": {**NORMAL, "lower": "1.9 s", "upper": 2.05}}).column("a")
    )
    assert found.min() >= 1.9 and found.max() <= 2.05
    expected = stats.truncnorm(-1.0, 0.5, 2.0, 0.1)
    assert stats.kstest(found, expected.cdf).pvalue > 0.01


def test_limits_belong_to_a_discrete_distribution():
    poisson = {"setting": "numerics.order", "distribution": "poisson", "parameters": {"mu": 1}, "lower": 0, "upper": 5}
    found = np.array(table({"kind": "sobol", "members": 1024}, {"a": poisson}).column("a"))
    assert (found == 0).mean() == pytest.approx(stats.poisson(1).pmf(0) / stats.poisson(1).cdf(5), abs=0.01)
    uniform = poisson | {"distribution": "randint", "parameters": {"low": 2, "high": 8}, "lower": 2.5, "upper": 5}
    assert set(table({"kind": "sobol", "members": 64}, {"a": uniform}).column("a")) == {3, 4, 5}


@pytest.mark.parametrize(("lower", "upper"), [(8.0, None), (8.0, 8.5), (None, -8.0)])
def test_the_tails_of_a_distribution_have_all_digits(lower, upper):
    """Probabilities of the upper tail lie so near to 1 that few numbers are left there."""
    limits = {k: 2.0 + 0.1 * v for k, v in (("lower", lower), ("upper", upper)) if v is not None}
    found = np.array(table({"kind": "sobol", "members": 256}, {"a": {**NORMAL, **limits}}).column("a"))
    expected = stats.truncnorm(-np.inf if lower is None else lower, np.inf if upper is None else upper, 2.0, 0.1)
    assert len(set(found)) == 256
    assert stats.kstest(found, expected.cdf).pvalue > 0.01


@pytest.mark.parametrize("rank", [0.6, -0.9, 1.0])
def test_correlated_hypercubes_have_one_value_in_every_stratum(rank):
    vary = {"a": UNIFORM, "b": UNIFORM | {"setting": "material.constant.vp"}}
    found = table({"kind": "latin-hypercube", "members": 64}, vary, **pairs(("a", "b", rank)))
    for name in vary:
        strata = np.floor((np.array(found.column(name)) - 1.0) / 2.0 * 64).astype(int)
        assert sorted(strata) == list(range(64))
    assert stats.spearmanr(found.column("a"), found.column("b")).statistic == pytest.approx(rank, abs=0.2)


def test_a_later_correlated_variable_changes_no_earlier_one():
    vary = {"a": NORMAL, "b": UNIFORM}
    two = table({"kind": "random", "members": 20}, vary, **pairs(("a", "b", 0.6)))
    three = table({"kind": "random", "members": 20}, THREE, **pairs(("b", "c", 0.5), ("a", "b", 0.6)))
    alone = table({"kind": "random", "members": 20}, {"a": NORMAL})
    assert two.column("a") == alone.column("a") == three.column("a") and two.column("b") == three.column("b")


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_factors_of_semidefinite_matrices(size, seed):
    """Dependent columns occur with perfect correlation."""
    random = np.random.default_rng(seed)
    root = random.standard_normal((size, random.integers(1, size + 1)))
    root /= np.linalg.norm(root, axis=1)[:, None]
    factor = cholesky(root @ root.T)
    assert not np.triu(factor, 1).any()
    np.testing.assert_allclose(factor @ factor.T, root @ root.T, atol=1e-6)


def test_a_grid_combines_all_values():
    found = table(
        {"kind": "grid"},
        {"a": {"setting": "end_time", "values": [1, "2 s"]}, "b": {"setting": "numerics.order", "values": [2, 3, 4]}},
    )
    assert found.rows == ((1, 2), (1, 3), (1, 4), ("2 s", 2), ("2 s", 3), ("2 s", 4))


def test_a_list_takes_values_in_turn_and_draws_the_rest():
    found = table({"kind": "list"}, {"a": {"setting": "end_time", "values": [1, 2, 3]}, "b": UNIFORM})
    assert found.column("a") == [1, 2, 3] and len(set(found.column("b"))) == 3


def test_a_table_has_numbers_texts_and_files(tmp_path):
    (tmp_path / "fine.msh").write_text("")
    (tmp_path / "members.csv").write_text(
        "# from a survey\nrho, mesh,comment\n2700,fine.msh,a\n2.8e3,other.msh,b\n1_0,1_0,c\n"
    )
    vary = {"rho": {"setting": "material.constant.rho"}, "file": {"setting": "mesh.file", "column": "mesh"}}
    found = table({"kind": "table", "file": str(tmp_path / "members.csv")}, vary)
    assert found.rows == ((2700, str(tmp_path / "fine.msh")), (2800.0, "other.msh"), ("1_0", "1_0"))


def test_values_of_a_sample_are_equally_probable():
    found = table({"kind": "sobol", "members": 64}, {"a": {"setting": "numerics.order", "values": [2, 3, 4, 5]}})
    assert [found.column("a").count(n) for n in (2, 3, 4, 5)] == [16] * 4


@pytest.mark.parametrize(
    ("design", "vary", "more"),
    [
        (S4, {"a": NORMAL | {"distribution": "normm"}}, {}),
        (S4, {"a": NORMAL | {"parameters": {"lok": 1}}}, {}),
        (S4, {"a": NORMAL | {"parameters": {"scale": -1}}}, {}),
        (S4, {"a": NORMAL | {"parameters": {"loc": "2 m"}}}, {}),
        (S4, {"a": NORMAL | {"lower": 9, "upper": 3}}, {}),
        (S4, {"a": NORMAL | {"distribution": "lognorm"}}, {}),
        (S4, {"a": {"setting": "end_time"}}, {}),
        ({"kind": "list"}, TWO_LISTS, {}),
        ({"kind": "grid"}, {"a": NORMAL}, {}),
        (S4, {"a": NORMAL}, pairs(("a", "c", 0.5))),
        (S4, THREE, pairs(("a", "b", 0.9), ("b", "c", 0.9), ("a", "c", -0.9))),
    ],
)
def test_impossible_designs(design, vary, more):
    expect(problems_of(design, vary, **more))


def test_all_problems_of_a_table_come_at_once(tmp_path):
    (tmp_path / "m.csv").write_text("rho,mass\n1\n1,2\n1,2,3\n")
    text = problems_of(
        {"kind": "table", "file": str(tmp_path / "m.csv")}, {"row": {"setting": "material.constant.rho"}}
    )
    (tmp_path / "s.csv").write_text("rho;mass\n1,5;2\n")
    semicolons = {"kind": "table", "file": str(tmp_path / "s.csv")}
    joined = problems_of(semicolons, {"rho": {"setting": "material.constant.rho"}})
    expect(joined)
    expect(text)
