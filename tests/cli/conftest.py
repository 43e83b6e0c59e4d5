"""Runs the program in this process, with rooms replaced where a test is only about the command line."""

import sys
import types

import pytest
from typer.testing import CliRunner

from faultwave.base.errors import Problems


@pytest.fixture
def cli(monkeypatch):
    """cli('run', 'tpv5', ...) -> result with exit_code, stdout, stderr; an unexpected exception is raised."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*arguments):
        from faultwave.cli.main import app

        result = CliRunner().invoke(app, [str(a) for a in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def room(monkeypatch):
    """room('faultwave.case.load', load_case=f): a module of that name with only these members."""

    def replace(name, **members):
        module = types.ModuleType(name)
        for key, value in members.items():
            setattr(module, key, value)
        parts = name.split(".")
        for n in range(2, len(parts)):  # the rooms around it, so that nothing real needs to be imported
            outer = ".".join(parts[:n])
            if outer not in sys.modules:
                package = types.ModuleType(outer)
                package.__path__ = []
                monkeypatch.setitem(sys.modules, outer, package)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return replace


@pytest.fixture
def case(room):
    """A loader that records what it was asked for and returns a minimal case; ``.problems`` may be filled."""

    class Loader:
        def __init__(self):
            self.asked = None
            self.problems = Problems()
            self.case = types.SimpleNamespace(output=types.SimpleNamespace(folder="results"))

        def __call__(self, name, overrides):
            self.asked = (name, dict(overrides))
            return self.case, self.problems

    loader = Loader()
    room("faultwave.run.inputs", load_case_and_inputs=loader)
    return loader
