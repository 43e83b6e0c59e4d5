"""Runs of a case on several processes.

The time limit only ends processes that wait for each other: where kernels of a device are compiled for the first time on a
busy machine, a small run takes minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

from faultwave.cli.launch import mpiexec

BODY = """
    import json, os, signal, sys
    import numpy as np
    import faultwave as fw
    case, extra = json.loads(sys.argv[1]), json.loads(sys.argv[2])
    {setup}
    sim = fw.simulate(case, force=True) if isinstance(case, dict) else fw.resume(case, **extra)
    sim.run({run})
    {after}
"""


def launch(ranks, case, *, setup="", run="", after="", extra=None, threads=1, timeout=900):
    body = textwrap.dedent(BODY).format(setup=setup, run=run, after=after)
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    command = [mpiexec(), "-n", str(ranks), sys.executable, "-c", body, json.dumps(case), json.dumps(extra or {})]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
