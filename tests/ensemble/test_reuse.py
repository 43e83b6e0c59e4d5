"""Members that reuse plans of others have the results of members that run alone, bit for bit."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.base.reuse import RESULTS, Store, reusing
from faultwave.case.load import load_case
from faultwave.case.native import location_of
from faultwave.domain.tets import write_puml
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.ensemble.folder import EnsembleFolder
from faultwave.ensemble.members import set_value
from faultwave.ensemble.process import MemberProcess
from faultwave.ensemble.study import ResultSettings
from faultwave.ensemble.tasks import Task, compute, forecast, reusing_plans, run_member
from tests.ensemble.case import rupture_case, wave_case

Results = dict[str, np.ndarray]


def fault_case() -> dict[str, Any]:
    """A rupture on some hundred tetrahedra."""
    shape = {"shape": "tpv5", "mesher": "builtin", "size": 3000.0, "far_size": 6000.0, "half_width": [9000.0, 9000.0], "depth": 9000.0,
             "fault_length": 12000.0, "fault_depth": 6000.0}  # fmt: skip
    found = rupture_case(0.1)
    del found["engine"], found["grid"]
    found["fault"] |= {"reference": [0, -1000.0, 0], "reference_method": "point"}
    found["mesh"] = {"generate": shape}
    found["numerics"] = {"order": 2, "backend": "numpy"}  # needs no compiler
    found["output"]["fault_receivers"] = {"points": [[0, 0, -1500.0]]}
    found["output"]["energies"] = {"interval": 0.02}
    return found


MEDIUM = {"rho": "return 1 + 8 * x;", "mu": "return 1;", "lambda": "return 2;"}
"""A medium whose wave speeds differ by a factor of 3."""


def graded_case(end: float = 0.08) -> dict[str, Any]:
    """Waves at a corner of a medium that needs local time steps and cell averages."""
    found = wave_case(end, material={"expression": dict(MEDIUM)}, numerics={"order": 2, "backend": "numpy"})
    found["sources"][0]["location"] = [0.9, 0.5, 0.9]
    found["output"]["receivers"]["points"] = [[0.95, 0.5, 0.95]]
    return found


WAVES: dict[str, Any] = {
    "mesh.generate.cells": [3, 2, 3], "mesh.generate.lower": [0, 0, -0.2], "mesh.generate.boundaries": {"x+": "rigid"},
    "mesh.scaling": 2.0, "mesh.displacement": [0.1, 0, 0], "mesh.boundaries": {"rigid": [1, 5]},
    "material.expression.rho": "return 1 + 7 * x;", "material.expression.mu": "return 1.25;", "material.maximum": {"rho": 4.0},
    "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}}, "numerics.order": 3, "numerics.cfl": 0.3,
    "numerics.homogenise": False, "numerics.precision": "single",
    "numerics.clustering": {"rates": [1]}, "numerics.stored_waves": "single", "numerics.integrator": "rk4", "numerics.flux": "rusanov",
    "numerics.compensated": True, "numerics.backend": "cpu",
    "end_time": 0.1, "sources[0].location": [0.8, 0.5, 0.9], "sources[0].force": [2.0, 0.0, 0.5],
    "sources[0].time_function.duration": 0.05, "output.receivers.points": [[0.9, 0.6, 0.95]],
    "output.receivers.interval": 0.01, "attenuation": {"high": 5.0}, "law": "acoustic",
    "initial": {"kind": "plane-wave", "wave": [{"mode": "P", "k": [6.0, 0, 0], "amplitude": 0.1}]},
}  # fmt: skip
"""Other values of the settings of a wave case."""

FAULTS: dict[str, Any] = {
    "mesh.generate.size": 2500.0, "mesh.generate.dip": 80.0, "mesh.generate.depth": 10000.0, "fault.reference": [0, 1000.0, 0],
    "fault.friction": "rate-and-state-aging", "fault.parameters.constant.mu_d": 0.5, "fault.parameters.constant.T_n": -110e6,
    "fault.parameters.expression.T_s": "return 81000000;", "material.constant.vp": 5500.0, "material.constant.vs": 3000.0,
    "material.constant.rho": 2500.0, "numerics.order": 3, "numerics.cfl": 0.3, "numerics.clustering": {"rates": [3]},
    "numerics.flux_near_faults": "rusanov", "output.receivers.points": [[-2000.0, 1500.0, 0.0]],
    "output.fault_receivers.points": [[500.0, 0, -1500.0]], "output.energies.interval": 0.05, "fault": None,
}  # fmt: skip
"""Other values of the settings of a rupture on tetrahedra."""

GRIDS: dict[str, Any] = {
    "grid.spacing": 100.0, "grid.lower": [-6000.0, -3100.0, -6600.0], "fault.parameters.constant.d_c": 0.3,
    "fault.parameters.constant.mu_d": 0.5, "material.constant.vp": 5500.0, "material.constant.rho": 2500.0, "end_time": 0.2,
}  # fmt: skip
"""Other values of the settings of a rupture on a grid."""


def changed(base: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(base)
    set_value(data, location_of(path), copy.deepcopy(value))
    return data


def results_of(data: dict[str, Any], folder: Path) -> Results | str:
    """Return every number that a run gives, or the text of its errors."""
    data = copy.deepcopy(data)
    data["output"]["folder"] = str(folder)
    data["numerics"] = data.get("numerics", {}) | {"threads": 1}
    try:
        case, problems = load_case(data)
        problems.raise_errors()
        session = run_member(case)
    except InputError as error:
        return str(error)
    found = {
        "warnings": np.array([str(w) for w in session.warnings]),
        "files": np.array([str(f) for f in session.files_read]),
    }
    for number, result in enumerate(session.results()):
        for name, variable in result.data.variables.items():
            found[f"{number} {result.kind} {name}"] = np.asarray(variable.data)
    return found


def assert_same(one: Results | str, other: Results | str, label: str) -> None:
    if isinstance(one, str) or isinstance(other, str):
        assert one == other, label
        return
    assert one.keys() == other.keys() and len(one) > 2, label
    for name, values in one.items():
        assert values.tobytes() == other[name].tobytes() and values.shape == other[name].shape, f"{label}: {name}"


@pytest.mark.parametrize(("base", "changes"), [(graded_case(), WAVES), (fault_case(), FAULTS), (rupture_case(0.1), GRIDS)],
                         ids=["waves", "faults", "grids"])  # fmt: skip
def test_no_setting_escapes_the_keys(tmp_path, base, changes):
    """Settings change one by one, each member after one of the base case; every result is that of a member without reuse."""
    alone = {path: results_of(changed(base, path, value), tmp_path) for path, value in changes.items()}
    reference = results_of(base, tmp_path)
    assert isinstance(reference, dict)
    ran = [path for path, found in alone.items() if isinstance(found, dict)]
    assert len(ran) > 0.8 * len(alone), {path: found for path, found in alone.items() if isinstance(found, str)}
    same = [path for path in ran if _equal(alone[path], reference)]
    assert not same, f"changes without effect test nothing: {same}"
    with reusing(Store(1e9)) as store:
        for path, value in changes.items():
            assert_same(results_of(base, tmp_path), reference, f"base before {path}")
            assert_same(results_of(changed(base, path, value), tmp_path), alone[path], path)
    if "mesh" in base:
        assert all(
            count >= len(changes) - 1 for name, count in store.hits.items() if not name.endswith("nearest_fault_face")
        )
        assert len(store.hits) >= 6


def _equal(one: Results | str, other: Results | str) -> bool:
    try:
        assert_same(one, other, "")
    except AssertionError:
        return False
    return True


@given(st.data())
@settings(max_examples=15)
def test_combined_changes_in_any_order(tmp_path_factory, data):
    """Several settings at once, in sequences of members that share a store."""
    folder = tmp_path_factory.mktemp("any")
    paths = ["mesh.generate.cells", "mesh.displacement", "material.expression.rho", "numerics.order", "numerics.cfl", "sources[0].location",
             "output.receivers.points", "numerics.clustering"]  # fmt: skip
    members = data.draw(st.lists(st.sets(st.sampled_from(paths)), min_size=2, max_size=4))
    found = []
    with reusing(Store(1e9)):
        for chosen in members:
            case = graded_case(0.02)
            for path in sorted(chosen):
                case = changed(case, path, WAVES[path])
            found.append((case, results_of(case, folder)))
    for case, results in found:
        assert_same(results_of(case, folder), results, str(case))


EASI = """
!Switch
[rho, mu]: !ConstantMap
  map: {rho: %s, mu: 1.0}
[lambda]: !Include part.yaml
"""


def write_mesh(path: Path, length: float) -> None:
    write_puml(path, box_mesh(Box(cells=(3, 3, 3), lower=(0.0, 0.0, 0.0), upper=(1.0, 1.0, length))))


def test_changes_of_files_are_seen(tmp_path):
    """Mesh, model and included model are overwritten between members; sizes stay the same."""
    mesh, model, part = tmp_path / "mesh.puml.h5", tmp_path / "model.yaml", tmp_path / "part.yaml"
    data = graded_case()
    data["mesh"], data["material"] = {"file": str(mesh)}, {"easi": str(model)}
    versions = [(1.0, "1.0", "2.0"), (1.1, "1.0", "2.0"), (1.1, "1.5", "2.0"), (1.1, "1.5", "2.5"), (1.0, "1.0", "2.0")]
    found = []
    with reusing(Store(1e9)) as store:
        for length, rho, lam in versions:
            write_mesh(mesh, length)
            model.write_text(EASI % rho)
            part.write_text(f"!ConstantMap\nmap: {{lambda: {lam}}}\n")
            found.append(results_of(data, tmp_path))
    assert store.hits
    for (length, rho, lam), results in zip(versions, found, strict=True):
        write_mesh(mesh, length)
        model.write_text(EASI % rho)
        part.write_text(f"!ConstantMap\nmap: {{lambda: {lam}}}\n")
        assert_same(results_of(data, tmp_path), results, f"{length} {rho} {lam}")
        assert isinstance(results, dict) and results["files"].tolist() == [str(part)]
    assert not any(_equal(found[0], other) for other in found[1:4]) and _equal(found[0], found[4])


HITS = "dict(__import__('faultwave.base.reuse', fromlist=['reuse']).current_store().hits)"
"""Expression of the numbers of reused results in a process."""


def files_of(folder: Path) -> dict[int, bytes]:
    return {number: EnsembleFolder(folder).results_file(number).read_bytes() for number in range(3)}


@pytest.mark.parametrize("case", [fault_case(), rupture_case(0.1)], ids=["tetrahedra", "grid"])
def test_a_worker_writes_the_bytes_of_fresh_processes(tmp_path, case):
    cases = [changed(case, "fault.parameters.constant.mu_d", value) for value in (0.525, 0.5, 0.525)]

    def tasks(folder: Path) -> list[Task]:
        loaded = [load_case(data)[0] for data in cases]
        return [
            Task(number, found, str(number), folder, ResultSettings())
            for number, found in enumerate(loaded)
            if found is not None
        ]

    worker = MemberProcess(1)
    for task in tasks(tmp_path / "worker"):
        worker.call(compute, task)
    reused = worker.call(eval, HITS)
    worker.close()
    for task in tasks(tmp_path / "fresh"):
        fresh = MemberProcess(1)
        fresh.call(compute, task)
        fresh.close()
    one, other = files_of(tmp_path / "worker"), files_of(tmp_path / "fresh")
    assert one == other and one[0] == one[2] != one[1]
    assert (sum(reused.values()) >= 12) == ("mesh" in case)


def test_stored_results_are_counted_in_the_memory_of_a_member(tmp_path):
    """The forecast includes what the store of a worker may still take."""
    case, _ = load_case(fault_case())
    assert case is not None
    task = Task(0, case, "a", tmp_path, ResultSettings())
    without = forecast(task).memory
    with reusing_plans() as store:
        first = forecast(task).memory
        assert 0 < store.size < store.limit and first - without >= (RESULTS - 1) * store.size
    with reusing(Store(0)) as store:
        forecast(task)
        assert store.size == 0 and not store.hits
