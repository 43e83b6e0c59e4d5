"""run, check and plan: what they hand to the rooms, what they show, how they exit."""

import types

import pytest

from faultwave.backends.device.compilers import architecture
from faultwave.base.errors import BackendError, InputError, Problem, Problems, RunError
from faultwave.comm.gpu_aware import HaloPath


class Simulation:
    """Takes two steps and reports each."""

    def __init__(self, error=None, warnings=(), remarks=()):
        self.error, self.warnings, self.remarks, self.ran = error, warnings, remarks, False
        self.balance = self.world = None
        self.solver, self.plan = types.SimpleNamespace(halo=None, runs_on="cpu"), types.SimpleNamespace()
        self.case = types.SimpleNamespace(
            output=types.SimpleNamespace(folder="results"), numerics=types.SimpleNamespace(backend="cpu", halo="auto")
        )

    def run(self, progress):
        for step in (1, 2):
            progress(types.SimpleNamespace(time=0.5 * step, end_time=1.0, updates=10 * step, rate=2.5e6, eta=1.0))
        if self.error:
            raise self.error
        self.ran, self.warnings = True, (*self.warnings, *self.remarks)


@pytest.fixture
def simulate(room):
    """The run room; ``.asked`` is what it was called with, ``.simulation`` what it returns or raises."""
    state = types.SimpleNamespace(asked=None, simulation=Simulation())

    def call(case, **overrides):
        state.asked = (case, overrides)
        if isinstance(state.simulation, Exception):
            raise state.simulation
        return state.simulation

    room("faultwave.run.simulation", prepare_run=call)
    return state


@pytest.fixture
def errors(room):
    """The room of error estimates; ``.asked`` is what it was called with, ``.refused`` what it raises before the run."""
    state = types.SimpleNamespace(asked=None, refused=None)

    def estimate(folder, report, threads):
        state.asked = (str(folder), threads)
        return types.SimpleNamespace(attrs={"estimated_from": "orders 3 and 2 in addition to order 4", "cost": 0.31})

    def check_coarser(case):
        if state.refused:
            raise state.refused

    room("faultwave.run.coarser", check_coarser=check_coarser)
    room(
        "faultwave.run.errors",
        estimate_errors=estimate,
        summary=lambda found: [("velocity", "1.1 %", "2 %", "3.4 %", "7")],
    )
    return state


def test_a_run_estimates_errors_afterwards(cli, simulate, errors):
    result = cli("run", "deck.par", "--estimate-errors", "--threads", 2)
    assert result.exit_code == 0
    assert simulate.simulation.ran
    assert errors.asked == ("results", 2)
    assert "orders 3 and 2 in addition to order 4" in result.stdout
    assert "velocity  1.1 %   2 %             3.4 %    7" in result.stdout
    assert "0.31 times as long as the run" in result.stdout


def test_errors_that_cannot_be_estimated_are_told_before_the_run(cli, simulate, errors):
    errors.refused = InputError(Problem("numerics.order", "no lower orders"))
    result = cli("run", "deck.par", "--estimate-errors")
    assert result.exit_code == 2
    assert "no lower orders" in result.stderr
    assert not simulate.simulation.ran


def test_errors_of_a_finished_run_are_estimated(cli, errors):
    result = cli("estimate-errors", "results")
    assert result.exit_code == 0
    assert errors.asked == ("results", None)
    assert "3.4 %" in result.stdout


def test_run_passes_overrides_and_shows_progress(cli, simulate):
    options = ["--order", 5, "--precision", "single", "--backend", "numpy", "--until", "500 ms", "--output", "x"]
    result = cli("run", "deck.par", *options, "--threads", 1, "--force")
    assert result.exit_code == 0
    name, asked = simulate.asked
    assert name == "deck.par"
    assert str(asked.pop("output")) == "x"
    assert asked == {
        "order": 5, "precision": "single", "backend": "numpy", "until": "500 ms", "threads": 1, "force": True,
    }  # fmt: skip
    assert simulate.simulation.ran
    assert "50 %  t = 0.5 of 1 s  2.5 M updates/s  1.0 s left" in result.stderr
    assert "1 s simulated in 0.0 s: 20 updates, 2.5 M updates/s" in result.stdout
    assert "faultwave plot results" in result.stdout


def test_a_run_says_which_way_messages_go_between_devices(cli, simulate):
    simulate.simulation.solver.halo = str(HaloPath(False, "Some MPI: MPIX_Query_cuda_support() is 0"))
    result = cli("run", "tpv5", "--halo", "auto")
    assert simulate.asked[1]["halo"] == "auto"
    assert "halo auto: host (Some MPI: MPIX_Query_cuda_support() is 0)" in result.stdout.splitlines()


def test_what_is_not_given_is_not_overridden(cli, simulate):
    assert cli("run", "tpv5").exit_code == 0
    assert simulate.asked == ("tpv5", {"force": False})


def test_run_shows_warnings_once_and_goes_on(cli, simulate):
    warning = Problem("deck.par:3", "unknown key 'rotation'", severity="warning")
    simulate.simulation = Simulation(warnings=(warning,))
    result = cli("run", "deck.par")
    assert result.exit_code == 0
    assert result.stderr.count("unknown key 'rotation'") == 1
    assert "1 warning" in result.stderr
    assert simulate.simulation.ran


def test_run_shows_what_its_results_make_doubtful(cli, simulate):
    early, late = (Problem("fault", text, severity="warning") for text in ("is coarse", "continues at the end"))
    simulate.simulation = Simulation(warnings=(early,), remarks=(late,))
    result = cli("run", "tpv5")
    assert result.stderr.count("is coarse") == 1 and result.stderr.count("continues at the end") == 1
    assert result.stderr.index("is coarse") < result.stderr.index("50 %") < result.stderr.index("continues at the end")


def test_every_error_is_shown_and_nothing_runs(cli, simulate):
    first = Problem("case.yaml:4", "unknown key 'ordr'", "order, precision", "did you mean 'order'?")
    simulate.simulation = InputError([first, Problem("mesh", "x.h5 does not exist")])
    result = cli("run", "case.yaml")
    assert result.exit_code == 2
    for text in ("case.yaml:4", "unknown key 'ordr'", "allowed: order, precision", "did you mean 'order'?", "2 errors"):
        assert text in result.stderr
    assert "x.h5 does not exist" in result.stderr
    assert result.stdout == ""


def test_all_errors_of_loading_are_shown(cli, case):
    case.problems.error("case.yaml:4", "unknown key 'ordr'")
    case.problems.error("case.yaml:9", "no such file")
    case.problems.warn("case.yaml:1", "odd")
    result = cli("plan", "case.yaml")
    assert result.exit_code == 2
    assert "unknown key 'ordr'" in result.stderr
    assert "2 errors" in result.stderr


def test_warnings_are_shown_with_errors_of_loading(cli, case):
    """A misspelt key of a deck is a warning, and may be why something is missing."""
    case.problems.warn("parameters.par:4", "unknown key 'FixFimeStep'")
    case.problems.error("parameters.par:9", "no such file")
    for command in ("check", "plan"):
        result = cli(command, "case.yaml")
        assert result.exit_code == 2 and "FixFimeStep" in result.stderr and "1 error, 1 warning" in result.stderr


def test_long_places_are_not_broken_into_lines(cli, room):
    where = "/".join(["a-very-long-folder-name"] * 12) + "/case.yaml:12"

    def load(name, overrides):
        raise InputError(Problem(where, "x" * 300))

    room("faultwave.run.inputs", load_case_and_inputs=load)
    result = cli("check", "x")
    assert where in result.stderr
    assert "x" * 300 in result.stderr


def test_text_in_brackets_is_shown_as_it_is(cli, room):
    def load(name, overrides):
        raise InputError(Problem("case.yaml [line 3]", "[bold] is no setting", "[a, b]"))

    room("faultwave.run.inputs", load_case_and_inputs=load)
    result = cli("check", "x")
    assert "case.yaml [line 3]" in result.stderr
    assert "[bold] is no setting" in result.stderr
    assert "allowed: [a, b]" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (RunError("blow-up at t = 0.3 s in cell 17"), 1, "the run stopped: blow-up at t = 0.3 s in cell 17"),
        (BackendError("no C compiler; install gcc"), 1, "error: no C compiler; install gcc"),
        (InputError(Problem("output", "folder holds a run")), 2, "folder holds a run"),
    ],
)
def test_exit_codes_of_a_failing_run(cli, simulate, error, code, text):
    simulate.simulation = Simulation(error)
    result = cli("run", "tpv5")
    assert result.exit_code == code
    assert text in result.stderr
    assert result.stdout == ""


def test_a_bug_is_not_hidden(cli, simulate):
    simulate.simulation = Simulation(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        cli("run", "tpv5")


def test_check_collects_from_loading_and_looking(cli, case, room):
    def look(asked, ranks):
        assert asked is case.case and ranks == 1
        found = Problems()
        found.error("receiver 3", "lies 12.5 m outside the mesh")
        found.warn("deck.par:9", "no effect")
        return found

    case.problems.warn("deck.par:9", "no effect")
    room("faultwave.run.planned", check=look)
    result = cli("check", "deck.par")
    assert result.exit_code == 2
    assert "lies 12.5 m outside the mesh" in result.stderr
    assert result.stderr.count("no effect") == 1
    assert "1 error, 1 warning" in result.stderr


def test_check_of_a_good_case(cli, case, room):
    given = []
    room("faultwave.run.planned", check=lambda asked, ranks: given.append(ranks) or Problems())
    result = cli("check", "deck.par", "--order", 4, "--ranks", 8)
    assert result.exit_code == 0 and given == [8]
    assert "can run" in result.stdout
    assert case.asked == ("deck.par", {"order": 4})


def test_plan_for_a_processor_that_is_not_here(cli, case, room):
    case.case.engine = "dg"
    engine = types.SimpleNamespace(process_plan=lambda asked, world: "plan", report=lambda plan, asked: [])
    room("faultwave.run.engines", engine_of=lambda asked: engine)
    room("faultwave.run.planned", doubts=lambda asked, made: ())
    room("faultwave.bench.kernel_report", architecture=architecture)
    room(
        "faultwave.dg.report",
        absent_device_memory=lambda plan, target: (f"memory of one {target.device}", [("taken", plan)]),
    )
    result = cli("plan", "deck.par", "--backend", "cuda", "--arch", "sm_90")
    assert result.exit_code == 0 and "memory of one H200" in result.stdout
    assert case.asked == ("deck.par", {"backend": "auto"}), "times are measured on what is here"
    result = cli("plan", "deck.par", "--backend", "hip", "--arch", "sm_90")
    assert result.exit_code == 2 and "'sm_90' is not a processor of the backend 'hip'" in result.stderr


def test_plan_prints_every_section(cli, case, room):
    def report(plan, asked):
        assert plan == ("plan of", asked)
        return [("mesh", [("cells", 19183), ("order", 4)]), ("worst cells", [(17, "1.0 2.0 3.0", "0.2 ms")])]

    engine = types.SimpleNamespace(process_plan=lambda asked, world: ("plan of", asked), report=report)
    room("faultwave.run.engines", engine_of=lambda asked: engine)
    room(
        "faultwave.run.planned",
        doubts=lambda asked, made: [Problem("results", "cannot be written", severity="warning")],
    )
    result = cli("plan", "tpv5")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for line in ("mesh", "cells 19183", "order 4", "worst cells", "17 1.0 2.0 3.0 0.2 ms"):
        assert line in lines
    assert "cannot be written" in result.stderr and "1 warning" in result.stderr


def test_a_plan_that_fails_tells_warnings_too(cli, case, room):
    """They may say why."""

    def process_plan(asked, world):
        raise InputError(Problem("mesh", "has no cells"))

    case.problems.warn("numerics.ordre", "has no effect")
    room("faultwave.run.engines", engine_of=lambda asked: types.SimpleNamespace(process_plan=process_plan))
    room("faultwave.run.planned", doubts=lambda asked, made: ())
    result = cli("plan", "tpv5")
    assert result.exit_code == 2 and "has no cells" in result.stderr and "has no effect" in result.stderr


def test_plot_draws_a_case_that_was_not_run(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = cli("plot", "em-cavity", "--dpi", "30", "--order", "2")
    assert result.exit_code == 0
    assert sorted(p.name for p in (tmp_path / "cavity-plan").iterdir()) == ["map.png", "profiles.png", "resolution.png"]
    assert "cavity-plan/map.png" in result.stdout
    wrong = cli("plot", "em-cavity", "--field", "v3")
    assert wrong.exit_code == 2 and "is for pictures of results" in wrong.stderr
