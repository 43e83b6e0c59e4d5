"""Stencils of grids compiled for a graphics processor that need not be here: what they take of it."""

import pytest

from faultwave.backends.device.compilers import missing
from faultwave.bench.grids.kernel_report import CASES, compiled, launches_of

LEAST = {"blocks": 4, "hill": 9, "hill-layers": 45, "order-8": 8, "fluids": 2, "iwan": 20, "fault-slip-weakening": 20}
"""Stencils of a program beside the plain ones."""
SPILLED = {"gfx90a": {"velocity_cap_near_surface": 24}}
"""Bytes, by architecture: it takes all the registers that a thread may have where two groups of 256 fit. Whether that is enough depends on
the grid: distances between its arrays' planes are constants of the text, and large ones take registers. It works on one plane of a step."""
SLOW = {"hill-layers"}


@pytest.mark.parametrize("arch", ["sm_90", "gfx90a"])
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in CASES])
def test_stencils_do_not_spill(arch, name):
    """In single precision, where a program has it, on an H100 and an MI250X; two groups of threads fit into a multiprocessor, so that one
    computes while the other waits."""
    if why := missing("hip" if arch.startswith("gfx") else "cuda"):
        pytest.skip(why)
    found = {n: compiled(one, arch, True) for n, one in launches_of(name).items()}
    assert len(found) >= LEAST.get(name, 10), list(found)
    for n, one in found.items():
        assert one.spilled <= SPILLED.get(arch, {}).get(n, 0) and one.groups >= 2, (n, one.spilled, one.registers)
