"""Splits of several steps: what is sampled has been computed, and has not been overwritten."""

import numpy as np

from faultwave.kernels.overlap import SAMPLES, key_of, reach
from faultwave.kernels.stencil import Box, Launch, Layout, Program, SampleBuffer, Stencil

BOX = Box((0, 0, 0), (6, 7, 9))


def test_a_level_without_launches_is_sampled_at_the_right_time():
    """Samples of the second level wait for the first level as far as that waits, in every step."""
    launches = [
        Launch(Stencil("one", lambda p: {"a": p.at("a") + p.at("b", z=1)}), BOX),
        Launch(Stencil("two", lambda p: {"b": p.at("b") + p.at("a", z=-1)}), BOX),
    ]
    arrays = {n: Layout(BOX, group="g") for n in ("a", "b")}
    made = Program(
        "test",
        BOX,
        arrays,
        [launches[:1], launches[1:], []],
        {},
        sample_buffers=[SampleBuffer(2, "b", np.array([BOX.lo]))],
    )
    found = reach(made, 3).inward
    for step in range(3):
        assert found[3 * step + 2][SAMPLES] == found[3 * step + 1][key_of(launches[1])]
    assert found[8][SAMPLES][0] > found[2][SAMPLES][0] > 0
