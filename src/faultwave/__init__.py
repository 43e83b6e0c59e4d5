"""Faultwave: earthquakes, rupture and waves, from a laptop to many nodes.

    import faultwave as fw

    fw.check("quake.yaml")                  # everything that is wrong with a case
    fw.plan("quake.yaml")                   # what a run would cost and resolve
    sim = fw.run("quake.yaml", order=4)     # run it, write its outputs; sim.receivers, sim.energies, ...
    fw.plot(sim.folder)                     # pictures
    fw.report(sim.folder)                   # one page with all of them
    results = fw.load(sim.folder)           # read it back, now or later
    ground = fw.snapshots(sim.folder, "surface")   # fields in time, for NumPy and xarray
    fw.Ensemble("study.yaml").run()         # many members with varied settings, and their combined results
    fw.Campaign("campaign.yaml").run()      # hazard at many sites from stored strain Green tensors
    fw.gradient("quake.yaml", misfit, names)    # a misfit and its derivatives with respect to sources

``simulate`` prepares a run and writes nothing until its ``run``; ``resume`` continues from a checkpoint; ``compare``
compares one run with another, ``score`` with observed records; ``estimate_errors`` estimates the errors of its
seismograms; ``convert`` writes receivers in another format. help(fw.check) and so on describe arguments, units and
errors.
"""

import importlib
from typing import Any

from faultwave.base.version import __version__

PUBLIC = {
    "Campaign": "faultwave.campaign.campaign",
    "Ensemble": "faultwave.ensemble.ensemble",
    "Inversion": "faultwave.inversion.inversion",
    "check": "faultwave.run.planned",
    "compare": "faultwave.verify.compare",
    "convert": "faultwave.output.results",
    "estimate_errors": "faultwave.run.errors",
    "gradient": "faultwave.gradients.gradient",
    "invert": "faultwave.inversion.inversion",
    "load": "faultwave.output.results",
    "plan": "faultwave.run.planned",
    "plot": "faultwave.plot",
    "report": "faultwave.report",
    "resume": "faultwave.run.simulation",
    "run": "faultwave.run",
    "score": "faultwave.verify.observed",
    "simulate": "faultwave.run.simulation",
    "snapshots": "faultwave.output.results",
}
"""Module of each public function, imported on first use so that the command line starts quickly."""

__all__ = ["__version__", *PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'faultwave' has no attribute '{name}'")
    module = importlib.import_module(PUBLIC[name])
    return module if PUBLIC[name] == f"faultwave.{name}" else getattr(module, name)  # packages that are callable


def __dir__() -> list[str]:
    return sorted(__all__)
