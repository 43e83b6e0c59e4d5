"""Help is there for every command, fast, with an example that works as it stands."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from faultwave.cli import main
from faultwave.cli.main import app


def leaves(command, path=()):
    """(path, command) of everything that can be run."""
    children = getattr(command, "commands", {})
    if not children:
        yield path, command
    for name, child in children.items():
        yield from leaves(child, (*path, name))


COMMANDS = dict(leaves(get_command(app)))


def test_the_commands_of_the_plan_exist():
    named = {path[0] for path in COMMANDS}
    assert named >= {
        "run",
        "check",
        "plan",
        "compare",
        "verify",
        "plot",
        "convert",
        "examples",
        "laws",
        "mesh",
        "kernels",
        "bench",
    }


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_explains_with_an_example(path, cli):
    result = cli(*path, "--help")
    assert result.exit_code == 0
    assert COMMANDS[path].help.split("\n")[0].split(":")[0][:40] in result.stdout
    assert "Example: faultwave " + " ".join(path) in " ".join(result.stdout.split())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_example_is_accepted_by_its_own_command(path):
    words = shlex.split(COMMANDS[path].epilog.removeprefix("Example: "))
    assert words[: len(path) + 1] == ["faultwave", *path]
    context = COMMANDS[path].make_context(path[-1], words[len(path) + 1 :])  # raises for a wrong option or argument
    assert context.command is COMMANDS[path]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_says_what_it_does(path):
    for parameter in COMMANDS[path].params:
        if parameter.name != "help":
            assert parameter.help, f"{' '.join(path)} {parameter.name}"


@pytest.mark.parametrize(
    ("path", "command"), [((), "convert"), (("mesh",), "info"), (("bench",), "proxy"), (("kernels",), "show")]
)
def test_without_arguments_the_program_shows_its_commands(cli, path, command):
    result = cli(*path)
    assert result.exit_code == 0
    assert "Usage" in result.stdout
    assert f"  {command} " in result.stdout


@pytest.mark.parametrize("path", [(), ("run",), ("mesh",), ("bench", "proxy")], ids=" ".join)
def test_help_of_a_command_is_that_of_its_option(cli, path):
    result = cli("help", *path)
    assert result.exit_code == 0
    assert result.stdout == cli(*path, "--help").stdout


def test_help_of_what_is_no_command_says_what_was_meant(cli):
    result = cli("help", "complare")
    assert result.exit_code == 2
    assert "Did you mean 'compare'?" in result.stderr
    result = cli("help", "run", "fast")
    assert result.exit_code == 2
    assert "'faultwave run' has no commands of its own" in result.stderr


def test_words_are_completed():
    environment = os.environ | {
        "_FAULTWAVE_COMPLETE": "complete_bash",
        "COMP_WORDS": "faultwave compar",
        "COMP_CWORD": "1",
    }
    command = [sys.executable, "-m", "faultwave"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == ["compare"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")
@pytest.mark.parametrize("arguments", [["laws"], ["--help"], ["--version"]])
def test_output_that_cannot_be_written_is_told(arguments):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "faultwave", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: the output of this command could not be written: the disk is full\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown_and_installed(shell, tmp_path):
    """In a home of its own."""
    environment = os.environ | {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "faultwave"]
    shown = subprocess.run(
        [*command, "--show-completion", shell], capture_output=True, text=True, env=environment, check=True
    )
    assert "_FAULTWAVE_COMPLETE" in shown.stdout
    subprocess.run([*command, "--install-completion", shell], capture_output=True, env=environment, check=True)
    assert any("_FAULTWAVE_COMPLETE" in p.read_text() for p in tmp_path.rglob("*") if p.is_file())


def test_version(cli):
    from faultwave import __version__

    assert cli("--version").stdout.strip() == f"faultwave {__version__}"


def test_a_wrong_value_of_an_option_is_repeated(cli):
    result = cli("run", "tpv5", "--order", "many")
    assert result.exit_code == 2 and "--order" in result.stderr and "many" in result.stderr


def test_a_mistyped_command_is_refused_with_a_suggestion(cli):
    result = cli("complare")
    assert result.exit_code == 2
    assert "complare" in result.stderr
    assert "compare" in result.stderr


def imported(*arguments: str) -> set[str]:
    """Names of the modules that a command imports."""
    code = (
        "import runpy, sys\n"
        "try:\n    runpy.run_module('faultwave', run_name='__main__')\n"
        "finally:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


LATE = {
    "gmsh", "lupa", "matplotlib", "mpi4py", "netCDF4", "obspy", "pint", "plotly", "pymetis", "pyopencl", "pyproj",
    "pyvista", "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.spatial", "scipy.special", "tifffile",
}  # fmt: skip
"""Packages that take long to import, and that only a case which needs them may import."""


def test_help_imports_nothing_that_takes_long():
    slow = LATE | {"h5py", "numpy", "pydantic", "rich", "ruamel"}
    assert sorted(imported("--help") & slow) == []
    assert sorted(imported("run", "--help") & (slow - {"pydantic"})) == []


def test_a_check_imports_no_package_that_the_case_does_not_need():
    assert sorted(imported("check", "point-source") & (LATE | {"scipy.sparse"})) == []


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_a_run_imports_no_package_that_the_case_does_not_need(engine, tmp_path):
    """From its case to its results, nor the other engine. This one's Gaussian needs the error function."""
    found = imported("run", "two-engines", "--engine", engine, "--until", "0.01", "--output", str(tmp_path / "out"))
    other = {"dg": "faultwave.fd", "fd": "faultwave.dg"}[engine]
    late = LATE - {"scipy.special"} | {"scipy.fft", "scipy.interpolate", "scipy.ndimage", "scipy.sparse"}
    assert sorted(found & (late | {other, "faultwave.domain.build", "faultwave.plot"})) == []


def test_as_a_module() -> None:
    """Where the command is not on the path."""
    done = subprocess.run([sys.executable, "-m", "faultwave", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("faultwave ")


def test_the_table_of_commands_is_that_of_their_files():
    files = {p.stem for p in Path(main.__file__).parent.glob("*.py")}
    with_commands = {f for f in files if "@app.command" in _text(f) or "def add_commands" in _text(f)} - {"main"}
    assert with_commands == set(main.FILES)
    for file, names in main.FILES.items():
        assert tuple(main.commands_of(file)) == names


def _text(file: str) -> str:
    return Path(main.__file__).with_name(f"{file}.py").read_text()


def test_a_command_imports_no_other_file_of_commands():
    assert sorted(n for n in imported("check", "--help") if n.startswith("faultwave.cli.")) == [
        "faultwave.cli.cases", "faultwave.cli.launch", "faultwave.cli.main", "faultwave.cli.options", "faultwave.cli.screen",
    ]  # fmt: skip
