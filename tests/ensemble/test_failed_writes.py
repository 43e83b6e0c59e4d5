"""Members whose results could not be written, recognised by the class of the error and not by its text."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import pytest

import faultwave as fw
from faultwave.base.errors import FaultwaveError, InputError, Problem, RunError
from faultwave.ensemble import process
from faultwave.ensemble.checks import task_of
from faultwave.ensemble.folder import EnsembleFolder
from faultwave.ensemble.members import load_members
from faultwave.ensemble.process import Outcome, compute_member
from faultwave.ensemble.study import load_study
from faultwave.ensemble.worker import answer
from faultwave.output.atomic import NotWritten, WriteFailed, WriteRefused, atomic_text, user_error_for
from tests.ensemble.case import study, wave_case
from tests.messages import raises

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
SHOWN = "case.yaml: cannot be written: writing failed: the disk is full"
"""Text that an error on anything else may quote."""


@pytest.mark.parametrize(
    ("number", "kind", "other"),
    [(errno.ENOSPC, WriteFailed, RunError), (errno.EDQUOT, WriteFailed, RunError), (errno.EIO, WriteFailed, RunError),
     (errno.EACCES, WriteRefused, InputError), (errno.EROFS, WriteRefused, InputError)],
)  # fmt: skip
def test_failed_writes_have_classes_that_reach_other_processes(tmp_path, number, kind, other):
    def write() -> None:
        with atomic_text(tmp_path / "a"):
            raise OSError(number, os.strerror(number))

    with pytest.raises(kind) as raised:
        write()
    done, error = pickle.loads(pickle.dumps(answer(lambda _: write(), None)))
    assert not done and type(error) is kind and isinstance(error, NotWritten) and isinstance(error, other)
    assert str(error) == str(raised.value) and error.code == other.code


def outcome_of(error: FaultwaveError, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """The outcome of a member whose process reports an error."""

    class Reporting:
        def call(self, *arguments: object) -> object:
            raise error

    monkeypatch.setattr(process, "own_process", lambda threads: Reporting())
    members, _ = load_members(*load_study(study(folder)))
    return compute_member(task_of(members, 0, "digest"))


def test_errors_that_quote_the_text_of_a_failed_write_are_failures_of_the_member(tmp_path, monkeypatch):
    for error in (RunError(SHOWN), InputError(Problem("fault", SHOWN))):
        assert outcome_of(error, tmp_path, monkeypatch).status == "failed"
    assert [r.reason for r in EnsembleFolder(tmp_path).records()] == [f"fault: {SHOWN}"]


def test_a_failed_write_stays_missing(tmp_path, monkeypatch):
    for error in (
        user_error_for(FULL, tmp_path / "a"),
        user_error_for(PermissionError(errno.EACCES, "no"), tmp_path / "a"),
    ):
        assert outcome_of(error, tmp_path, monkeypatch).status == "not stored"
    assert not list(EnsembleFolder(tmp_path).records())


def test_a_failed_write_during_the_steps_of_a_run_that_can_be_resumed(tmp_path, monkeypatch):
    """The session adds how to continue, and the class stays."""
    session = fw.simulate(wave_case(), output=str(tmp_path / "out"), force=True)
    monkeypatch.setattr(type(session), "_can_resume", True)

    def run(end: float, control: object) -> None:
        raise user_error_for(FULL, tmp_path / "a")

    monkeypatch.setattr(session.solver, "run", run)
    with raises(WriteFailed):
        session.run(write=False)
