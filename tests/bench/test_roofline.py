"""The picture holds what was measured, and is there whole or not at all."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from faultwave.bench.proxy import Setting, proxy
from faultwave.bench.results import write_json
from faultwave.bench.rooflines import roofline
from faultwave.plot import style

TINY = {"cells": 162, "order": 2, "steps": 1, "threads": 1, "repeats": 1}


@pytest.fixture(scope="module")
def results():
    settings = Setting(**TINY), Setting(**TINY | {"law": "acoustic"}), Setting(**TINY | {"precision": "single"})
    return [proxy(s, sweep=2**20) for s in settings]


@pytest.fixture
def figures(monkeypatch):
    """The figures saved, before they are drawn."""
    saved: list[Figure] = []
    save = style.save
    monkeypatch.setattr(style, "save", lambda fig, path: (saved.append(fig), save(fig, path))[1])
    return saved


def test_a_panel_for_each_precision(results, figures, tmp_path):
    path = roofline.draw(results, tmp_path / "r.png")
    assert path.read_bytes()[:4] == b"\x89PNG"
    assert [ax.get_title("left") for ax in figures[0].axes] == [
        "double precision, 1 thread",
        "single precision, 1 thread",
    ]
    legend = [t.get_text() for t in figures[0].axes[0].get_legend().get_texts()]
    assert legend == ["elastic, order 2, in cache", "acoustic, order 2, in cache"]


def test_points_lie_where_they_were_measured(results, figures, tmp_path):
    roofline.draw(results[2:], tmp_path / "r.png")
    (ax,), r = figures[0].axes, results[2]
    drawn = np.concatenate([c.get_offsets() for c in ax.collections])
    wanted = [(k["flops_per_item"] / k["bytes_per_item"], 1e-9 * k["flops_per_second"]) for k in r["kernels"]]
    np.testing.assert_allclose(np.sort(drawn, 0), np.sort(wanted, 0))
    squares = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "s"]
    moved = r["bytes_per_update"]
    wanted = [(r[f"{k}_flops_per_update"] / moved, 1e-9 * r[f"{k}_flops_per_second"]) for k in ("executed", "useful")]
    np.testing.assert_allclose(squares, wanted)
    tops = [line.get_ydata().max() for line in ax.lines if line.get_marker() != "s"]
    assert any(top == pytest.approx(1e-9 * r["roofs"]["fma"]["value"]) for top in tops)


def test_the_command(results, tmp_path):
    from typer.testing import CliRunner

    from faultwave.cli.main import app

    write_json(tmp_path / "a.json", results[0])
    target = tmp_path / "picture.png"
    done = CliRunner().invoke(app, ["bench", "roofline", str(tmp_path / "a.json"), "--output", str(target)])
    assert done.exit_code == 0, done.output
    assert target.exists()
    (tmp_path / "b.json").write_text("{}")
    done = CliRunner().invoke(app, ["bench", "roofline", str(tmp_path / "b.json"), "--output", str(tmp_path / "b.png")])
    assert done.exit_code == 2
    assert not (tmp_path / "b.png").exists()
