"""Verdicts, rates, acceptance rules and the registry of verification cases."""

import math

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.verify import convergence
from faultwave.verify.case import (
    Result,
    Row,
    VerificationCase,
    at_least,
    at_most,
    cases,
    find,
    near,
    rate,
    render_list,
    render_result,
)
from faultwave.verify.cases import rupture

WANTED = {
    "plane-wave", "plane-wave-acoustic", "scholte", "snell", "full-space", "energy", "local-time-stepping", "tpv5",
    "tpv5-nuc", "tpv101", "tpvyoffe", "bimaterial-fault", "time-step-limits",
}  # fmt: skip


def text(renderable):
    from rich.console import Console

    console = Console(width=160, record=True, file=open("/dev/null", "w"))
    console.print(renderable)
    return console.export_text()


def test_every_case_is_found_by_name():
    found = cases()
    assert set(found) >= WANTED
    assert all(name == case.name and case.title and case.minutes > 0 for name, case in found.items())
    with pytest.raises(InputError, match="did you mean 'scholte'"):
        find("sholte")


def test_nan_never_passes():
    assert not at_most("x", math.nan, 1.0).ok
    assert not at_least("x", math.nan, 1.0).ok
    assert not near("x", math.nan, 1.0, 1.0).ok
    assert at_most("x", 1.0, 1.0).ok and at_least("x", 1.0, 1.0).ok and near("x", 1.5, 1.0, 0.5).ok


def test_status_and_exit_code():
    good, bad = at_most("x", 0.5, 1.0), at_most("x", 2.0, 1.0)
    assert (Result((good,)).status, Result((good,)).exit_code) == ("passed", 0)
    assert (Result((good, bad)).status, Result((good, bad)).exit_code) == ("failed", 1)
    assert Result(()).status == "failed"
    assert (Result((), skipped="no deck").status, Result((), skipped="no deck").exit_code) == ("skipped", 0)


def test_rate():
    assert rate(8e-3, 1e-3) == pytest.approx(3.0)
    assert rate(9e-2, 1e-2, 3.0) == pytest.approx(2.0)
    assert math.isnan(rate(0.0, 1.0))


def test_rates_are_judged_where_the_wave_is_resolved():
    errors = {n: np.array([0.5, 0.6]) * (2.0 / n) ** 4 for n in (2, 4, 8)}
    assert convergence.judged_pair(errors) == (4, 8)
    assert convergence.judged_pair({2: np.array([0.9]), 4: np.array([0.06])}) is None
    # below 1e-10 an error is rounding: the pair before it counts
    assert convergence.judged_pair({2: np.array([1e-3]), 4: np.array([1e-8]), 8: np.array([1e-12])}) == (2, 4)
    rows = convergence.rate_rows({4: errors}, ("a", "b"))
    assert [row.ok for row in rows] == [True, True]
    assert not any(row.ok for row in convergence.rate_rows({5: errors}, ("a", "b")))
    assert not any(row.ok for row in convergence.rate_rows({4: {2: np.ones(2)}}, ("a", "b")))
    assert convergence.rate_limit(5) == pytest.approx(4.7) and convergence.rate_limit(6) == pytest.approx(5.3)


def test_table_rows_use_the_factor():
    rows = convergence.table_rows({3: {4: np.array([0.13, 0.14])}}, ("a", "b"), {3: {4: (0.1, 0.1)}})
    assert [row.ok for row in rows] == [True, False]
    assert rows[0].expected == 0.1 and rows[0].limit == pytest.approx(0.13)


def test_reports_show_numbers_and_verdict():
    case = VerificationCase("wave", "a wave", lambda progress: Result(()))
    shown = text(render_result(case, Result((Row("rate", 3.96, 4.0, 3.7, True), at_most("error", 2.0, 1.0)), ("hm",))))
    for word in ("rate", "3.96", "3.7", "FAILED", "hm", "failed"):
        assert word in shown
    assert "skipped: no deck" in text(render_result(case, Result((), skipped="no deck")))
    assert "a wave" in text(render_list({"wave": case}))


def test_absent_decks_are_skipped_visibly(monkeypatch, tmp_path):
    monkeypatch.setenv(rupture.VARIABLE, str(tmp_path))
    result = find("tpv5").run(lambda line: None)
    assert result.status == "skipped" and rupture.VARIABLE in result.skipped
