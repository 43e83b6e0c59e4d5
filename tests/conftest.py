"""What all tests share."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import settings

from faultwave.base.errors import BackendError
from faultwave.cli.launch import mpiexec

# Machines differ and are shared: a slow example is no failure.
settings.register_profile("faultwave", deadline=None)
settings.load_profile("faultwave")


LISTED = {n: frozenset(Path(__file__).with_name(f"{n}.txt").read_text().splitlines()) for n in ("long", "slow")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ``tools/long_tests.py`` has listed as long or slow."""
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
