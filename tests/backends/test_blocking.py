"""Tiles of a pass: what threads find to do in them."""

from dataclasses import replace

import numpy as np
import pytest

from faultwave.backends.cpu.blocking import busy, candidates, default_blocking
from faultwave.backends.grid import GridArrays
from faultwave.fd.method.program import build_program
from faultwave.kernels.stencil import REACH, Box, Launch, Layout, Stencil
from tests.fd.setups import scheme


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("count", "halves", "tile"), [(30, 2, 7), (96, 8, 24), (50, 6, 60), (31, 4, 5)])
def test_busy_counts_rows_as_the_loop_does(threads, count, halves, tile):
    work = np.zeros(threads)
    for half in range(halves):
        for row in range(count):  # half-step m works in tile t on rows from t tile - REACH (m + 1)
            work[(row + REACH * (half + 1)) // tile % threads] += 1
    assert busy(count, REACH * np.arange(halves), tile, threads, REACH) == pytest.approx(work.sum() / work.max())


@pytest.mark.parametrize("rows", [150, 256])
def test_threads_get_tiles_of_equal_work(rows):
    program = build_program(scheme((8, rows, 240), attenuation=True))
    arrays = GridArrays(program, np.float32, 16)
    alone = candidates(arrays, 1)
    for threads in (2, 4):
        found = candidates(arrays, threads)
        assert {b.steps for b in found} == {b.steps for b in alone}
        for b in (*found, default_blocking(arrays, threads)):
            assert (
                busy(rows, REACH * np.arange(2 * b.steps), b.rows, threads, REACH)
                > (0.9 if threads == 2 else 0.82) * threads
            ), b
    least = [
        min(busy(rows, REACH * np.arange(2 * b.steps), b.rows, 2, REACH) for b in of)
        for of in (alone, candidates(arrays, 2))
    ]
    assert least[0] < least[1]


def test_small_tiles_are_not_made_smaller_for_little():
    """21 tiles of 13 rows are 1.97 threads' work: not worth tiles that fetch more of their neighbours' rows."""
    program = build_program(scheme((8, 256, 256), attenuation=True))
    arrays = GridArrays(program, np.float32, 16)
    pairs = zip(candidates(arrays, 1), candidates(arrays, 2), strict=True)
    assert all(two.rows > 0.8 * one.rows for one, two in pairs)


@pytest.mark.parametrize(("planes", "lines", "share"), [(40, 100, 1.0), (20, 100, 0.5), (40, 25, 0.25), (4, 25, 0.025)])
def test_arrays_in_some_rows_only_count_by_their_share(planes, lines, share):
    program = build_program(scheme((40, 100, 64)))
    more = {f"soil{n}": Layout(Box((0, 0, 0), (planes, lines, 64)), group="soil", halo=0) for n in range(50)}

    def rows(of):
        return default_blocking(GridArrays(of, np.float32, 16), 1).rows

    alone, found = rows(program), rows(replace(program, arrays={**program.arrays, **more}))
    whole = rows(
        replace(
            program,
            arrays={**program.arrays, **{n: replace(a, box=Box((0, 0, 0), (40, 100, 64))) for n, a in more.items()}},
        )
    )
    assert 1 / found - 1 / alone == pytest.approx(share * (1 / whole - 1 / alone), rel=0.1, abs=0.1 / alone)


def test_arrays_of_rows_that_are_left_out_do_not_count():
    """Tiles are as large as if launches with a mask of rows had no arrays of their own."""
    program = build_program(scheme((40, 100, 64)))
    more = {f"lost{n}": Layout(Box((0, 0, 0), (40, 100, 64)), group="lost", halo=0) for n in range(8)}

    def looked(rows):
        of = Stencil("look", lambda p: {f"lost{n}": p.at(f"lost{n}") + p.at("sxx") for n in range(8)}, rows=rows)
        levels = [*program.levels[:1], [*program.levels[1], Launch(of, Box((0, 0, 0), (40, 100, 64)))]]
        return replace(program, arrays={**program.arrays, **more}, levels=levels)

    def rows(of):
        return default_blocking(GridArrays(of, np.float32, 16), 1).rows

    assert rows(looked(lambda row: row.changed("lost0") > 0.0)) == rows(program) > rows(looked(None))
