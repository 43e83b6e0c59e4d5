"""What all tests share."""

import importlib.util
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from faultwave.base.errors import BackendError
from faultwave.cli.launch import mpiexec
from tests.messages import SESSION

pytest_plugins = ["tests.crashes"]

# Machines differ and are shared: a slow example is no failure.
settings.register_profile("faultwave", deadline=None)
settings.load_profile("faultwave")


LISTED = {n: frozenset(Path(__file__).with_name(f"{n}.txt").read_text().splitlines()) for n in ("long", "slow")}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that rewrite the files of expected messages and store the processor time of tests."""
    parser.addoption(
        "--update-messages", action="store_true", help="write the messages that tests find to messages.txt"
    )
    parser.addoption("--cpu-times", metavar="FILE", help="append the processor time of each test to a file")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the comparison of messages; files are written by one process only."""
    SESSION.update = config.getoption("--update-messages")
    if SESSION.update and (hasattr(config, "workerinput") or config.getoption("numprocesses", None)):
        raise pytest.UsageError("--update-messages works without -n")


def pytest_sessionfinish() -> None:
    """Write the files of expected messages."""
    if SESSION.update:
        SESSION.store()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Compare the messages of each test with those of its package."""
    SESSION.begin(item.nodeid)
    yield
    SESSION.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Store the processor time of a test and of the processes it has started, in the format of pytest's durations.

    Unlike the elapsed time it hardly depends on what else the machine does.
    """
    begun = sum(os.times()[:4])
    result = yield
    if path := item.config.getoption("--cpu-times"):
        with Path(path).open("a") as file:
            file.write(f"{sum(os.times()[:4]) - begun:.2f}s call {item.nodeid}\n")
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ``tools/long_tests.py`` has listed as long or slow."""
    SESSION.collected.update(SESSION.locate(item.nodeid) for item in items)
    for item in items:
        for mark, names in LISTED.items():
            if item.nodeid in names:
                item.add_marker(mark)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked ``mpi`` are skipped, with the reason, where no MPI is installed."""
    if item.get_closest_marker("mpi") is None:
        return
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed")
    try:
        mpiexec()
    except BackendError as error:
        pytest.skip(str(error))
