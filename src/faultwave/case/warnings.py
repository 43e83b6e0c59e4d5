"""Warnings about cases that record nothing or only zeros, or that run slowly on this machine."""

from __future__ import annotations

from faultwave.base.errors import Problems
from faultwave.base.processes import cores
from faultwave.case.plausibility import warn_angles, warn_sampling
from faultwave.case.settings.model import Case

SAMPLED = ("receivers", "fault_receivers", "fault", "surface", "volume", "energies")
"""Outputs with an interval."""


SETTINGS_WITH_MOTION = (
    "sources",
    "fault",
    "incident",
    "injection",
    "currents",
    "ports",
    "dirichlet",
    "plasticity",
    "parts",
)
"""Settings that may cause motion; whether a fault ruptures is checked where its stress is known."""


LOADS = {
    "sources": "sources",
    "incident": "the incident wave",
    "injection": "injection",
    "dirichlet": "what dirichlet faces impose",
    "parts": "parts of other packages",
}
"""Settings that may change the stress or pore pressure on a fault during a run, with their description."""


def fault_loads(case: Case) -> tuple[str, ...]:
    """Return descriptions of everything that may load or weaken a fault other than its own stress and nucleation."""
    found = [words for name, words in LOADS.items() if getattr(case, name)]
    if case.initial.kind != "zero":
        found.append(f"the initial state ({case.initial.kind})")
    return tuple(found)


def warn_case(case: Case) -> Problems:
    """Warn of cases without any motion, outputs with an interval longer than the run, and more threads than cores."""
    problems = Problems()
    if case.initial.kind == "zero" and not any(getattr(case, name) for name in SETTINGS_WITH_MOTION):
        what = "nothing sets anything in motion: there is no source, no fault, no initial state, and no wave comes in"
        allowed = "sources, fault, initial, " + (
            "injection" if case.engine == "fd" else "incident, dirichlet, currents, ports"
        )
        problems.warn("case", what, allowed, "All results will be zero: give at least one of these.")
    for name in SAMPLED:
        interval = getattr(getattr(case.output, name), "interval", None)
        if interval is not None and interval > case.end_time * (1 + 1e-9):
            what = f"{interval:g} s is longer than the run of {case.end_time:g} s: one sample, at its start"
            short = interval * 1e-3 <= case.end_time / 10.0
            advice = "Is it in ms? Numbers are in s; texts may carry units: '10 ms'." if short else ""
            problems.warn(f"output.{name}.interval", what, f"up to {case.end_time:g} s", advice)
    warn_angles(case, problems)
    warn_sampling(case, problems)
    checkpoint = case.output.checkpoint
    if checkpoint is not None and checkpoint.interval is None and checkpoint.wall_time is None:
        what = (
            "gives no interval: a checkpoint is written when the run is told to stop, as without it, and never before"
        )
        problems.warn("output.checkpoint", what, "interval or wall_time, e.g. wall_time: 30 min")
    threads, here = case.numerics.threads, cores.count()
    if threads is not None and threads > here:
        what = f"{threads} threads would share the {here} cores that this process may use"
        advice = "They wait for each other: leave it out, and every core gets one."
        problems.warn("numerics.threads", what if here > 1 else what.replace("cores", "core"), f"1 to {here}", advice)
    return problems


__all__ = ["warn_case"]
