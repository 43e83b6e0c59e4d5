"""A thread bound to a core by a library must not shrink what the program counts and starts afterwards."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, threading
import numpy as np
from faultwave import backends
from faultwave.base.processes import host as cores
from faultwave.dg.operators import kernels
from faultwave.dg.method.forms import form
from faultwave.physics.waves import law
from faultwave.output.manifest import machine

allowed = os.sched_getaffinity(0)
for _ in range(2):
    backend = backends.make("cpu", "double")
    f = form(law("acoustic"), 2)
    made = backend.compile([kernels.energies(f)])["energies"]
    n = 64 * backend.lanes
    sizes = {a.name: (a.rows, a.cols) for a in kernels.energies(f).arguments}
    made({name: backend.batch(n, *size) for name, size in sizes.items()})(0, n)
    assert backend.threads == len(allowed), (backend.threads, allowed)
seen = []
def work():
    cores.use_all_cores()
    seen.append(os.sched_getaffinity(0))
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert seen == [allowed], (seen, allowed)
assert machine()["cores"] == len(allowed)
print("all", len(allowed))
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system binds no threads")
def test_threads_bound_to_cores_change_nothing_for_others():
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.startswith("all"), done.stderr
