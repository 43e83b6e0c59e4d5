"""Stencils of blocks, hills and order 8 compiled for a graphics processor that need not be here: what they take of it."""

import numpy as np
import pytest

from faultwave.backends.device.compilers import build_text, missing, target_of
from faultwave.backends.device.stencil import lower_launch
from faultwave.backends.device.target import LINE
from faultwave.backends.grid import GridArrays
from faultwave.fd.program import build_program
from faultwave.run import simulate

from .test_block_fluids import settings
from .test_blocks import ROCK, eighth, two

SPILLED = {("sm_90", "stress_cap_q"): 8, ("gfx90a", "velocity_cap_near_surface"): 8}
"""Bytes: they take all the registers that a thread may have where two groups of 512 fit."""


def hill():
    """Two blocks with attenuation, the upper below a hill."""
    made = two(attenuation={}, material=ROCK, output={})
    made["grid"] |= {
        "topography": {"expression": "60 + 55*sin(x*0.0026)", "sources": "elevation", "receivers": "depth"},
        "upper": [2400, 2400, 200], "lower": [0, 0, -4600], "blocks": [{"below": 2200.0, "spacing": 200.0}],
    }  # fmt: skip
    return made


def water():
    """Two blocks with attenuation: a sea over hills, molten rock below."""
    return settings(attenuation={}, numerics={"precision": "single", "threads": 1})


@pytest.mark.parametrize("arch", ["sm_90", "gfx90a"])
@pytest.mark.parametrize(
    ("made", "least"), [(hill, 9), (lambda: eighth(2), 8), (water, 9)], ids=["hill", "order 8", "fluids"]
)
def test_stencils_do_not_spill(arch, made, least):
    """In single precision on an H100 and an MI250X; two groups of threads fit into a multiprocessor, so that one computes while the other
    waits."""
    if why := missing("hip" if arch.startswith("gfx") else "cuda"):
        pytest.skip(why)
    found = {}
    for block in simulate(made()).plan.blocks:
        program = build_program(block.scheme)
        arrays = GridArrays(program, np.float32, LINE // 4)
        for launch in (launch for level in program.levels for launch in level):
            name = launch.stencil.name
            if name not in found and "layer" not in name:
                plan = lower_launch(program, arrays, launch, name, target_of(arch))
                found[name] = build_text(name, plan.text, plan)
    assert len(found) >= least, list(found)
    for name, one in found.items():
        assert one.spilled <= SPILLED.get((arch, name), 0) and one.groups >= 2, (name, one.spilled, one.registers)
