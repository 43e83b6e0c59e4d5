"""Distorted examples are answered: no traceback, and within the limits; ``tools/distort_cases.py`` does the same of all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultwave.run import planned as checks
from tools.distort_cases import (
    SMALL,
    WAYS,
    Answer,
    Worker,
    bases,
    distorted,
    inputs,
    judge,
    places,
    prepare,
    run,
    single,
    summary,
)

SEED, COUNT = 20, 100


def test_a_sample_of_distorted_examples_is_answered(tmp_path: Path) -> None:
    """The same hundred everywhere, of examples that are checked in a moment."""
    chosen = [base for base in bases(tmp_path) if base.name in SMALL]
    assert len(chosen) == len(SMALL)
    answers = []
    for name, base, changes in inputs(chosen, SEED, 2 * COUNT):
        text = distorted(base, changes)
        if text is None or len(answers) == COUNT:
            continue
        folder = tmp_path / base.name
        folder.mkdir(exist_ok=True)
        answers.append(judge(name, prepare(base, text, folder)))
    assert len(answers) == COUNT
    assert [answer for answer in answers if not answer.answered] == []
    kinds = {answer.kind for answer in answers}
    assert {"ok", "errors"} <= kinds


def test_every_key_is_distorted_in_every_way() -> None:
    (base,) = [b for b in bases(Path("none")) if b.name == "leapfrog"]
    found = places(base)
    assert {
        ("mesh", "generate", "upper", 2),
        ("numerics", "integrator"),
        ("output", "receivers", "points", 0, 1),
    } <= set(found)
    assert len(list(single(base))) == len(found) * len(WAYS)
    texts = {distorted(base, [(("end_time",), way)]) for way in WAYS}
    assert len(texts) == len(WAYS) and None not in texts
    assert "1e+30" in str(distorted(base, [(("end_time",), "1e30")])) or "1.0e+30" in str(
        distorted(base, [(("end_time",), "1e30")])
    )


def test_lines_of_decks_are_distorted(tmp_path: Path) -> None:
    folder = tmp_path / "deck"
    folder.mkdir()
    (folder / "parameters.par").write_text("&Output\nOutputFile = 'out'  ! a name\nTimeInterval = 1.0\n/\n")
    (folder / "points.dat").write_text("1.0 2.0 3.0\n")
    deck, points = bases(tmp_path)[-2:]
    assert (deck.name, points.name) == ("deck/parameters.par", "deck/points.dat")
    assert "TimeInterval = nan" in str(distorted(deck, [(2, "nan")])).replace(".nan", "nan")
    assert "OutputFile = 1.0  ! a name\nTimeInterval = 'out'" in str(distorted(deck, [(1, "exchanged")]))
    assert distorted(points, [(0, "exchanged")]) == "2.0 1.0 3.0\n"
    assert distorted(points, [(0, "1e30")]) == "1e30 2.0 3.0\n"


def test_what_has_no_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise KeyError("mu")

    monkeypatch.setattr(checks, "check", broken)
    answer = judge("x", tmp_path)
    assert answer.kind == "traceback" and not answer.answered and "KeyError" in answer.what
    found = summary([answer, Answer("y", "ok", 2.0, 3 << 20, "")], 0)
    assert (found["inputs"], found["tracebacks"], found["without_answer"]) == (2, 1, 1)
    assert found["longest_seconds"] == [2.0, "y"] and found["largest_memory_mib"] == [3, "y"]


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def checked(self: Worker, name: str, path: Path) -> Answer:
        seen.append(name)
        return Answer(name, "ok", 0.1, 0, "")

    monkeypatch.setattr(Worker, "check", checked)
    chosen = [base for base in bases(tmp_path) if base.name == "leapfrog"]
    report = tmp_path / "report.json"
    first = run(chosen, report, 3, 20)
    done = len(seen)
    assert first["inputs"] == done and 10 < done <= 20
    second = run(chosen, report, 3, 30)
    assert len(seen) == len(set(seen)) == second["inputs"] > done
    assert json.loads(report.read_text())["inputs"] == second["inputs"]
