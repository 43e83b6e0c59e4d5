import logging
import subprocess
import sys

import pytest

from faultwave.base import log


@pytest.fixture
def root():
    """The package's logger, put back as it was."""
    logger = logging.getLogger(log.ROOT)
    before = logger.level, list(logger.handlers), logger.propagate
    logger.handlers[:] = [h for h in logger.handlers if not getattr(h, "_faultwave", False)]
    yield logger
    logger.setLevel(before[0])
    logger.handlers[:] = before[1]
    logger.propagate = before[2]


def test_names_are_under_the_package():
    assert log.get_logger("faultwave.case.load").name == "faultwave.case.load"
    assert log.get_logger("plugin").name == "faultwave.plugin"
    assert log.get_logger("faultwave").name == "faultwave"
    assert log.get_logger("faultwavelet").name == "faultwave.faultwavelet"


def test_warn_once(root):
    seen = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    root.addHandler(handler)
    logger = log.get_logger("faultwave.test_log")
    for _ in range(3):
        log.warn_once(logger, "key 'a' has no effect")
    log.warn_once(logger, "key 'b' has no effect")
    assert seen == ["key 'a' has no effect", "key 'b' has no effect"]


def test_configure_twice_adds_one_handler(root):
    before = len(root.handlers)
    log.configure("INFO")
    log.configure("DEBUG")
    assert len(root.handlers) == before + 1
    assert root.level == logging.DEBUG


def test_import_adds_nothing_that_prints():
    names = "*(type(h).__name__ for h in logging.getLogger('faultwave').handlers)"
    code = f"import logging, faultwave.base.log; print({names})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "NullHandler"
