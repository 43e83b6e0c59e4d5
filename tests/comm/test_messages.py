"""Messages between real processes: arrays exchanged once, a partner that never answers, requests that are given back."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from faultwave.cli.launch import mpiexec

pytestmark = pytest.mark.mpi


def among(ranks: int, body: str) -> str:
    """What processes say that run ``body``."""
    head = """
    import numpy as np
    from faultwave.base.errors import RunError
    from faultwave.comm import messages, world
    from faultwave.comm.exchange import HaloExchange, Neighbour
    mpi, me = world().mpi, world().rank
    """
    command = [mpiexec(), "-n", str(ranks), sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(body)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_arrays_are_swapped_with_each_partner() -> None:
    """Of any size and type, again and again in order."""
    body = """
    others = [r for r in range(3) if r != me]
    for again in range(3):
        for kind in (float, np.int64, bool):
            out = {r: (np.arange(4 + me).reshape(1, -1) * 10 + r + again).astype(kind) for r in others}
            into = {r: np.empty((1, 4 + r), kind) for r in others}
            messages.swap(mpi, 5, out, into, "numbers")
            for r in others:
                np.testing.assert_array_equal(into[r], (np.arange(4 + r).reshape(1, -1) * 10 + me + again).astype(kind))
    """
    among(3, body)


def test_a_partner_that_never_answers_is_named() -> None:
    body = """
    messages.PATIENCE = 0.2
    if me == 1:
        try:
            messages.wait_all([m := messages.Receive(mpi, 0, 7, messages.Plain(np.zeros(3)), "the waves of cluster 2")])
        except RunError as error:
            print(error)
        m.free()
    mpi.Barrier()
    """
    told = among(2, body)
    assert "process 1 has waited 0.2 s for the waves of cluster 2 from process 0. Process 0 hangs" in told


def test_a_message_that_has_not_come_is_given_back() -> None:
    body = """
    m = messages.Receive(mpi, 1 - me, 7, messages.Plain(np.zeros(3)), "numbers")
    m.start()
    assert not m.done()
    m.free()
    mpi.Barrier()
    messages.swap(mpi, 7, {1 - me: np.full(3, float(me))}, {1 - me: (found := np.zeros(3))}, "numbers")
    assert (found == 1 - me).all()
    """
    among(2, body)


def test_a_halo_exchange_with_a_neighbour_and_with_oneself() -> None:
    """Rounded to single precision, and exact where the numbers are in single precision."""
    body = """
    class Boxes:
        def __init__(self, values): self.values, self.size = values, values.size
        def pack(self, into): into[:] = self.values
        def unpack(self, values): self.values[:] = values

    for kind, rounding, wanted in ((float, "exact", 0.1), (float, "single", np.float32(0.1)), (np.float32, "single", np.float32(0.1))):
        sent, near, own = np.full(5, 0.1, kind) + kind(me), np.zeros(5, kind), np.zeros(5, kind)
        listed = [Neighbour(1 - me, 0, 0, Boxes(sent), Boxes(near)), Neighbour(me, 1, 2, Boxes(sent), Boxes(own))]
        listed += [Neighbour(me, 2, 1, Boxes(sent), Boxes(own.copy()))]
        halo = HaloExchange(world(), listed, kind, rounding)
        for again in range(2):
            halo.start()
            halo.finish()
        assert (own == (kind(np.float32(sent[0])) if rounding == "single" else sent[0])).all()
        expected = kind(0.1) + kind(1 - me)
        assert (near == (kind(np.float32(expected)) if rounding == "single" else expected)).all()
        assert halo.messages == 6 and halo.bytes == 6 * 5 * (4 if rounding == "single" else 8)
        assert (halo.loss.largest > 0) == (rounding == "single" and kind is float)
    """
    among(2, body)


def test_a_message_to_a_process_that_has_died_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Mistakes of the program keep their trace."""
    from mpi4py import MPI

    from faultwave.comm.world import World

    class Two:
        aborted = 0

        def Get_rank(self) -> int:
            return 0

        def Get_size(self) -> int:
            return 2

        def Abort(self, code: int) -> None:
            self.aborted = code

    two = Two()
    World(two).abort(MPI.Exception(MPI.ERR_OTHER))
    told = capsys.readouterr().err
    assert two.aborted == 1 and "Traceback" not in told
    assert "process 0 of 2 failed and ends the run" in told and "it has died" in told and "faultwave.resume" in told
    try:
        raise KeyError("a mistake")
    except KeyError as error:
        World(two).abort(error)
    assert "Traceback" in capsys.readouterr().err
