"""Receivers outside of the mesh: an error, or skipped with a warning as decks have it; file names that are nearly right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faultwave.base.files.paths import similar
from faultwave.case.load import load_case
from faultwave.case.seissol.convert import load_deck
from faultwave.run import simulate
from faultwave.run.planned import check
from tests.run.test_unused_settings import case

FORCE = {
    "kind": "force",
    "location": [450, 500, 550],
    "force": [1e12, 0, 0],
    "time_function": {"kind": "brune", "duration": 0.02},
}
POINTS = [[500, 500, 1000.02], [250, 300, 400], [5e3, 0, 0], [700, 600, 500]]


def asked(**more: Any) -> dict[str, Any]:
    return case(sources=[FORCE], output={"receivers": {"points": POINTS, "interval": 0.01, **more}})


def test_they_are_errors_in_a_case() -> None:
    assert [p.where.split(" at ")[0] for p in check(asked()).errors] == ["receiver 1", "receiver 3"]


def test_those_that_are_skipped_keep_the_numbers_of_the_others() -> None:
    found = check(asked(outside="skip"))
    (told,) = (p for p in found.warnings if "their records are empty" in p.what)
    assert not found.errors and "by up to 4000 m (receiver 3); their records are empty: 1, 3" in told.what
    some, inside = simulate(asked(outside="skip")).run(write=False), asked()
    inside["output"]["receivers"]["points"] = [POINTS[1], POINTS[3]]
    values, whole = some.receivers["values"], simulate(inside).run(write=False).receivers["values"]
    assert np.isnan(values[:, [0, 2]]).all() and np.array_equal(values[:, [1, 3]], whole) and np.abs(whole).max() > 0


def test_decks_skip_them() -> None:
    deck = Path(__file__).parents[3] / "shared" / "cases" / "tpv5" / "parameters.par"
    if not deck.is_file():
        pytest.skip("no reference cases next to the project")
    made, _ = load_deck(deck)
    assert made is not None and made.output.receivers.outside == "skip"


@pytest.mark.parametrize("name", ["tpv29_receivers.dat", "tpv29-reciever.dat", "TPV29-receivers.dat"])
def test_file_names_that_are_nearly_right(tmp_path: Path, name: str) -> None:
    (tmp_path / "tpv29-receivers.dat").write_text("0 0 0\n")
    (tmp_path / "fault.yaml").write_text("")
    path = tmp_path / "case.yaml"
    path.write_text(
        "end_time: 1\nmesh:\n  generate: {shape: box, cells: [2, 2, 2], lower: [0, 0, 0], upper: [1, 1, 1]}\n"
        f"material:\n  constant: {{rho: 1, vp: 2, vs: 1}}\noutput:\n  receivers: {{file: {name}}}\n"
    )
    _, problems = load_case(path)
    (told,) = problems.errors
    assert "no such file" in told.what and told.advice == "did you mean 'tpv29-receivers.dat'?"


@pytest.mark.parametrize("other", ["trace.dat", "tpv5_faultreceivers.dat", "station-map.png", "readme.dat"])
def test_files_that_are_named_otherwise_are_not_proposed(tmp_path: Path, other: str) -> None:
    (tmp_path / other).write_text("0 0 0\n")
    assert similar([tmp_path / "stations.dat"]) == ""


def test_names_of_files_in_easi_files(tmp_path: Path) -> None:
    (tmp_path / "rock-model.yaml").write_text("!ConstantMap\nmap: {rho: 2700, mu: 3e10, lambda: 3e10}\n")
    (tmp_path / "material.yaml").write_text("!Include rock_model.yaml\n")
    (told,) = check(case(material={"easi": str(tmp_path / "material.yaml")})).errors
    assert "'rock_model.yaml' does not exist" in told.what and "did you mean 'rock-model.yaml'?" in told.advice
