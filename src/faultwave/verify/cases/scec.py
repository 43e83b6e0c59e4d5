"""Benchmarks of the SCEC/USGS dynamic rupture code comparison, at quick resolutions (docs/scec.md).

`faultwave verify scec` has further options: benchmarks by name, full resolutions, a results folder, a page to write.
"""

from __future__ import annotations

from faultwave.verify.case import Progress, Result, VerificationCase
from faultwave.verify.scec.drive import Plan, run_all


def run(progress: Progress) -> Result:
    """Run all benchmarks at the quick resolution."""
    return run_all(progress, Plan(quick=True))


SCEC = VerificationCase("scec", "benchmarks of the SCEC/USGS rupture code comparison", run, 45.0)
