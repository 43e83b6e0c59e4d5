"""How the batches of a launch are shared among threads."""

import ctypes
from importlib import resources

import pytest

from faultwave.backends.cpu.compile import build, load

STATIC, GUIDED = 1, 3
"""Kinds of schedules by OpenMP's numbers."""


@pytest.fixture(scope="module")
def shares():
    """Kind and smallest share of the schedule of so many batches."""
    text = resources.files("faultwave.backends.cpu").joinpath("include", "vector.h").read_text()
    function = text[text.index("int placed;") : text.index("/* Vectors of LANES")]
    asked = (
        "void asked(long batches, int threads, int *found) {\n"
        "  omp_sched_t kind;\n  omp_set_num_threads(threads);\n  share_out(batches);\n"
        "  omp_get_schedule(&kind, found + 1);\n  found[0] = kind & 7;\n}\n"
    )
    built = load(str(build([("shares", f"#include <omp.h>\n{function}{asked}")])["shares"]))

    def found(batches, threads, placed=False):
        pair = (ctypes.c_int * 2)()
        ctypes.c_int.in_dll(built, "placed").value = int(placed)
        before = built.omp_get_max_threads()
        built.asked(ctypes.c_long(batches), threads, pair)
        built.omp_set_num_threads(before)
        return tuple(pair)

    return found


@pytest.mark.parametrize("threads", [2, 16])
def test_every_thread_has_a_batch_where_there_are_few(shares, threads):
    assert all(shares(batches, threads) == (GUIDED, 1) for batches in (2, threads))
    assert all(shares(batches, threads) == (GUIDED, 2) for batches in (threads + 1, 1000))


def test_each_thread_keeps_its_part_where_memory_has_a_place(shares):
    assert shares(1000, 2, placed=True)[0] == STATIC
