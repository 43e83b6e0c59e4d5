"""Members: paths of settings, impossible values, and identities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultwave.base.errors import InputError
from faultwave.ensemble.identity import case_identity
from faultwave.ensemble.members import Members, load_members, set_value, study_identity
from faultwave.ensemble.study import load_study
from tests.ensemble.case import study, wave_case
from tests.messages import expect, raises


def members(folder: Path, **more: Any) -> Members:
    return load_members(*load_study(study(folder, **more)))[0]


def error_of(folder: Path, **more: Any) -> str:
    with pytest.raises(InputError) as error:
        members(folder, **more)
    return str(error.value)


def test_values_reach_their_settings(tmp_path):
    vary = {
        "x": {"setting": ["sources[0].location[0]", "output.receivers.points[1][0]"], "values": ["0.2 m", 0.3]},
        "order": {"setting": "numerics.order", "values": [2, 3]},
        "cfl": {"setting": "numerics.cfl", "values": [0.3, 0.4]},
    }
    found = members(tmp_path, vary=vary, results={"stations": False})
    case = found.case(0)
    assert case.sources[0].location == (0.2, 0.5, 0.6) and case.output.receivers.points[1] == (0.2, 0.4, 0.5)
    assert [found.case(m).numerics.order for m in (0, 1)] == [2, 3]
    assert found.case(1).numerics.cfl == 0.4
    assert found.base["sources"][0]["location"][0] == 0.4  # the base case stays as it is


def test_paths_that_name_no_setting(tmp_path):
    def one(path: str, **more: Any) -> str:
        return error_of(tmp_path, vary={"a": {"setting": path, "values": [1, 2]}}, **more)

    expect(one("numeric.order"))
    expect(one("numerics.ordr"))
    expect(one("material.constant.rhoo"))
    expect(one("sources[3].force[0]"))
    expect(one("output.folder"))
    expect(one("numerics.threads"))
    expect(one("output.receivers.interval"))
    expect(one("mesh.generate.cells[0]"))
    expect(one("sources[0]force"))


def test_two_variables_of_one_setting(tmp_path):
    vary = {"a": {"setting": "numerics.order", "values": [2]}, "b": {"setting": "numerics.order", "values": [3]}}
    expect(error_of(tmp_path, vary=vary))


def test_impossible_values_are_reported_with_their_share(tmp_path):
    vary = {
        "density": {
            "setting": "material.constant.rho",
            "distribution": "norm",
            "parameters": {"loc": 0.0, "scale": 1.0},
        },
        "order": {"setting": "numerics.order", "values": [2, 90]},
    }
    expect(error_of(tmp_path, design={"kind": "sobol", "members": 64}, vary=vary))


def test_problems_of_a_file_have_lines(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text(
        "case: tpv5\ndesign: {kind: lst}\nvary:\n  a:\n    setting: end_time\n    valeus: [1]\nresults:\n  percentiles: [200]\n"
    )
    with raises(InputError):
        load_study(file)
    file.write_text("case: tpv5\ndesign: {kind: list}\nvary:\n  a:\n    setting: end_tme\n    values: [1]\n")
    with raises(InputError):
        load_members(*load_study(file))


def test_a_member_is_known_by_its_case_and_its_files(tmp_path):
    stations = tmp_path / "stations.txt"
    stations.write_text("0.3 0.4 0.5\n")
    case = wave_case()
    case["output"]["receivers"] = {"file": str(stations), "interval": 0.02}
    found = members(tmp_path, case=case)
    results = found.study.results
    digests = [case_identity(found.case(m), results) for m in range(4)]
    assert len(set(digests)) == 4
    assert digests == [case_identity(members(tmp_path, case=case).case(m), results) for m in range(4)]
    other = {**case, "title": "another", "numerics": {"order": 2, "threads": 3}}
    assert case_identity(members(tmp_path / "elsewhere", case=other).case(0), results) == digests[0]
    stations.write_text("0.3 0.4 0.6\n")
    assert case_identity(members(tmp_path, case=case).case(0), results) != digests[0]


def test_a_study_is_known_by_its_base_case_and_variables(tmp_path):
    first = study_identity(members(tmp_path))
    more = {"push": {"setting": "sources[0].force[0]", "values": [1.0, 2.0, 3.0, 4.0, 5.0]}}
    assert study_identity(members(tmp_path, vary=more)) == first
    assert study_identity(members(tmp_path, case=wave_case(end=0.1))) != first
    other = {"push": {"setting": "sources[0].force[1]", "values": [1.0]}}
    assert study_identity(members(tmp_path, vary=other)) != first


def test_set_value_creates_groups_and_copies_tuples():
    data: dict[str, Any] = {"a": ({"b": (1, 2)},)}
    inner = data["a"]
    set_value(data, ("a", 0, "b", 1), 5)
    set_value(data, ("c", "d"), 6)
    assert data == {"a": [{"b": [1, 5]}], "c": {"d": 6}} and len(inner) == 1


def test_every_case_is_validated_once(tmp_path, monkeypatch):
    """A file that changes after the study was loaded changes the identities of the members all the same."""
    import faultwave as fw
    from faultwave.ensemble import members as module
    from faultwave.ensemble.checks import plan_without_forecast

    stations, counted, build = tmp_path / "stations.txt", list[int](), module.build

    def counting(*arguments: Any) -> Any:
        counted.append(1)
        return build(*arguments)

    monkeypatch.setattr(module, "build", counting)
    stations.write_text("0.3 0.4 0.5\n")
    case = wave_case()
    case["output"]["receivers"] = {"file": str(stations), "interval": 0.02}
    ensemble = fw.Ensemble(study(tmp_path / "out", case=case))
    first = plan_without_forecast(ensemble.members).digests
    assert len(counted) == 4
    results = ensemble.study.results
    assert list(first) == [case_identity(ensemble.case(m), results) for m in range(4)]
    stations.write_text("0.3 0.4 0.6\n")
    second = plan_without_forecast(ensemble.members).digests
    assert not set(first) & set(second) and len(counted) == 12
    assert list(second) == [case_identity(ensemble.case(m), results) for m in range(4)]
