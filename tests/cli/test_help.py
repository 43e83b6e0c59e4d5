"""Help is there for every command, fast, with an example that works as it stands."""

import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

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


def test_without_arguments_the_program_shows_its_commands(cli):
    result = cli()
    assert "Usage" in result.stdout + result.stderr
    assert "convert" in result.stdout + result.stderr


def test_version(cli):
    from faultwave import __version__

    assert cli("--version").stdout.strip() == f"faultwave {__version__}"


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
    "gmsh", "lupa", "matplotlib", "mpi4py", "netCDF4", "obspy", "pint", "pymetis", "pyopencl", "pyproj", "scipy.linalg",
    "scipy.optimize", "scipy.signal", "scipy.spatial", "scipy.special", "tifffile",
}  # fmt: skip
"""Packages that take long to import, and that only a case which needs them may import."""


def test_help_imports_nothing_that_takes_long():
    slow = LATE | {"h5py", "numpy", "pydantic", "rich", "ruamel"}
    assert sorted(imported("--help") & slow) == []
    assert sorted(imported("run", "--help") & (slow - {"pydantic"})) == []


def test_a_check_imports_no_package_that_the_case_does_not_need():
    assert sorted(imported("check", "point-source") & LATE) == []


def test_as_a_module() -> None:
    """Where the command is not on the path."""
    done = subprocess.run([sys.executable, "-m", "faultwave", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("faultwave ")
