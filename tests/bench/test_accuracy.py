"""Time to accuracy: problems of known answer, ladders, costs of an error, and what is proposed for a case."""

import json
import sys

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.units import to_si
from faultwave.bench import results
from faultwave.bench.accuracy import estimates, ladder, proposals, table
from faultwave.bench.accuracy.picture import draw
from faultwave.bench.accuracy.problem import Point, Setting, energetic_frequency, problems
from faultwave.case.load import load_case
from faultwave.run.planned import plan
from tests.messages import raises


def made(points=(4.0, 8.0, 16.0), errors=((0.1, 0.2), (0.01, 0.02), (0.001, 0.002)), seconds=(1.0, 16.0, 256.0), **key):
    """A problem as it is kept, of one ladder."""
    setting = {"engine": "dg", "order": 4, "precision": "double", **key}
    listed = [
        {**setting, "size": i, "points": p, "core_seconds": s, "updates": 1.0, "errors": list(e)}
        for i, (p, e, s) in enumerate(zip(points, errors, seconds, strict=True))
    ]
    return {
        "name": "full-space", "title": "a source", "distances": [3.0, 12.0], "volume_time": 100.0,
        "levels": [0.05, 0.01], "unit": "", "points": listed,
    }  # fmt: skip


def whole(*problems):
    return table.written(problems)


def test_problems_are_found():
    assert {"full-space", "loh1", "cavity", "tpv5"} <= set(problems())


def test_a_spectrum_has_a_frequency():
    f = np.linspace(0.0, 10.0, 1001)
    assert energetic_frequency(f, np.where((f > 0.995) & (f < 1.005), 1.0, 0.0)) == pytest.approx(1.0, abs=0.02)
    gaussian = np.exp(-((2 * np.pi * 0.2 * f) ** 2) / 2)
    assert energetic_frequency(f, gaussian) == pytest.approx(1.573, rel=0.01)  # chi distribution of three degrees


@pytest.mark.parametrize("order", [3, 4])
def test_the_cavity_is_nearer_with_smaller_cells(order):
    cavity = problems()["cavity"]
    coarse, fine = (cavity.run(Setting("dg", order, n, "double")) for n in (2, 4))
    assert max(fine.errors) < 0.5 * max(coarse.errors) < 1
    assert fine.points == pytest.approx(2 * coarse.points)
    assert list(fine.errors) == sorted(fine.errors)  # they grow on the way


def test_grids_in_a_full_space_are_nearer_with_more_points():
    space = problems()["full-space"]
    coarse, fine = (space.run(Setting("fd", 4, n, "single")) for n in (12, 20))
    assert all(b < 0.3 * a for a, b in zip(coarse.errors, fine.errors, strict=True))
    assert coarse.errors[0] < coarse.errors[1] < coarse.errors[2]
    eight = space.run(Setting("fd", 8, 20, "single"))
    assert all(b < 0.3 * a for a, b in zip(fine.errors, eight.errors, strict=True))


def test_the_layer_is_seen_by_both_engines():
    layered = problems()["loh1"]
    assert max(layered.run(Setting("fd", 4, 5, "single")).errors) < 0.1
    assert max(layered.run(Setting("dg", 3, 1, "double")).errors) < 0.3


def test_ruptures_have_more_time(monkeypatch):
    given = {}
    monkeypatch.setattr(ladder, "absent", lambda problem: False)
    monkeypatch.setattr(
        ladder, "climb", lambda problem, rungs, budget, say: given.setdefault(problem.name, budget) and []
    )
    chosen = tuple(problems()[name] for name in ("cavity", "tpv5"))
    assert ladder.measure(ladder.Ask(chosen, 10.0), print) == []
    assert given == {"cavity": 10.0, "tpv5": 40.0}


def test_a_ladder_ends_at_the_budget_and_at_the_error():
    class Steep:
        name = "steep"
        levels = (0.05, 0.01)

        @staticmethod
        def run(s):
            return Point(s, float(s.size), 1e-3 * s.size**4, 1.0, (float(s.size) ** -4.0,))

    rungs = [Setting("dg", 4, n, "double") for n in (1, 2, 3, 4, 6, 8)]
    told = []
    assert [p.setting.size for p in ladder.climb(Steep, rungs, 1e9, told.append)] == [1, 2, 3, 4]
    assert [p.setting.size for p in ladder.climb(Steep, rungs, 0.05, told.append)] == [1, 2]
    assert told[0] == "steep: dg, order 4, double, 1"


def test_a_ladder_has_the_engine_and_order_asked_for():
    known = problems()
    ladder.check(ladder.Ask((known["cavity"], known["loh1"]), engines=("fd",), orders=(8,)), results.Files())
    with raises(InputError):
        ladder.check(ladder.Ask((known["loh1"],), engines=("fdd",), orders=(9,)), results.Files())
    with raises(InputError):
        ladder.check(ladder.Ask((known["cavity"],), engines=("fd",)), results.Files())
    with raises(InputError):
        ladder.check(ladder.Ask((known["loh1"],), engines=("fd",), orders=(5,)), results.Files())


def test_problems_of_which_nothing_was_measured_are_left_out():
    assert ladder.measure(ladder.Ask((problems()["cavity"],), engines=("fd",)), lambda text: None) == []


@pytest.mark.parametrize("name", ["full-space", "loh1"])
def test_grids_take_the_step_of_a_case_that_says_nothing(name, monkeypatch):
    class Seen(Exception):
        pass

    def seen(case, initial=None):
        raise Seen(case["numerics"])

    monkeypatch.setattr(sys.modules[problems()[name].run.__module__], "stepped", seen)
    for order in (4, 8):
        with pytest.raises(Seen, match="^{'precision': 'single'}$"):
            problems()[name].run(Setting("fd", order, 12, "single"))


def test_costs_lie_between_runs():
    points = made()["points"]
    assert table.cost(points, 0.01, 0) == pytest.approx(16.0)
    assert table.cost(points, 10**-1.5, 0) == pytest.approx(4.0)
    assert np.isnan(table.cost(points, 1e-4, 0))
    assert table.cost(points, 0.5, 0) == 1.0


def test_rows_mark_the_cheapest_and_what_is_outside():
    a, b = made(), made(seconds=(0.5, 8.0, 128.0), engine="fd")
    a["points"] += b["points"]
    text = table.markdown(whole(a))
    lines = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    rows = {cells[0]: cells[1:] for cells in lines}
    assert rows["fd, order 4, double"] == ["**1.2**", "**8**", "**2.7**", "**18**"]
    assert rows["dg, order 4, double"] == ["2.3", "16", "5.3", "37"]
    assert "| - |" not in text
    assert "below" in table.markdown(whole(made(errors=((1e-4, 1e-4),) * 3))).splitlines()[-1]


def test_files_are_read_back_and_others_refused(tmp_path):
    path = tmp_path / "accuracy.json"
    results.write_json(path, whole(made()))
    assert table.read(path)["problems"] == json.loads(json.dumps([made()]))
    path.write_text("{}")
    with raises(InputError):
        table.read(path)
    with raises(InputError):
        table.read(tmp_path / "absent.json")


def test_a_picture_is_drawn(tmp_path):
    assert draw(whole(made(), made()), tmp_path / "a.png").stat().st_size > 10_000


def test_the_package_has_a_table_of_every_law():
    known = table.read()
    for law in proposals.LAWS:
        assert proposals.like(known, proposals.Waves(law, True, 5.0, 1.0))
    with raises(InputError):
        proposals.like(known, proposals.Waves("porous", True, 5.0, 1.0))


def test_an_estimate_is_read_off_the_ladder():
    key, known = ("dg", 4, "double"), whole(made())
    at = proposals.estimate(known, proposals.Waves("elastic", False, 3.0, 200.0), key, 8.0)
    assert (at.error, at.core_seconds, at.beyond) == (pytest.approx(0.01), pytest.approx(32.0), False)
    half = proposals.estimate(known, proposals.Waves("elastic", False, 6.0, 200.0), key, 8.0)
    assert half.error == pytest.approx(0.01 * 2**0.5)
    far = proposals.estimate(known, proposals.Waves("elastic", False, 48.0, 200.0), key, 8.0)
    assert far.beyond
    assert far.error == pytest.approx(0.08), "in proportion to the distance, though it grew with its root"
    assert proposals.estimate(known, proposals.Waves("elastic", False, 3.0, 200.0), key, 3.0) is None
    assert proposals.estimate(known, proposals.Waves("elastic", False, 3.0, 200.0), ("dg", 5, "double"), 8.0) is None


def any_of(key):
    return True


def test_what_is_nearer_than_measured_is_marked():
    key, known = ("dg", 4, "double"), whole(made())
    near, at = (proposals.estimate(known, proposals.Waves("elastic", False, d, 200.0), key, 8.0) for d in (1.0, 3.0))
    assert (near.nearer, near.beyond, near.error) == (True, False, at.error)
    assert not at.nearer


@pytest.mark.parametrize(("engine", "least"), [("dg", 4), ("fd", 8)])
def test_proposals_fit_into_the_box(engine, least):
    known, across = whole(made(engine=engine)), 0.8
    waves = proposals.Waves("elastic", False, 3.0, 100.0, across)
    (found,) = proposals.proposals(known, waves, 0.09, any_of)
    assert found.points == pytest.approx(max(4.0, least / across))
    small = proposals.Waves("elastic", False, 3.0, 100.0, 0.1)
    assert not proposals.proposals(known, small, 0.09, any_of)  # 40 and 80 points were not measured
    assert not proposals.proposals(known, waves, 0.09, lambda key: False)


def test_the_cheapest_proposal_comes_first():
    a, b = made(), made(seconds=(0.5, 8.0, 128.0), engine="fd")
    a["points"] += b["points"]
    found = proposals.proposals(whole(a), proposals.Waves("elastic", False, 3.0, 100.0), 0.01, any_of)
    assert [e.series[0] for e in found] == ["fd", "dg"]
    assert all(e.error <= 0.01 and e.points == pytest.approx(8.0, rel=0.02) for e in found)
    assert not proposals.proposals(whole(a), proposals.Waves("elastic", False, 3.0, 100.0), 1e-5, any_of)


def test_the_least_error_is_told_where_the_wanted_one_is_out_of_reach():
    a, b = made(), made(errors=((0.1, 0.2), (0.02, 0.04), (0.005, 0.01)), engine="fd")
    a["points"] += b["points"]
    waves = proposals.Waves("elastic", False, 3.0, 100.0)
    best = proposals.most_accurate(whole(a), waves, any_of)
    assert best.series[0] == "dg" and best.points == pytest.approx(16.0)
    other = proposals.most_accurate(whole(a), waves, lambda key: key[0] == "fd")
    assert other.series[0] == "fd" and other.error > best.error
    assert proposals.most_accurate(whole(a), waves, lambda key: False) is None


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), ("0.5 %", 0.005), ("0.02", 0.02)])
def test_accuracies_are_shares(text, share):
    assert proposals.accuracy(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "much", "-1%", "100 %", "nan"])
def test_other_texts_are_no_accuracies(text):
    with raises(InputError):
        proposals.accuracy(text)


SOURCE = {"kind": "moment-tensor", "location": [0, 0, 0], "tensor": {"xy": 1e15}}


def a_case(engine, function):
    case = {
        "engine": engine, "end_time": 4.0, "material": {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}},
        "sources": [{**SOURCE, "time_function": function}], "output": {"receivers": {"points": [[900, 0, 0]], "interval": 0.1}},
    }  # fmt: skip
    if engine == "fd":
        return {
            **case,
            "grid": {"lower": [-1000] * 3, "upper": [1000] * 3, "spacing": 100.0, "boundaries": {"z": "absorbing"}},
        }
    mesh = {"generate": {"shape": "box", "cells": [4, 4, 4], "lower": [-1000] * 3, "upper": [1000] * 3}}
    return {**case, "mesh": mesh, "numerics": {"order": 4}}


def at_depths(tmp_path, speeds):
    """Layers of 500 m with these (vp, vs)."""
    path = tmp_path / "layers.txt"
    rows = [f"{500 * n} {vp} {vs} 2700" for n, (vp, vs) in enumerate(speeds)]
    path.write_text("depth vp vs rho\n" + "\n".join(rows) + "\n")
    return {"layers": str(path)}


@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_rock_changes_where_the_same_wave_has_another_speed(engine, tmp_path):
    case = a_case(engine, {"kind": "ricker", "duration": 1.0})
    uniform = plan({**case, "material": {"constant": {"rho": 2700.0, "vp": 5000.0, "vs": 2000.0}}}).plan
    assert not proposals.waves_of(uniform, 1.0)[0].varied  # P waves are 2.5 times as fast as S waves
    layered = plan({**case, "material": at_depths(tmp_path, [(3000.0, 2000.0), (3600.0, 2400.0)])}).plan
    assert proposals.waves_of(layered, 1.0)[0].varied


def test_blocks_each_of_one_rock_are_judged_together(tmp_path):
    case = a_case("fd", {"kind": "ricker", "duration": 1.0})
    grid = {
        **case["grid"],
        "lower": [-1500, -1500, -4000],
        "upper": [1500, 1500, 0],
        "boundaries": {},
        "blocks": [{"below": 1500.0, "spacing": 300.0}],
    }
    layers = at_depths(tmp_path, [(3400.0, 2000.0)] * 3 + [(6000.0, 3400.0)])
    wanted = plan({**case, "grid": grid, "material": layers}).plan
    assert len(wanted.blocks) == 2
    assert proposals.waves_of(wanted, 1.0)[0].varied


def test_only_what_the_case_can_have_is_proposed():
    case = a_case("fd", {"kind": "ricker", "duration": 1.5**0.5})
    case["grid"] = {**case["grid"], "lower": [-3000] * 3, "upper": [3000] * 3}
    plain = plan(case).plan
    assert proposals.possible(plain.case, ("fd", 8, "single"))
    assert not proposals.possible(plain.case, ("dg", 4, "double"))
    told = [row[1] for row in proposals.section(plain, table.read(), 0.05)[1] if row[0] == "for 5 %"]
    assert any("order 8" in text for text in told)
    hill = {"expression": "40*cos(x*0.002)", "sources": "depth", "receivers": "depth"}
    grid = {**case["grid"], "boundaries": {}, "topography": hill}
    soft = {"parameters": {"constant": {"reference_strain": 1e-3}}, "slower_than": 500.0}
    for more in ({"grid": grid}, {"soil": soft}):
        asked = load_case({**case, "numerics": {"precision": "single"}, **more})[0]
        assert proposals.possible(asked, ("fd", 4, "single")), more
        assert not proposals.possible(asked, ("fd", 8, "single")), more


def test_settings_that_the_table_was_not_measured_with_are_told():
    case = a_case("fd", {"kind": "ricker", "duration": 1.5**0.5})
    plain = proposals.section(plan(case).plan, table.read(), 0.05)[1]
    assert "measured with" not in dict(row[:2] for row in plain)
    case["numerics"] = {"cfl": 0.5}
    told = dict(row[:2] for row in proposals.section(plan(case).plan, table.read(), 0.05)[1])
    assert "numerics.cfl" in told["measured with"]


def test_sizes_that_are_told_can_be_written_into_a_case():
    """Those of waves of some kilometres, too, in whole metres."""
    found = proposals.Estimate(("fd", 4, "single"), 8.0, 0.01, 1.0, False, False)
    told = proposals._sizes(found, 9876.5).removeprefix("grid.spacing ").split(",")[0]
    assert told == "1230 m" and to_si(told, "m") == 1230.0
    assert proposals._sizes(found, 80.0).startswith("grid.spacing 10 m,")


@pytest.mark.parametrize(("engine", "points"), [("fd", 13.07), ("dg", 9.31)])
def test_a_planned_case_is_set_beside_the_table(engine, points):
    wavelet = {"kind": "ricker", "duration": 1.5**0.5}  # peaks at 1 Hz
    wanted = plan(a_case(engine, wavelet)).plan
    frequency = proposals.source_frequency(wanted)
    assert frequency == pytest.approx(1.53, rel=0.02)
    waves, key, found, slowest = proposals.waves_of(wanted, frequency)
    assert key[0] == engine
    assert not waves.varied
    assert slowest == pytest.approx(2000.0)
    assert found == pytest.approx(points, rel=0.06)
    title, rows = proposals.section(wanted, table.read(), 0.05)
    told = dict(row[:2] for row in rows)
    assert "5 %" in title
    assert "error about" in told["this case"]
    assert "core-seconds" in told["for 5 %"]


def test_sources_without_a_highest_frequency_need_one():
    wanted = plan(a_case("dg", {"kind": "gaussian", "duration": 1e-4})).plan
    with raises(InputError):
        proposals.section(wanted, table.read(), 0.01)
    assert proposals.section(wanted, table.read(), 0.01, 1.0)[1]


def test_estimated_errors_are_set_beside_true_ones():
    truth = estimates.TRUTHS["full-space"]
    found = [
        estimates.compared("full-space", truth, setting)
        for setting in (Setting("dg", 4, 5, "double"), Setting("fd", 4, 30, "single"))
    ]
    assert all(len(c.true) == 4 and c.within == 1.0 and c.cost > 1.0 for c in found)
    assert 0.1 < np.sqrt(np.mean(found[0].true ** 2)) < 0.2
    assert estimates.within(found) == 1.0
    assert [row[:3] for row in estimates.rows(found)] == [
        ("full-space", "dg, order 4, 5", "4"), ("full-space", "fd, order 4, 30", "4"),
    ]  # fmt: skip
