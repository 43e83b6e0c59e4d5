"""The C source of a program that a process has lowered before."""

from dataclasses import replace

import numpy as np
import pytest

from faultwave.backends.cpu import stencil
from faultwave.backends.grid import GridArrays
from faultwave.fd.method.program import build_program
from faultwave.fd.method.scheme import Level
from faultwave.kernels.stencil import Injection, SampleBuffer, Stencil
from tests.fd.setups import scheme

SHAPE = (12, 11, 13)
POINTS = np.array([[3, 3, 3]])
ONE = Injection(Level.VELOCITY, "u", POINTS, np.ones(1), np.zeros(1, np.int64))
SEEN = SampleBuffer(Level.STRESS, "sxx", POINTS)
PROGRAMS = {
    "plain": lambda: build_program(scheme(SHAPE)),
    "wider": lambda: build_program(scheme((12, 12, 13))),
    "attenuation": lambda: build_program(scheme(SHAPE, attenuation=True)),
    "sponge": lambda: build_program(scheme(SHAPE, kind="sponge")),
    "wide layers": lambda: build_program(scheme(SHAPE, width=5)),
    "no surface": lambda: build_program(scheme(SHAPE, {"z+": "absorbing"})),
    "periodic": lambda: build_program(scheme(SHAPE, {"x-": "periodic", "x+": "periodic"})),
    "order 8": lambda: build_program(scheme((20, 20, 20), order=8)),
    "source": lambda: build_program(scheme(SHAPE), [ONE]),
    "another source": lambda: build_program(scheme(SHAPE), [replace(ONE, points=POINTS + 1)]),
    "receiver": lambda: build_program(scheme(SHAPE), sample_buffers=[SEEN]),
}


def changed(program, change):
    """Return the program with another formula of its first stencil, whose name stays."""
    first, *more = program.levels[0]

    def function(p):
        return change(first.stencil.function(p))

    other = replace(first, stencil=Stencil(first.stencil.name, function, first.stencil.changes, first.stencil.rows))
    return replace(program, levels=[[other, *more], *program.levels[1:]])


def both(program, dtype=np.float32, lanes=16):
    """Return the source for a program, and that which is lowered without any other before."""
    arrays = GridArrays(program, dtype, lanes)
    return stencil.source_of(program, arrays, lanes), stencil.lower(program, arrays, lanes)


@pytest.fixture
def lowered(monkeypatch):
    """Number of programs lowered for ``source_of``, without those of other tests."""
    monkeypatch.setattr(stencil, "_lowered", {})
    calls, lower = [], stencil.lower
    monkeypatch.setattr(stencil, "lower", lambda *given: calls.append(given[0].name) or lower(*given))
    return calls


def test_equal_programs_are_lowered_once(lowered):
    for make in PROGRAMS.values():
        for _ in range(2):
            program = make()
            stencil.source_of(program, GridArrays(program, np.float32, 16), 16)
    assert len(lowered) == len(PROGRAMS)


@pytest.mark.usefixtures("lowered")
def test_different_programs_have_their_own_source():
    texts = {}
    for name, make in PROGRAMS.items():
        texts[name], own = both(make())
        assert texts[name] == own
    for name, make in PROGRAMS.items():
        program = make()
        assert stencil.source_of(program, GridArrays(program, np.float32, 16), 16) == texts[name]
    double, own = both(PROGRAMS["plain"](), np.float64, 8)
    assert double == own != texts["plain"]
    assert len({texts[n] for n in ("plain", "wider", "attenuation", "sponge", "wide layers", "order 8")}) == 6


@pytest.mark.usefixtures("lowered")
@pytest.mark.parametrize("factor", [2.0, -1.0, 1.0 + 2**-52])
def test_another_formula_of_the_same_name(factor):
    plain = PROGRAMS["plain"]()
    before, _ = both(plain)
    after, own = both(changed(plain, lambda new: new | {"u": factor * new["u"]}))
    assert after == own != before


def test_programs_with_masks_are_lowered_anew(lowered):
    plain = PROGRAMS["plain"]()
    first = plain.levels[0][0]
    masked = replace(first.stencil, changes=lambda p: p.at("u") > 0.0)
    for _ in range(2):
        program = replace(plain, levels=[[replace(first, stencil=masked), *plain.levels[0][1:]], *plain.levels[1:]])
        stencil.source_of(program, GridArrays(program, np.float32, 16), 16)
    assert len(lowered) == 2


def test_the_number_of_stored_sources_is_limited(monkeypatch, lowered):
    monkeypatch.setattr(stencil, "LOWERED", 2)
    for name in ("plain", "wider", "plain", "periodic", "plain", "wider"):
        both(PROGRAMS[name]())
    assert len(stencil._lowered) == 2
    assert len(lowered) == 6 + 4  # in ``both`` itself, and all but the second and third of "plain"
