"""Ends the process of a member whose force along x is the number in FAULTWAVE_TEST_KILL, as a system without memory does."""

import os
import signal
import sys

if "FAULTWAVE_TEST_KILL" in os.environ and "faultwave.ensemble.worker" in " ".join(sys.orig_argv):
    from faultwave.ensemble import tasks

    run_member = tasks.run_member

    def run_or_die(case, write=False):
        if case.sources[0].force[0] == float(os.environ["FAULTWAVE_TEST_KILL"]):
            os.kill(os.getpid(), signal.SIGKILL)
        return run_member(case, write)

    tasks.run_member = run_or_die
