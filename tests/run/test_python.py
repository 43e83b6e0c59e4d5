"""The functions of `import faultwave as fw`."""

import inspect
import subprocess
import sys
import types
from xml.etree import ElementTree

import numpy as np
import pytest

import faultwave as fw
from faultwave.base import progress
from faultwave.base.errors import InputError

CASE = {
    "title": "Small",
    "end_time": 0.02,
    "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [-1e3, -1e3, -2e3], "upper": [1e3, 1e3, 0.0]}},
    "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}},
    "sources": [
        {
            "kind": "moment-tensor",
            "location": [100.0, 50.0, -500.0],
            "tensor": {"xy": 1e15},
            "time_function": {"kind": "brune", "duration": 0.001},
        },
    ],
    "numerics": {"order": 2, "backend": "numpy", "threads": 1},
    "output": {"receivers": {"points": [[100.0, 50.0, -300.0]], "interval": 0.005}, "energies": {"interval": 0.01}},
}
NAMES = ["check", "compare", "convert", "load", "plan", "plot", "resume", "run", "simulate", "snapshots"]


def test_functions_are_listed_and_explained():
    assert set(NAMES) <= set(dir(fw))
    for name in NAMES:
        function = getattr(fw, name)
        assert callable(function)
        assert len(inspect.signature(function).parameters) >= 1
        assert next(iter(inspect.signature(function).parameters)) in ("case", "folder", "run")
        assert len(function.__doc__) > 20
    with pytest.raises(AttributeError, match="simulat"):
        fw.simulat  # noqa: B018


def test_importing_takes_no_package_that_is_long_to_import():
    code = "import sys, faultwave as fw; dir(fw); print(*(sys.modules.keys() & {'numpy', 'pydantic', 'rich', 'h5py'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_room_called_like_a_function_is_still_a_room():
    import faultwave.plot
    import faultwave.run

    assert fw.run is faultwave.run and inspect.ismodule(fw.run)
    assert faultwave.run.simulate is fw.simulate
    assert callable(faultwave.plot.plot_run)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return fw.run(CASE, output=tmp_path_factory.mktemp("python") / "run")


def test_run_writes_and_returns_results(session):
    assert session.time == pytest.approx(0.02)
    assert session.receivers["time"][-1] == pytest.approx(0.02)
    assert (session.folder / "run-manifest.json").exists()


def test_what_is_shown_is_short(session):
    results = fw.load(session.folder)
    assert repr(session) == "<Session 'Small': engine dg, t = 0.02 of 0.02 s>"
    assert repr(session.plan) == "<Plan 'Small': 48 cells at order 2, time steps: 1>"
    assert repr(results) == f"<Results {session.folder / 'run'}: 1 receiver, 0 faultreceivers, energies>"
    text = repr(session.receivers)
    assert "values (time: 5, receiver: 1, quantity: " in text and "location (receiver: 1, component: 3) [m]" in text
    for shown in (session.results(), results.traces, results.energies, fw.compare(session.folder, session.folder)):
        assert len(repr(shown)) < 1000


def test_notebooks_show_tables(session):
    """What each object shows is well-formed HTML, with its numbers and units, and names nobody's markup."""
    planned, problems = fw.plan(CASE), fw.check(CASE, order=99)
    compared = fw.compare(session.folder, session.folder)
    shows = [
        (session.receivers, "m/s"), (fw.load(session.folder), "receiver"), (planned, "cells"), (problems, "order"), (compared, "velocity"),
    ]  # fmt: skip
    for shown, word in shows:
        page = shown._repr_html_()
        ElementTree.fromstring(f"<div>{page}</div>")
        assert word in page
    problems.error("<b>", "1 < 2 & 3")
    assert "&lt;b&gt;" in problems._repr_html_() and "1 &lt; 2 &amp; 3" in problems._repr_html_()


def test_end_times_take_a_unit(session, tmp_path):
    sim = fw.simulate(CASE, output=tmp_path / "other")
    sim.run(until="5 ms", write=False)
    assert sim.time == pytest.approx(0.005)
    with pytest.raises(InputError, match="until.*'soon' is not a number"):
        sim.run(until="soon", write=False)
    assert sim.time == pytest.approx(0.005)


def test_results_by_names_that_are_misspelt(session):
    assert session.result("receivers") is not None
    assert session.result("intensity") is None  # an output that this case does not ask for
    with pytest.raises(InputError, match=r"there is no 'reciever'.*energies, receivers.*did you mean 'receivers'"):
        session.result("reciever")


def test_tables_say_what_they_hold(session):
    results = fw.load(session.folder)
    for table, key, words in (
        (results.traces, "receivers", "no kind of trace 'receivers', only 'receiver'"),
        (results.traces["receiver"], 0, "no receiver 0, only 1"),
        (results.traces["receiver"][1].columns, "v4", "no quantity 'v4', only 's_xx'"),
        (results.energies, "moment", "energies has no 'moment', only time"),
        (session.receivers, "v1", r"v1 is a quantity: quantity\('v1'\)"),
    ):
        with pytest.raises(KeyError, match=words):
            table[key]


def test_arrays_of_another_shape_are_told(session, tmp_path):
    with pytest.raises(InputError, match=r"points: is an array of shape \(2,\).*\(n, 3\)"):
        session.sample([1.0, 2.0])
    with pytest.raises(InputError, match="points: is 'here'"):
        session.sample("here")
    sim = fw.simulate(CASE, output=tmp_path)
    with pytest.raises(InputError, match=r"returns an array of shape \(\d+, 3\).*9\): s_xx"):
        sim.set_initial(lambda x, t: x)
    with pytest.raises(InputError, match="3 is not a function"):
        sim.set_initial(3)
    with pytest.raises(InputError, match="5 of type int cannot be drawn"):
        fw.plot(5)


@pytest.mark.parametrize("word", ["progress", "report"])
def test_progress_means_the_same_in_run_and_in_the_method_of_a_simulation(tmp_path, word, capsys):
    fw.run(CASE, output=tmp_path / "silent", **{word: False})
    steps: list = []
    fw.run(CASE, output=tmp_path / "called", **{word: steps.append})
    assert steps and capsys.readouterr().err == ""
    sent = fw.run(CASE, output=tmp_path / "sent", progress="thread")  # a way to move messages, as for simulate
    assert sent.case.numerics.progress == "thread"


def test_a_comparison_ends_where_it_is_told(session):
    whole, early = (fw.compare(session.folder, session.folder, until=end) for end in (None, "15 ms"))
    assert early == fw.compare(session.folder, session.folder, until=0.015)
    assert (len(whole.misfits), len(early.misfits)) == (4, 3)
    with pytest.raises(InputError, match="until"):
        fw.compare(session.folder, session.folder, until="15 m")


def test_check_tells_everything_and_raises_nothing():
    function = {"kind": "brune", "duration": 1.0}
    box = CASE["mesh"]["generate"] | {"cells": [4, 4, 4], "boundaries": {"z+": "free-surface"}}
    slow = CASE | {
        "end_time": 20.0,
        "sources": [CASE["sources"][0] | {"time_function": function}],
        "mesh": {"generate": box},
    }
    slow["output"] = {"receivers": {"points": [[900.0, 900.0, -100.0]], "interval": 0.05}}
    assert repr(fw.check(slow)) == "no problems: this case can run"
    found = fw.check(CASE, order=99, precision="half")
    assert len(found.errors) == 2
    assert repr(found).count("error: ") == 2


def test_check_tells_how_many_processes_can_share_a_mesh_or_a_grid():
    """None of them is started."""
    assert fw.check(CASE, ranks=48).errors == ()
    (told,) = fw.check(CASE, ranks=49).errors
    assert told.where == "ranks" and told.what == "49 processes for 48 cells"
    grid = {"lower": [0, 0, -2000], "upper": [3000, 2000, 0], "spacing": 100.0}
    settings = {name: CASE[name] for name in ("end_time", "material", "sources")} | {"engine": "fd", "grid": grid}
    assert fw.check(settings, ranks=8).errors == ()
    (told,) = fw.check(settings, ranks=4000).errors
    assert told.where == "ranks" and "are too few for 4000 processes" in told.what


def test_plan_shows_tables():
    planned = fw.plan(CASE)
    assert "cells" in str(planned) and "48" in str(planned)
    assert planned.plan.cells == 48
    assert len(repr(planned)) < 300


def test_errors_advise_arguments(session):
    with pytest.raises(InputError, match="force=True"):
        fw.run(CASE, output=session.folder)
    assert fw.run(CASE, output=session.folder, force=True).time == pytest.approx(0.02)


class Console:
    def __init__(self, **settings):
        self.is_jupyter, self.is_terminal, self.lines = False, False, []
        Console.last = self

    def print(self, text, **settings):
        self.lines.append(str(text))


@pytest.mark.parametrize(("asked", "at_ipython", "shows"), [
    (None, True, True), (None, False, False), (False, True, False), (True, False, True),
])  # fmt: skip
def test_who_types_at_ipython_sees_progress(monkeypatch, asked, at_ipython, shows):
    shell = types.SimpleNamespace(get_ipython=lambda: object() if at_ipython else None)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr("rich.console.Console", Console)
    Console.last = None
    fw.simulate(CASE).run(progress=asked, write=False)
    assert (Console.last is not None and "t = 0.02 of 0.02 s" in Console.last.lines[-1]) == shows


def test_a_function_is_called_with_the_progress():
    steps = []
    fw.simulate(CASE).run(progress=steps.append, write=False)
    assert np.all(np.diff([step.time for step in steps]) > 0)
    assert steps[-1].time == pytest.approx(0.02)
    with progress.reporting(True, speaking=False) as report:
        assert report is None
