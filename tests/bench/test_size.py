"""The law of sizes: what is measured in a process of its own, what is left out, exponents that are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from faultwave.base.errors import InputError, RunError
from faultwave.bench import size
from faultwave.bench.results import Files, markers
from faultwave.bench.size import Setting
from faultwave.bench.size_worker import REPEATS
from tests.messages import raises


def laws(sizes: list[int]) -> list[dict[str, Any]]:
    """Sizes that follow power laws of known exponents, but the small ones."""

    def one(n: int) -> dict[str, Any]:
        fixed = 1.0 if n >= size.LARGE else 7.0
        return {
            "cells": n, "threads": 2, "setup_s": fixed * 2e-6 * n**1.1, "first_step_s": 3e-6 * n, "step_s": fixed * 2e-7 * n**1.02,
            "bytes": fixed * 4000.0 * n, "setup_bytes": 2000.0 * n,
        }  # fmt: skip

    return [one(n) for n in sizes]


def found(sizes: list[int], **more: Any) -> dict[str, Any]:
    measured = laws(sizes)
    machine = {"cpu": "a processor", "cores": 2}
    return {
        "date": "2026-11-23T10:00:00", "machine": machine, "versions": {"faultwave": "1"}, "order": 4, "precision": "double",
        "sizes": measured, "left_out": {}, "fixed": dict.fromkeys(size.LAWS, 0.0),
        "exponents": {n: size.exponent(measured, n) for n in size.LAWS}, **more,
    }  # fmt: skip


def test_exponents_are_those_of_large_boxes() -> None:
    measured = laws([10_000, 100_000, 1_000_000, 10_000_000])
    for name, expected in (("setup_s", 1.1), ("first_step_s", 1.0), ("step_s", 1.02), ("bytes", 1.0)):
        law = size.exponent(measured, name)
        assert law == pytest.approx((expected, 1.0)), name
    assert size.exponent(measured[:2], "bytes") is None, "one point is no line"
    more = [s | {"bytes": s["bytes"] + 1e8} for s in measured]
    assert size.exponent(more, "bytes", 1e8) == pytest.approx((1.0, 1.0)), "what every run takes bends no line"
    assert size.exponent(more, "bytes")[0] < 0.98  # type: ignore[index]
    measured[2]["bytes"] *= 1.3
    bent = size.exponent(measured, "bytes")
    assert bent is not None and bent[1] == pytest.approx(1.3 ** (2 / 3), rel=1e-6), (
        "the point in the middle is off by two thirds"
    )


def test_the_table_and_the_picture(tmp_path: Path) -> None:
    result = found([10_000, 100_000, 1_000_000], left_out={10_000_000: 4e10})
    text = size.markdown(result)
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| 1")]
    assert [row[0] for row in rows] == ["10,000", "100,000", "1,000,000"] and all(
        len(r) == len(size.HEADER) for r in rows
    )
    assert dict(zip(size.HEADER, rows[2], strict=True))["bytes a cell"] == "4,000"
    assert dict(zip(size.HEADER, rows[2], strict=True))["of it at set-up"] == "50 %"
    assert "set-up 1.100," in text and "within" not in text, "two points are always on a line"
    assert (
        "set-up 1.100 (within 0 %)" in size.markdown(found([10_000, 100_000, 1_000_000, 3_000_000]))
        and "10,000,000 cells (37.3 GiB)" in text
    )
    assert size.draw(result, tmp_path / "size.png").stat().st_size > 10_000
    assert "Exponents" not in size.markdown(found([10_000]))


def test_boxes_have_about_the_cells_that_are_asked_for() -> None:
    for cells in (10_000, 400_000, 10**7):
        bricks = size.box(Setting(), cells)["mesh"]["generate"]["cells"]
        assert 6 * np.prod(bricks) == pytest.approx(cells, rel=0.05)


def test_what_memory_does_not_hold_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def apart(case: dict[str, Any], steps: int) -> dict[str, Any]:
        cells = 6 * int(np.prod(case["mesh"]["generate"]["cells"]))
        tried.append(cells)
        return laws([cells])[0]

    monkeypatch.setattr(size, "apart", apart)
    monkeypatch.setattr(size, "machine_memory", lambda: 2_000_000 * 4000)
    asked = Setting(cells=(3_000_000, 100_000, 1_000_000))
    result = size.measure(asked, lambda text: None)
    large = [round(n, -5) for n in tried if n > size.TINY]
    assert large == [100_000, 1_000_000] and list(result["left_out"]) == [3_000_000]
    assert result["left_out"][3_000_000] == pytest.approx(3e6 * 4000)
    with pytest.raises(InputError, match="this machine has"):
        size.measure(Setting(cells=(10**9,)), lambda text: None)


def test_two_small_boxes(tmp_path: Path) -> None:
    """In processes of their own, by the command, into a page."""
    from faultwave.cli.main import app

    begin, end = markers("double size")
    page, kept = tmp_path / "page.md", tmp_path / "size.json"
    page.write_text(f"before\n{begin}\n{end}\nafter\n")
    asked = ["--cells", "3e3", "--cells", "600", "--order", "3", "--threads", "1", "--steps", "2"]
    done = CliRunner().invoke(app, ["bench", "size", *asked, "--write", str(page), "--json", str(kept)])
    assert done.exit_code == 0, done.output
    result = json.loads(kept.read_text())
    small, large = result["sizes"]
    assert (small["cells"], large["cells"]) == (600, 3072) and small["threads"] == 1
    for one in (small, large):
        assert (
            len(one["steps_s"]) == REPEATS
            and 0 < one["step_s"] < one["setup_s"]
            and 0 < one["setup_bytes"] <= one["bytes"]
        )
    assert "| 3,072 |" in page.read_text() and page.read_text().endswith(f"{end}\nafter\n")


def test_everything_wrong_is_told_before_the_first_minute(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no markers")
    with raises(InputError):
        size.check(Setting(cells=(2,), order=1, steps=0, threads=0), Files(page, picture=tmp_path / "no" / "size.png"))
    for cells in (float("nan"), float("inf"), 7.5):
        with raises(InputError):
            size.check(Setting(cells=(cells,)), Files())
    with raises(InputError):
        size.check(Setting(precision="auto"), Files())
    with pytest.raises(RunError, match="bricks failed"):
        size.apart({"mesh": {"generate": {"cells": [1, 1, 1]}}}, 1)
