"""The model of scaling: its limits, what it takes from real cuts, that it agrees with what is sent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import faultwave as fw
from faultwave.bench import forecast
from faultwave.bench.forecast import Costs, Cut, Load, Machine
from faultwave.dg.solver import Solver
from tests.run.rupture.setup import settings, slip_weakening

LOAD = Load(length=0.01, updates=1e6, faces=1e4, steps=7.0, cells=3e5)
COSTS = Costs(cell=1e-6, face=1e-5, step=0.0)
KNOWN = [Cut(1), Cut(2, 1.01, 2e5, 10.0, 0.05), Cut(4, 1.02, 2e5, 20.0, 0.1)]


def test_without_costs_of_messages_only_imbalance_is_lost():
    free = Machine(1, 0.0, 1e30)
    one = forecast.strong(LOAD, COSTS, KNOWN, free, 1)
    assert one.total == pytest.approx(1e6 * 1e-6 + 1e4 * 1e-5)
    four = forecast.strong(LOAD, COSTS, KNOWN, free, 4)
    assert four.exposed == 0 and four.compute == pytest.approx(one.total * 1.02 / 4)


def test_waiting_begins_where_messages_take_longer_than_the_interior():
    cut = KNOWN[2]
    interior = forecast.forecast(LOAD, COSTS, cut, Machine()).compute * 0.9
    hidden = forecast.forecast(LOAD, COSTS, cut, Machine(1, 0.99 * interior / 20, 1e30))
    assert hidden.exposed == 0
    late = forecast.forecast(LOAD, COSTS, cut, Machine(1, 1.5 * interior / 20, 1e30))
    assert late.exposed == pytest.approx(0.5 * interior)


def test_finer_cuts_than_were_made():
    """Eight times as many parts have a quarter of the bytes each, and twice the loss of balance."""
    fine = forecast.cut_into(32, KNOWN, LOAD.cells)
    assert fine.bytes == pytest.approx(2e5 / 4) and fine.imbalance == pytest.approx(1.04)
    assert fine.border == pytest.approx(0.2) and fine.messages == 20
    assert forecast.cut_into(2, KNOWN, LOAD.cells) == replace(KNOWN[1], parts=2)


def test_weak_scaling_loses_nothing_but_what_neighbours_cost():
    """Per process the work is the same, however many there are."""
    machine = Machine(1, 1e-6, 1e10)
    few, many = (forecast.weak(LOAD, COSTS, KNOWN, machine, n, 1) for n in (2, 8192))
    assert few.compute == pytest.approx(many.compute) and many.total < 1.05 * few.total


def test_what_a_cut_sends_is_what_is_sent(tmp_path):
    """Bytes and messages of the model are those of the layouts of all processes."""
    from faultwave.comm import World
    from faultwave.dg.planning.process_partition import cut, cut_plan

    plan = fw.simulate(settings(tmp_path, slip_weakening())).plan
    load = forecast.load_of(plan)
    often = np.rint(plan.clustering.steps.max() / plan.clustering.steps)
    assert load.updates == (often[plan.clustering.cluster]).sum() and load.faces > 0
    known = forecast._cut(plan, 2)
    part = cut(plan, 2)
    sizes, counts = [], []
    for rank in range(2):
        world = World()
        world.size, world.rank = 2, rank
        mine = cut_plan(plan, world, part)
        channels = _channels(mine)
        times = [min(often[x.cluster], often[x.other]) for x in channels]
        sizes.append(sum(8 * 18 * x.count * t for x, t in zip(channels, times, strict=True)))
        counts.append(sum(times))
    assert known.bytes == max(sizes) and known.messages == max(counts)


def test_friction_is_shared_out_by_its_work(tmp_path):
    """Rate and state costs as much as many cells: the process that has the fault gets fewer of them."""
    from faultwave.dg.planning.process_partition import weights_of
    from tests.run.rupture.test_laws import rate_and_state

    plans = [fw.simulate(settings(tmp_path, f)).plan for f in (slip_weakening(), rate_and_state("ageing", 1e-9, 70e6))]
    light, heavy = (weights_of(p).work.sum() for p in plans)
    assert plans[1].face_work == 2.1 and plans[0].face_work == 1.2
    assert heavy - light == pytest.approx(0.9 * forecast.load_of(plans[0]).faces)
    assert (weights_of(plans[0]).together == plans[0].frictional).all()


def _channels(plan):
    from faultwave.dg.operators.build_layout import Connections, build_layout
    from faultwave.domain import tets

    top = plan.topology
    connections = Connections(
        top.neighbours,
        top.neighbour_faces,
        plan.clustering.cluster,
        plan.frictional,
        plan.stored_derivatives,
        plan.observed,
    )
    curve, clusters = tets.hilbert_order(plan.geometry.centroids), len(plan.clustering.steps)
    return build_layout(connections, curve, 4, plan.partition.border, clusters).cells.channels


def test_measured_costs_and_the_table(tmp_path):
    plan = fw.simulate(settings(tmp_path, slip_weakening())).plan
    costs = forecast.measure(plan, Solver(plan), 0.3)
    assert costs.cell > 0 and costs.face > 0 and costs.step >= 0
    rows = forecast.table(plan, costs, Machine(2), 8192)
    assert [r[0] for r in rows][-1] == "8192" and all(len(r) == len(forecast.HEADER) for r in rows)
    assert rows[0][4] == rows[0][5] == "100 %"


def test_run_times_are_told_in_hours_where_they_are_hours(tmp_path):
    plan = fw.simulate(settings(tmp_path, slip_weakening())).plan
    of_one, machine = Costs(1.0, 0.0, 0.0), Machine()
    load = forecast.load_of(plan)
    spent = forecast.strong(load, of_one, forecast.cuts(plan), machine, 1).total * plan.case.end_time / load.length
    rows = forecast.table(plan, replace(of_one, cell=9000.0 / spent), machine, 1)
    assert rows[0][3] == "2 h 30 min"


def test_the_command(tmp_path, monkeypatch):
    from ruamel.yaml import YAML
    from typer.testing import CliRunner

    from faultwave.cli.main import app

    monkeypatch.setenv("COLUMNS", "140")
    case = {
        "end_time": 1.0, "mesh": {"generate": {"shape": "box", "cells": [6, 6, 6], "lower": [0, 0, 0], "upper": [1, 1, 1]}},
        "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}}, "numerics": {"order": 2},
    }  # fmt: skip
    with open(tmp_path / "case.yaml", "w") as file:
        YAML(typ="safe").dump(case, file)
    done = CliRunner().invoke(app, ["plan", str(tmp_path / "case.yaml"), "--nodes", "8", "--tasks", "2"])
    assert done.exit_code == 0, done.output
    assert "8 nodes of 2 processes" in done.output and "weak" in done.output


def test_a_plan_takes_the_first_snapshots_and_writes_nothing(tmp_path, monkeypatch):
    """Its process then holds what that of a run does."""
    from faultwave.dg.report import plan_report
    from faultwave.engine.snapshots import SnapshotBuffer

    case = settings(tmp_path, slip_weakening())
    case["output"] |= {"fault": {"interval": 0.1}, "volume": {"interval": 0.1}, "energies": {"interval": 0.1}}
    plan = fw.simulate(case).plan
    before, delivered = sorted(tmp_path.rglob("*")), set()
    real = SnapshotBuffer.deliver

    def deliver(self, number, group, values):
        delivered.add((self.fields, number))
        real(self, number, group, values)

    monkeypatch.setattr(SnapshotBuffer, "deliver", deliver)
    rows = dict(dict(plan_report(plan, plan.case, 1e-3))["size"])
    assert rows["memory of the process"].endswith("first snapshots")
    assert {fields for fields, number in delivered if number == 0} == {
        part.fields for part in plan.parts if part.name in ("fault", "volume")
    }
    assert sorted(tmp_path.rglob("*")) == before
