"""The proxy runs what a run runs and reports what it must; nothing here depends on how fast."""

import json

import numpy as np
import pytest

from faultwave.base.errors import BackendError, InputError
from faultwave.bench import problem, report
from faultwave.bench import proxy as bench
from faultwave.bench.proxy import Setting, proxy, read
from faultwave.domain import tets
from faultwave.physics import friction
from faultwave.physics.waves import laws
from tests.messages import raises

SWEEP = 2**20
TINY = {"cells": 162, "order": 2, "steps": 1, "threads": 1, "repeats": 2}
KEYS = {
    "updates_per_second", "useful_flops_per_update", "bytes_per_update", "peak_flops", "peak_fraction", "copy_bandwidth",
    "bytes_per_cell", "executed_flops_per_update", "ns_per_update", "kernels", "roofs", "machine", "versions", "setting", "date",
}  # fmt: skip


@pytest.fixture(scope="module")
def elastic():
    return proxy(Setting(**TINY, faults=0.1), sweep=SWEEP)


def test_what_is_reported(elastic):
    assert set(elastic) >= KEYS
    assert elastic["cells"] == 162
    assert elastic["fault_faces"] == round(0.1 * elastic["faces_between_cells"]) == 32
    assert len(elastic["updates_per_second_samples"]) == 2
    for name in (
        "updates_per_second",
        "peak_flops",
        "peak_fraction",
        "copy_bandwidth",
        "bytes_per_cell",
        "copy_fraction",
    ):
        assert elastic[name] > 0
    assert elastic["ns_per_update"] == pytest.approx(1e9 / elastic["updates_per_second"])
    assert elastic["setting"]["steps"] == 1


@pytest.mark.parametrize("asked", [{"plasticity": 0.5}, {"law": "viscoelastic"}, {"law": "anisotropic"}])
def test_other_rock_is_set_beside_elastic_rock_of_the_same_run(asked, elastic):
    found = proxy(Setting(**TINY | {"repeats": 3}, **asked), sweep=SWEEP)
    assert found["elastic_updates_per_second"] > 0
    names, values, notes = zip(*report.proxy_sections(found)[0][2], strict=True)
    row = names.index("share of the elastic rate")
    assert values[row] == f"{found['elastic_fraction']:.2f}" and "measured in turn" in notes[row]
    assert elastic["elastic_fraction"] is None
    assert "share of the elastic rate" not in [r[0] for r in report.proxy_sections(elastic)[0][2]]


def test_what_is_set_beside():
    assert problem.plain(Setting()) is None and problem.plain(Setting(law="acoustic")) is None
    assert problem.plain(Setting(plasticity=0.1, cells=9999)) == Setting(cells=9999)
    assert problem.plain(Setting(law="poroelastic", order=5)) == Setting(order=5)


def test_every_kernel_of_a_step_is_measured(elastic):
    table = {k["kernel"]: k for k in elastic["kernels"]}
    assert {"predict_keep", "correct", "rupture"} <= set(table)
    assert all(k["ns_per_item"] > 0 and k["flops_per_second"] > 0 and 0 < k["share"] for k in table.values())
    total = sum(k["items"] * k["flops_per_item"] for k in table.values())
    assert elastic["executed_flops_per_update"] == pytest.approx(total / 162)


def test_fractions_are_of_the_roofs_of_the_same_repeat():
    r = proxy(Setting(**TINY | {"repeats": 1}), sweep=SWEEP)
    rate, peak, copy = r["updates_per_second"], r["roofs"]["fma"]["value"], r["roofs"]["copy"]["value"]
    assert (r["peak_flops"], r["copy_bandwidth"]) == (peak, copy)
    assert r["peak_fraction"] == pytest.approx(rate * r["useful_flops_per_update"] / peak)
    assert r["executed_peak_fraction"] == pytest.approx(rate * r["executed_flops_per_update"] / peak)
    assert r["copy_fraction"] == pytest.approx(rate * r["bytes_per_update"] / copy)
    for k in r["kernels"]:
        assert k["flops_per_second"] == pytest.approx(k["flops_per_item"] / k["ns_per_item"] * 1e9)
        assert k["bytes_per_second"] == pytest.approx(k["bytes_per_item"] / k["ns_per_item"] * 1e9)
        assert k["peak_fraction"] == pytest.approx(k["flops_per_second"] / peak)
        assert k["copy_fraction"] == pytest.approx(k["bytes_per_second"] / copy)
        assert k["share"] == pytest.approx(k["ns_per_update"] / r["ns_per_update"])


def test_the_headline_is_the_share_of_the_lower_roof(elastic):
    shares = {"memory": elastic["copy_fraction"], "arithmetic": elastic["peak_fraction"]}
    assert shares[elastic["roofline"]] == max(shares.values())
    assert elastic["roofline_fraction"] == pytest.approx(max(shares.values()), rel=0.2)  # of two medians, and of one
    title, _, rows = report.proxy_sections(elastic)[0]
    assert rows[0] == (
        "share of the roofline",
        f"{100 * elastic['roofline_fraction']:.1f} %",
        f"bound by {elastic['roofline']}",
    )


@pytest.mark.parametrize(
    "bytes_per_cell, cache, cells",
    [(7000.0, 32 * 2**20, 100_000), (4000.0, 480 * 2**20, 251_659), (300.0, 2**30, 1_000_000)],
)
def test_by_default_a_proxy_needs_twice_the_memory_of_the_caches(bytes_per_cell, cache, cells):
    assert problem.enough_cells(bytes_per_cell, cache) == cells


def test_by_default_correction_and_prediction_are_one_kernel_in_most_steps(monkeypatch):
    """However long a step takes."""
    monkeypatch.setattr(bench, "REPEAT_SECONDS", 0.0)
    monkeypatch.setattr(problem, "LEAST", 162)
    monkeypatch.setattr(bench, "last_cache_bytes", lambda: 1000)
    found = proxy(Setting(order=2, threads=1, repeats=1), sweep=SWEEP)
    assert found["setting"]["steps"] == 10 and found["setting"]["cells"] == found["cells"] == 162
    items = {k["kernel"]: k["items"] for k in found["kernels"]}
    assert items["correct_and_predict"] == pytest.approx(9 * items["predict"])


def test_bytes_are_those_of_the_kernels():
    found = proxy(Setting(**TINY | {"order": 4, "steps": 4}), sweep=SWEEP)
    table = {k["kernel"]: k for k in found["kernels"]}
    # order 4: 20 modes of 9 read and written, 4 faces of 10 modes of 3 twice, 21 constants of the cell, 4 x 5 of the
    # faces, 4 slot numbers; a turn does both and moves only the waves and what is kept of them twice
    wanted = 8 * (2 * 180 + 120 + 120 + 21 + 20) + 4 * found["index_bytes"]
    turned = wanted + 8 * 240 + 4 * found["index_bytes"]
    assert table["predict"]["bytes_per_item"] == table["correct"]["bytes_per_item"] == wanted
    assert table["correct_and_predict"]["bytes_per_item"] == turned
    mean = ((found["setting"]["steps"] - 1) * turned + 2 * wanted) / found["setting"]["steps"]
    assert found["bytes_per_update"] == pytest.approx(mean * 168 / 162, rel=0.03)  # 162 cells fill 168 places
    assert found["dofs_per_cell"] == 180 and found["dofs_per_second"] == 180 * found["updates_per_second"]
    assert found["useful_flops_per_update"] == 13814


def test_single_precision_moves_half_but_slot_numbers():
    found = proxy(Setting(**TINY, precision="single", law="acoustic"), sweep=SWEEP)
    table = {k["kernel"]: k for k in found["kernels"]}
    # order 2: 4 modes of 4 twice, 4 faces of 3 modes twice, 10 of the cell, 4 x 4 of the faces
    assert table["predict"]["bytes_per_item"] == 4 * (2 * 16 + 12 + 12 + 10 + 16) + 4 * found["index_bytes"]
    assert found["setting"]["precision"] == "single"


@pytest.mark.parametrize("law", sorted(laws()))
def test_every_law_moves(law):
    engine = problem.solver(Setting(**TINY, law=law))
    before = engine.operator.dofs()
    engine.advance(engine.march.tick)
    after = engine.operator.dofs()
    assert np.isfinite(after).all()
    assert (np.abs(after - before).max((0, 1)) > 0).all()


def test_memory_counts_every_buffer(elastic):
    plain = problem.solver(Setting(**TINY))
    assert plain.backend.nbytes() >= plain.operator.nbytes() > 0
    assert elastic["resident_bytes"] > plain.backend.nbytes()  # friction has its own


def test_a_step_of_the_proxy_is_a_step_of_the_engine():
    """The book changes nothing: the same numbers as without it."""
    watched, plain = (problem.solver(Setting(**TINY, backend="numpy")) for _ in range(2))
    with watched.backend.written() as entries:
        watched.advance(watched.march.tick)
    plain.advance(plain.march.tick)
    np.testing.assert_array_equal(watched.operator.dofs(), plain.operator.dofs())
    assert {e.kernel.name for e in entries} == {"predict", "correct"}
    assert not plain.backend.entries
    assert watched.layout.clusters == 1


EVERY_FRICTION = [
    *friction.laws(),
    "strong-velocity-weakening+thermal-pressurisation",
    "linear-slip-weakening+prakash-clifton",
]


@pytest.mark.parametrize("law", EVERY_FRICTION)
def test_faults_of_every_law_slip(law):
    engine = problem.solver(Setting(**TINY, faults=0.1, friction=law, backend="numpy"))
    engine.advance(2 * engine.march.tick)
    record = engine.parts["rupture"].fault.record()
    assert (record["accumulated_slip"] > 0).mean() > 0.9 and np.isfinite(record["slip_rate"]).all()  # waves hold a few
    assert engine.plan.part("rupture").law.name == law.replace("+", " + ")


def test_what_friction_costs_is_told():
    found = proxy(Setting(**TINY | {"repeats": 1}, faults=0.1), sweep=SWEEP)
    table = {k["kernel"]: k for k in found["kernels"]}
    face = table["rupture"]["ns_per_update"] * found["cells"] / found["fault_faces"]
    rest = sum(k["ns_per_update"] for k in table.values() if k["kernel"] != "rupture")
    assert found["fault_face_updates"] == pytest.approx(face / rest)
    rows = {row[0]: row[1:] for row in report.proxy_sections(found)[0][2]}
    assert rows["friction of a face"] == (f"{found['fault_face_updates']:.1f} cell updates", "linear-slip-weakening")
    plain = proxy(Setting(**TINY | {"repeats": 1}), sweep=SWEEP)
    assert plain["fault_face_updates"] is None
    assert "friction of a face" not in [row[0] for row in report.proxy_sections(plain)[0][2]]


@pytest.mark.parametrize("share", [0.001, 0.02, 0.4, 1.0])
def test_faults_are_the_share_asked_for(share):
    made = problem.mesh(1000, share)
    topology = tets.build_topology(made)
    inner = topology.neighbours >= 0
    assert inner.all()
    assert (topology.kinds == tets.BoundaryKind.FAULT).sum() == 2 * round(share * inner.sum() / 2)


def test_a_small_share_lies_in_a_plane():
    made = problem.mesh(1000, 0.02)
    topology = tets.build_topology(made)
    shape = tets.geometry(made, topology)
    fault = topology.kinds == tets.BoundaryKind.FAULT
    spread = np.ptp(shape.centroids[fault.any(1)][:, 1])
    assert spread < 2 * problem.EDGE


def test_the_mesh_has_about_the_cells_asked_for():
    for cells in (162, 1000, 12345, 100_000):
        x, y, z = problem.bricks(cells)
        assert 6 * x * y * z == pytest.approx(cells, rel=0.1)


@pytest.mark.parametrize(
    "change",
    [
        {"cells": -5},
        {"law": "elsatic"},
        {"faults": 1.5},
        {"faults": float("nan")},
        {"faults": 0.1, "law": "acoustic"},
        {"faults": 0.1, "friction": "rate-and-state-agein"},
        {"faults": 0.1, "friction": "imposed-delta+prakash-clifton"},
        {"friction": "rate-and-state-ageing"},
        {"order": 9},
        {"precision": "half"},
        {"backend": "abacus"},
        {"steps": 0},
        {"threads": 0},
        {"repeats": 0},
    ],
    ids=str,
)
def test_a_setting_that_cannot_be(change):
    with raises(InputError):
        proxy(Setting(**change))


def test_all_that_is_wrong_is_said_at_once():
    with raises(InputError):
        proxy(Setting(law="x", cells=0, faults=2.0, order=1))


@pytest.mark.parametrize("text", ["{}", "{", None])
def test_a_file_that_is_no_result(tmp_path, text):
    path = tmp_path / "x.json"
    if text is not None:
        path.write_text(text)
    with raises(InputError):
        read(path)


def test_the_command_writes_what_it_measured(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from faultwave.bench.rooflines import roofs
    from faultwave.cli.main import app

    monkeypatch.setattr(roofs, "sweep_bytes", lambda: SWEEP)
    path = tmp_path / "p.json"
    options = [
        "--cells",
        "162",
        "--order",
        "2",
        "--steps",
        "1",
        "--threads",
        "1",
        "--repeats",
        "1",
        "--json",
        str(path),
    ]
    result = CliRunner().invoke(app, ["bench", "proxy", *options])
    assert result.exit_code == 0, result.output
    assert "element updates/s" in result.stdout
    assert set(json.loads(path.read_text())) >= KEYS
    assert read(path)["cells"] == 162
    assert CliRunner().invoke(app, ["bench", "proxy", "--cells", "-1"]).exit_code == 2
    assert CliRunner().invoke(app, ["bench", "peak", "--threads", "0"]).exit_code == 2


def test_no_compiler_is_no_obstacle_and_facts_come_first(monkeypatch):
    """A device needs none; what is told of the machine is known before anything is measured."""

    def absent():
        raise BackendError("no C compiler")

    monkeypatch.setattr(bench, "version", absent)
    assert bench.facts()["machine"]["compiler"] is None and bench.facts()["machine"]["vector_bytes"] is None

    def unknown():
        raise RuntimeError("first")

    monkeypatch.setattr(bench, "facts", unknown)
    monkeypatch.setattr(bench.problem, "solver", lambda setting: pytest.fail("nothing is prepared yet"))
    with pytest.raises(RuntimeError, match="first"):
        bench.proxy(Setting(**TINY))


def test_a_box_too_large_for_memory_is_told_before_it_is_made(monkeypatch):
    monkeypatch.setattr(problem, "mesh", None)  # whoever calls it fails
    with pytest.raises(InputError, match=r"need more than .* GiB, and this machine has"):
        proxy(Setting(cells=10**10), sweep=SWEEP)
