"""The page of a run: what stands in it, that it fetches nothing, and that a browser draws it without a complaint."""

from __future__ import annotations

import base64
import functools
import json
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.report import write_report
from tests.messages import raises

OPTIONS = ("--headless", "--no-sandbox", "--disable-dev-shm-usage")


@functools.cache
def browser() -> str:
    """A browser that can draw here; skips where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    for path in filter(None, map(shutil.which, names)):
        with tempfile.TemporaryDirectory(prefix="faultwave-browser-") as folder:
            tried = [path, *OPTIONS, f"--user-data-dir={folder}", "--dump-dom", "about:blank"]
            if subprocess.run(tried, capture_output=True, timeout=600, check=False).returncode == 0:
                return path
    pytest.skip(f"no headless browser that works ({', '.join(names)}): reports are not drawn in tests")


def rupture(folder: Path, order: int) -> dict[str, Any]:
    """A small fault that breaks, with receivers and every output that a report shows."""
    return {
        "title": "A <small> fault & its </script> page", "end_time": 0.5,
        "mesh": {"generate": {"shape": "box", "cells": [4, 4, 3], "lower": [-1e3, -1e3, -1500], "upper": [1e3, 1e3, 0], "fault": ["y", 0],
                              "boundaries": {"z+": "free-surface"}}},
        "material": {"constant": {"rho": 2670, "vp": 6000, "vs": 3464}},
        "fault": {"friction": "linear-slip-weakening", "reference": [0, -1e3, 0],
                  "parameters": {"constant": {"mu_s": 0.6, "mu_d": 0.2, "d_c": 0.1, "cohesion": 0, "T_n": -100e6, "T_s": 70e6, "T_d": 0}}},
        "numerics": {"order": order, "threads": 1},
        "output": {"folder": str(folder), "prefix": "run", "energies": {"interval": 0.05}, "fault": {"interval": 0.1},
                   "rupture": {"interval": 0.01}, "surface": {"interval": 0.1},
                   "receivers": {"interval": 0.01, "points": [[100, 300, 0], [300, -300, 0]]},
                   "fault_receivers": {"points": [[50, 0, -700]], "position": "nearest"}},
    }  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[Path, Path]:
    folders = [tmp_path_factory.mktemp("report") / name for name in ("one", "two")]
    for order, folder in zip((3, 2), folders, strict=True):
        fw.simulate(rupture(folder, order)).run()
    return folders[0], folders[1]


@pytest.fixture(scope="module")
def page(runs) -> Path:
    return write_report(runs[0])


class Reader(HTMLParser):
    """Headings, JSON scripts by id, addresses, and elements that others name."""

    def __init__(self, text: str):
        super().__init__()
        self.headings: list[str] = []
        self.data: dict[str, str] = {}
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.named: set[str] = set()
        self.texts: list[str] = []
        self.inside, self.key = "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        found = dict(attrs)
        self.inside, self.key = tag, found.get("id", "")
        self.ids |= {found["id"]} if "id" in found else set()
        self.named |= {found[n] for n in ("aria-labelledby", "aria-describedby") if n in found}
        self.links += [found[n] for n in ("src", "href") if n in found]

    def handle_data(self, data: str) -> None:
        if self.inside == "h2":
            self.headings.append(data)
        elif self.inside == "script" and self.key:
            self.data[self.key] = self.data.get(self.key, "") + data
        elif self.inside not in ("script", "style"):
            self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""


def numbers(value: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(value["bdata"]), "<f4")


def test_the_page_tells_everything_of_a_rupture(page, runs) -> None:
    found = Reader(page.read_text())
    wanted = [
        "Summary",
        "In three dimensions",
        "Rupture",
        "Moment rate",
        "Ground motion",
        "Seismograms",
        "Energy budget",
        "Cost",
        "Provenance",
    ]
    assert [h for h in found.headings if h in wanted] == wanted
    told = " ".join(found.texts)
    assert (
        "A <small> fault & its </script> page" in told
        and "moment magnitude" in told
        and "linear-slip-weakening" in told
    )
    assert page.name == "run-report.html" and page.stat().st_size < 20e6


def test_the_page_fetches_nothing_and_every_figure_has_its_words(page) -> None:
    found = Reader(page.read_text())
    assert all(link.startswith(("#", "data:")) for link in found.links), found.links
    assert found.named and found.named <= found.ids


def test_seismograms_in_the_page_are_those_of_the_files(page, runs) -> None:
    results = fw.load(runs[0])
    found = Reader(page.read_text())
    browsers = [json.loads(text) for text in found.data.values() if '"stations"' in text]
    assert [b["title"] for b in browsers] == ["Receivers", "Fault receivers"]
    shown = browsers[0]["runs"][0]["stations"][1]
    trace = results.traces["receiver"][2]
    np.testing.assert_array_equal(numbers(shown["values"]["v2"]), trace.columns["v2"].astype("<f4"))
    np.testing.assert_array_equal(numbers(shown["time"]), trace.time.astype("<f4"))
    assert browsers[0]["quantities"]["v1"] == "m/s"


def test_two_runs_stand_side_by_side(runs, tmp_path) -> None:
    path = write_report(runs[0], tmp_path / "both.html", compare=runs[1])
    found = Reader(path.read_text())
    figures = [json.loads(text) for text in found.data.values()]
    maps = [f for f in figures if "updatemenus" in f.get("layout", {})]
    names = [[b["label"] for b in f["layout"]["updatemenus"][0]["buttons"]] for f in maps]
    assert names and all(n == ["one/run", "two/run", "difference"] for n in names)
    slip = next(f["data"] for f in maps if "slip" in f["data"][0]["colorbar"]["title"]["text"])
    one, two, difference = (numbers(d["z"]) for d in slip[:3])
    np.testing.assert_allclose(difference, two - one, atol=1e-6)
    assert np.nanmax(np.abs(difference)) > 0
    receivers = next(f for f in figures if f.get("title") == "Receivers")
    assert [run["name"] for run in receivers["runs"]] == ["one/run", "two/run"]


def test_runs_in_folders_of_one_name_are_told_apart(runs, tmp_path) -> None:
    """Every case that is made for a place writes into 'results'."""
    for folder, name in zip(runs, "ab", strict=True):
        shutil.copytree(folder, tmp_path / name / "results")
    path = write_report(tmp_path / "a" / "results", tmp_path / "both.html", compare=tmp_path / "b" / "results")
    maps = [f for f in map(json.loads, Reader(path.read_text()).data.values()) if "updatemenus" in f.get("layout", {})]
    slip = next(f["data"] for f in maps if "slip" in f["data"][0]["colorbar"]["title"]["text"])
    assert [d["name"] for d in slip[:3]] == ["a/results/run", "b/results/run", "difference"]
    assert np.nanmax(np.abs(numbers(slip[2]["z"]))) > 0


def test_faults_elsewhere_are_not_compared(runs, tmp_path) -> None:
    case = rupture(tmp_path / "moved", 2)
    box, points = case["mesh"]["generate"], case["output"]
    box["lower"], box["upper"], box["fault"] = [-1e3, 4e3, -1500], [1e3, 6e3, 0], ["y", 5e3]
    case["fault"]["reference"] = [0, 4e3, 0]
    points["receivers"]["points"] = [[100, 5300, 0], [300, 4700, 0]]
    points["fault_receivers"]["points"] = [[50, 5e3, -700]]
    fw.simulate(case).run(until=0.1)
    path = write_report(runs[0], tmp_path / "both.html", compare=tmp_path / "moved")
    found = Reader(path.read_text())
    assert any("has no fault at this location," in text for text in found.texts)
    receivers = next(f for f in map(json.loads, found.data.values()) if f.get("title") == "Receivers")
    assert receivers["runs"][1]["stations"] == [None, None]


def test_receivers_of_two_runs_are_matched_in_any_size_of_domain() -> None:
    """The nearest one, not the first within some metres."""
    from faultwave.output.trace import Trace
    from faultwave.report.sections.seismograms import _matching

    made = [Trace("receiver", i, np.zeros(1), {}, 1e-5 * np.array([i, 2.0, 3.0])) for i in (1, 2, 3)]
    assert _matching(made, {t.number: t for t in reversed(made)}) == made
    assert _matching(made[:2], {3: made[2]}) == [None, None] and _matching(made, {}) == [None] * 3


def test_runs_of_grids_and_of_electromagnetics_have_reports(tmp_path) -> None:
    grid = {
        "engine": "fd", "end_time": 0.2, "grid": {"lower": [0, 0, -400], "upper": [400, 400, 0], "spacing": 20},
        "material": {"constant": {"rho": 2000, "vp": 2000, "vs": 1000}}, "numerics": {"threads": 1},
        "sources": [{"location": [200, 200, -200], "kind": "force", "force": [0, 0, 1e9],
                     "time_function": {"kind": "ricker", "frequency": 8}}],
        "output": {"folder": str(tmp_path / "grid"), "surface": {"interval": 0.05}, "energies": {"interval": 0.05},
                   "intensity": {}, "receivers": {"interval": 0.01, "points": [[100, 100, 0]]}},
    }  # fmt: skip
    fw.simulate(grid).run()
    headings = Reader(write_report(tmp_path / "grid").read_text()).headings
    assert {"Ground motion", "Seismograms", "More pictures", "Provenance"} <= set(headings)
    cavity = {
        "law": "maxwell", "end_time": 5e-9, "material": {"constant": {"relative_permittivity": 1.0}},
        "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, 0], "upper": [1, 1, 1],
                              "boundaries": dict.fromkeys("xyz", "pec")}},
        "currents": [{"kind": "point", "location": [0.3, 0.4, 0.5], "moment": [0, 0, 1],
                      "time_function": {"kind": "gaussian", "duration": 1e-9}}],
        "numerics": {"order": 2, "threads": 1},
        "output": {"folder": str(tmp_path / "cavity"), "energies": {"interval": 1e-9},
                   "receivers": {"interval": 1e-10, "points": [[0.5, 0.5, 0.5]]}},
    }  # fmt: skip
    fw.simulate(cavity).run()
    assert "Seismograms" in Reader(write_report(tmp_path / "cavity").read_text()).headings


def test_what_cannot_be_reported_is_told(runs, tmp_path) -> None:
    with raises(InputError):
        write_report(tmp_path / "absent")
    with raises(InputError):
        write_report(runs[0], compare=runs[0])
    before = sorted(path.name for path in runs[0].iterdir())
    with raises(InputError):
        write_report(runs[0], tmp_path / "no" / "such" / "page.html")
    assert sorted(path.name for path in runs[0].iterdir()) == before


def browse(path: Path, *options: str) -> tuple[str, list[str]]:
    """The page as the browser has made it, and what its scripts complained of."""
    command = [browser(), *OPTIONS, "--virtual-time-budget=30000", "--enable-logging=stderr",
               f"--user-data-dir={path.parent / 'browser'}", *options, "--dump-dom", path.as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    said = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    # plotly.js reads pixels back, of which the browser says that it could be faster
    # what the browser says of drawing in three dimensions without a graphics processor is no complaint
    drawing = ("Canvas2D: Multiple readback", "ReadPixels", "software WebGL", "GPU stall")
    said = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return done.stdout, [line for line in said if not any(words in line for words in drawing)]


def test_a_browser_draws_every_figure(runs, tmp_path) -> None:
    path = write_report(runs[0], tmp_path / "page.html", compare=runs[1])
    dom, said = browse(path)
    assert not said
    assert 'data-drawn="true"' in dom and 'class="problem"' not in dom
    wanted = len(re.findall(r'class="(?:plot|browser)[ "]', path.read_text()))
    assert wanted > 8 and dom.count("js-plotly-plot") >= wanted
    assert "Largest values at 1 FW.R0001 (100, 300, 0) m" in dom


FILTER = """
<script>
  const select = document.querySelector(".browser select"), low = document.querySelector("input[name=low-pass]");
  const read = () => document.querySelector(".browser table").innerText;
  addEventListener("load", () => setTimeout(() => {
    const before = read();
    low.value = "3"; low.dispatchEvent(new Event("change", { bubbles: true }));
    const filtered = read();
    document.querySelectorAll(".browser .controls button")[1].click();
    const moved = read();
    const note = document.createElement("pre");
    note.id = "heard"; note.textContent = JSON.stringify([before, filtered, moved, select.selectedIndex]);
    document.body.append(note);
  }, 3000));
</script>
"""


def test_the_controls_of_seismograms_work(page, tmp_path, runs) -> None:
    """The peak of a filtered trace is that of SciPy's filter; 'next' goes to the next station."""
    from scipy.signal import butter, sosfiltfilt

    path = tmp_path / "controls.html"
    path.write_text(page.read_text().replace("</body>", FILTER + "</body>"))
    dom, said = browse(path)
    assert not said
    before, filtered, moved, chosen = json.loads(re.search(r'<pre id="heard">(.*?)</pre>', dom, re.S)[1])
    trace = fw.load(runs[0]).traces["receiver"][1]
    sampling = (len(trace.time) - 1) / (trace.time[-1] - trace.time[0])
    smooth = sosfiltfilt(butter(4, 3.0, fs=sampling, output="sos"), trace.columns["v1"].astype("<f4"), padlen=0)
    for told, values in ((before, trace.columns["v1"]), (filtered, smooth)):
        peak = float(re.search(r"v1\s+([-+.\de]+) m/s", told)[1])
        assert peak == pytest.approx(values[np.abs(values).argmax()], rel=1e-3)
    assert np.abs(smooth).max() < 0.9 * np.abs(trace.columns["v1"]).max()
    assert chosen == 1 and moved != filtered
