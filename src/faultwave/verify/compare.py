"""Comparison of a run with a reference: misfits of receivers, fault receivers and energies, each against a limit.

The misfit of a group of columns (the components of one vector are judged together) is the relative L2 norm in time

    sqrt( sum_c int (a_c - b_c)^2 dt / sum_c int b_c^2 dt ),

where a is the run, interpolated linearly to the times of the reference b, and integrals follow the trapezoidal rule. If one of
the two ends earlier, only the times that both cover are compared, and a note says so. The norm of b is taken as at least 1 % of
the norm of the strongest receiver, so that a point that hardly moves is not judged on its noise. Tractions are judged as the
change from the reference's first sample. Rupture times are compared in seconds, energies by the largest difference over
the peak, also interpolated. Missing or non-finite data never pass.

If corners of a band are given, both runs are filtered alike first (``bands``). Where seismograms differ too much, a note states which
part of the difference lies above the lower of the two resolved frequencies in the manifests, and the misfits below and above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from faultwave.base import wording
from faultwave.base.errors import InputError, Problem, suggest
from faultwave.base.types import Settings
from faultwave.base.units import seconds
from faultwave.base.wording import option
from faultwave.observe.dataset import Dataset
from faultwave.observe.error_estimates import percent
from faultwave.output.results import KINDS, Results, load_results
from faultwave.output.trace import Kind, Trace
from faultwave.verify.bands import Band, check_band, common_resolved, filter_runs, share_above

GROUPS: dict[Kind, dict[str, tuple[str, ...]]] = {
    "receiver": {
        "velocity": ("v1", "v2", "v3"),
        "stress": ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"),
    },
    "faultreceiver": {
        "slip rate": ("SRs", "SRd"),
        "slip": ("Sls", "Sld"),
        "traction": ("Ts0", "Td0", "Pn0"),
        "friction": ("Mud",),
        "state": ("StV",),
        "peak slip rate": ("PSR",),
        "accumulated slip": ("ASl",),
        "pore pressure": ("P_f",),
        "temperature": ("Tmp",),
    },
}
ENERGIES = (
    *("elastic_energy", "elastic_kinetic_energy", "total_frictional_work", "static_frictional_work"),
    *("seismic_moment", "plastic_moment"),
)
RUPTURE_TIME = "rupture time"
_CHANGE = {"Ts0", "Td0", "Pn0"}
_FLOOR = 0.01  # floor of the norm of a receiver, over the norm of the strongest one
_SAME_PLACE = 10.0  # [m]; further apart is worth a note


@dataclass(frozen=True)
class Misfit:
    """One judged misfit.

    Attributes
    ----------
    kind : str
        'receiver', 'faultreceiver' or 'energy'.
    number : int
        Number of the receiver; 0 for energies.
    group : str
        Group of columns that is judged together.
    value : float
        Relative misfit, or seconds for the rupture time; inf where a side has no data.
    limit : float
        Largest value allowed.
    """

    kind: str
    number: int
    group: str
    value: float
    limit: float

    @property
    def passed(self) -> bool:
        return bool(self.value <= self.limit)


@dataclass(frozen=True)
class Comparison:
    """Result of a comparison.

    Attributes
    ----------
    run, reference : Path
        Compared folders.
    misfits : tuple of Misfit
        All judged misfits.
    missing : tuple of str
        Data of the reference that the run lacks.
    notes : tuple of str
        Remarks that do not affect the verdict.
    band : Band
        Band to which both runs were filtered.
    """

    run: Path
    reference: Path
    misfits: tuple[Misfit, ...]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    band: Band = Band()

    def __repr__(self) -> str:
        worst = ", ".join(f"{kind} {group} {m.value:.3g}" for (kind, group), m in self.worst.items())
        return f"<Comparison {self.run} against {self.reference}: {self.verdict}; {worst or 'no misfits'}>"

    def _repr_html_(self) -> str:
        rows = [
            (m.kind, m.group, f"{m.value:.3g}", f"{m.limit:g}", m.number or "", "" if m.passed else "over")
            for m in self.worst.values()
        ]
        lines = [*(f"missing in the run: {what}" for what in self.missing), *(f"note: {note}" for note in self.notes)]
        header = ("what", "group", "worst misfit", "limit", "receiver", "")
        return wording.html_table(self.title, rows, header) + wording.html_paragraphs(lines)

    @property
    def title(self) -> str:
        """Names of both runs, and the compared band if they were filtered."""
        return f"{self.run} against {self.reference}" + (f", {self.band.described()}" if self.band else "")

    @property
    def worst(self) -> dict[tuple[str, str], Misfit]:
        """Largest misfit of each (kind, group), in order of appearance."""
        found: dict[tuple[str, str], Misfit] = {}
        for misfit in self.misfits:
            key = (misfit.kind, misfit.group)
            if key not in found or not misfit.value <= found[key].value:
                found[key] = misfit
        return found

    @property
    def exit_code(self) -> int:
        """Exit code: 0 all within limits, 1 something over its limit or missing, 2 nothing to compare."""
        if not self.misfits and not self.missing:
            return 2
        return 0 if not self.missing and all(m.passed for m in self.misfits) else 1

    @property
    def verdict(self) -> str:
        """Verdict in words, as the exit code states it."""
        if self.exit_code == 2:
            return "nothing to compare"
        if not all(m.passed for m in self.misfits):
            return "over the limits"
        if not self.missing:
            return "within all limits"
        return (
            "within all limits, but some data are missing"
            if self.misfits
            else "nothing to compare: all data are missing"
        )

    @property
    def passed(self) -> bool:
        return self.exit_code == 0

    def as_dict(self) -> Settings:
        """Return plain values for JSON: the worst misfits and all that are over a limit; an infinite misfit becomes null."""

        def plain(m: Misfit) -> Settings:
            value = m.value if np.isfinite(m.value) else None
            return {"kind": m.kind, "number": m.number, "group": m.group, "value": value, "limit": m.limit}

        return {
            "run": str(self.run),
            "reference": str(self.reference),
            "passed": self.passed,
            "low_hz": self.band.low,
            "high_hz": self.band.high,
            "worst": [plain(m) for m in self.worst.values()],
            "over": [plain(m) for m in self.misfits if not m.passed],
            "missing": list(self.missing),
            "notes": list(self.notes),
        }


def compare(
    run: str | Path,
    reference: str | Path,
    limit: float = 0.05,
    *,
    limits: Mapping[str, float] | None = None,
    rupture_time: float = 0.012,
    until: float | str | None = None,
    prefixes: tuple[str | None, str | None] = (None, None),
    band: tuple[float | None, float | None] = (None, None),
) -> Comparison:
    """Compare the run in one folder with the reference in another.

    Each folder holds native HDF5 results or SeisSol's text files.

    Parameters
    ----------
    run, reference : path
        Folders of results.
    limit : float
        Largest misfit allowed for every group.
    limits : mapping of str to float, optional
        Limits of single groups by name ('slip rate', 'velocity', 'energy', ...), in place of ``limit``.
    rupture_time : float
        Largest difference of rupture times [s].
    until : float or str, optional
        Last time compared: seconds, or a text with a unit.
    prefixes : pair of str, optional
        Names of the run and of the reference, for folders that hold several.
    band : pair of float, optional
        Lower and upper corner [Hz] of the band in which the traces are compared, None for no corner.

    Returns
    -------
    Comparison
        Misfits of all traces, with the largest of each group.

    Raises
    ------
    InputError
        For folders without results, unknown names of groups, and bands that do not suit the traces.
    """
    requested = Band(*band)
    check_band(requested)
    chosen = _limits(limit, limits or {}, rupture_time)
    last = seconds(until, option("until"))
    a, b = load_results(run, prefixes[0]), load_results(reference, prefixes[1])
    whole = a, b
    if requested:
        a, b = filter_runs(a, b, requested)
    misfits, missing, notes = _compare_runs(a, b, chosen, last)
    notes += [*_estimated("the run", a), *_estimated("the reference", b)]
    over = [m for m in misfits if m.kind == "receiver" and m.group == "velocity" and not m.passed]
    if over and not requested:
        notes += _about_resolved(*whole, chosen, last)
    reported = tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(notes))
    return Comparison(Path(run), Path(reference), tuple(misfits), *reported, requested)


def _compare_runs(
    a: Results, b: Results, limits: dict[str, float], until: float | None
) -> tuple[list[Misfit], list[str], list[str]]:
    """Return the misfits of a run ``a`` from the reference ``b``, what is missing in the run, and notes."""
    misfits, missing, notes = list[Misfit](), list[str](), list[str]()
    for kind in KINDS:
        for number, trace in b.traces[kind].items():
            if number not in a.traces[kind]:
                missing.append(f"{kind} {number}")
                continue
            notes += _place(a.traces[kind][number], trace)
        both = [(a.traces[kind][n].time, t.time) for n, t in b.traces[kind].items() if n in a.traces[kind]]
        for times in both:
            _span(f"{kind}s", *times, until, notes, missing)
        misfits += _receivers(kind, a, b, limits, until)
    if b.energies is not None:
        if a.energies is None:
            missing.append("energies")
        else:
            _span("energies", a.energies["time"], b.energies["time"], until, notes, missing)
            misfits += _energies(a.energies, b.energies, limits["energy"], until)
    return misfits, missing, notes


def _about_resolved(a: Results, b: Results, limits: dict[str, float], until: float | None) -> list[str]:
    """Return a note on the velocity misfits below and above the frequency that both runs resolve, if both manifests state it."""
    resolved = common_resolved(a, b)
    part = None
    if resolved is not None:
        part = share_above(a.traces["receiver"], b.traces["receiver"], GROUPS["receiver"]["velocity"], resolved)
    if resolved is None or part is None:
        return []
    worst = []
    try:
        for band in (Band(high=resolved), Band(low=resolved)):
            found = _receivers("receiver", *filter_runs(a, b, band), limits, until)
            worst.append(max((m.value for m in found if m.group == "velocity"), default=0.0))
    except InputError:  # the records are too short, or hold no such frequencies
        return []
    below, above = worst
    text = (
        f"velocity of receivers: worst misfit {below:.4f} below {resolved:.3g} Hz, the lower of the two resolved frequencies, "
        f"and {above:.4f} above it; {100 * part:.0f} % of the squared difference lies above it"
    )
    if below <= limits["velocity"]:
        return [
            f"{text}: compare with --high {resolved:.3g}, or filter the sources of both with numerics.source_lowpass"
        ]
    return [text]


def _estimated(who: str, results: Results) -> list[str]:
    """Return a note on the estimated relative error of the seismograms, if one of them has an estimate."""
    known = [t.relative_error for t in results.traces["receiver"].values() if t.relative_error is not None]
    found = np.array([error for error in known if np.isfinite(error)])
    if not len(found):
        return []
    return [
        (
            f"estimated errors of receivers of {who} are {percent(np.median(found))} % (median; at most "
            f"{percent(found.max())} %)"
        )
    ]


def _limits(limit: float, given: Mapping[str, float], rupture_time: float) -> dict[str, float]:
    names = [group for groups in GROUPS.values() for group in groups] + ["energy"]
    for name in given:
        if name not in names:
            raise InputError(Problem("limits", f"'{name}' is not a group", ", ".join(names), suggest(name, names)))
    return {**dict.fromkeys(names, limit), **given, RUPTURE_TIME: rupture_time}


def _place(run: Trace, reference: Trace) -> list[str]:
    distance = float(np.linalg.norm(run.location - reference.location))
    if np.isfinite(distance) and distance > _SAME_PLACE:
        return [f"{run.kind} {run.number}: the two locations are {distance:.0f} m apart"]
    return []


def _span(
    what: str, run: np.ndarray, reference: np.ndarray, until: float | None, notes: list[str], missing: list[str]
) -> None:
    """Note which times are compared if the two series end apart, and record data that only the reference has as missing."""
    if not len(run) or not len(reference):
        notes.append(
            f"{what}: {'the run' if not len(run) else 'the reference'} has no samples, so no comparison is possible"
        )
        return
    ends = f"the run has {run[0]:g} to {run[-1]:g} s, the reference {reference[0]:g} to {reference[-1]:g} s"
    if not _shared(run, reference).any():
        notes.append(f"{what}: no times in common, so no comparison is possible: {ends}")
        return
    wanted, slack = np.inf if until is None else until, _slack(reference)
    mine, theirs = min(run[-1], wanted), min(reference[-1], wanted)
    if abs(mine - theirs) > slack:
        notes.append(f"{what} are compared until {min(mine, theirs):g} s: {ends}")
    if mine < theirs - slack:
        missing.append(f"{what} after {mine:g} s")


def _slack(time: np.ndarray) -> float:
    """Return the tolerance [s] within which two series are considered to end together."""
    return 1.5 * float(np.max(np.diff(time), initial=0.0))


def _shared(run: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return a mask of the reference's times that the run covers."""
    slack = _slack(time)
    return np.asarray((time >= run[0] - slack) & (time <= run[-1] + slack))


def _receivers(
    kind: Kind, run: Results, reference: Results, limits: dict[str, float], until: float | None
) -> list[Misfit]:
    traces = reference.traces[kind]
    floors = {
        group: _FLOOR**2 * max((_power(t, columns, until) for t in traces.values()), default=0.0)
        for group, columns in GROUPS[kind].items()
    }
    found = []
    for number, b in traces.items():
        a = run.traces[kind].get(number)
        if a is None:
            continue
        if "RT" in a.columns and "RT" in b.columns:
            found.append(Misfit(kind, number, RUPTURE_TIME, _rupture_time(a, b, until), limits[RUPTURE_TIME]))
        for group, columns in GROUPS[kind].items():
            value = _misfit(a, b, columns, floors[group], until)
            if value is not None:
                found.append(Misfit(kind, number, group, value, limits[group]))
    return found


def _integral(values: np.ndarray, time: np.ndarray) -> float:
    return float(np.sum(0.5 * (values[1:] + values[:-1]) * np.diff(time)))


def _judged(trace: Trace, until: float | None) -> np.ndarray:
    """Return a mask of the samples that are judged; t = 0 is left out because fault receivers of some versions lack it."""
    keep = np.ones(len(trace.time), dtype=bool)
    if len(trace.time) > 1:
        keep &= trace.time > 0
    return keep if until is None else keep & (trace.time <= until)


def _change(name: str, values: np.ndarray, start: float) -> np.ndarray:
    return values - start if name in _CHANGE else values


def _power(trace: Trace, columns: tuple[str, ...], until: float | None) -> float:
    keep = _judged(trace, until)
    if not keep.any():
        return 0.0
    series = [(name, trace.columns[name][keep]) for name in columns if name in trace.columns]
    return sum(_integral(_change(name, b, b[0]) ** 2, trace.time[keep]) for name, b in series)


def _misfit(run: Trace, reference: Trace, columns: tuple[str, ...], floor: float, until: float | None) -> float | None:
    """Return the misfit of a group; None if the reference lacks its columns or has only zeros, inf if the run lacks data."""
    names = [name for name in columns if name in reference.columns]
    keep = _judged(reference, until)
    if not any(np.any(reference.columns[name]) for name in names) or keep.sum() < 2:
        return None
    if not len(run.time) or any(name not in run.columns for name in names):
        return float("inf")
    keep &= _shared(run.time, reference.time)
    if keep.sum() < 2:
        return float("inf")
    time = reference.time[keep]
    difference = norm = 0.0
    for name in names:
        b = reference.columns[name][keep]
        a = np.interp(time, run.time, run.columns[name])
        if not np.all(np.isfinite(a)):
            return float("inf")
        difference += _integral((a - b) ** 2, time)
        norm += _integral(_change(name, b, b[0]) ** 2, time)
    norm = max(norm, floor)
    if norm > 0:
        return float(np.sqrt(difference / norm))
    return None


def _rupture_time(run: Trace, reference: Trace, until: float | None) -> float:
    """Return the difference of the rupture times [s]; inf if the point ruptured in only one run within the common time."""
    until = min(run.time[-1], reference.time[-1], np.inf if until is None else until) if len(run.time) else until

    def final(trace: Trace) -> float:
        series = trace.columns["RT"] if until is None else trace.columns["RT"][trace.time <= until]
        broke = float(series[-1]) if len(series) else 0.0
        return broke if until is None or broke <= until else 0.0

    a, b = final(run), final(reference)
    return abs(a - b) if (a > 0) == (b > 0) else float("inf")


def _energies(run: Dataset, reference: Dataset, limit: float, until: float | None) -> list[Misfit]:
    found = []
    for name in ENERGIES:
        if name not in reference:
            continue
        b, time = reference[name], reference["time"]
        keep = np.isfinite(b) & (b != 0)
        if until is not None:
            keep &= time <= until
        if keep.any():
            found.append(Misfit("energy", 0, name, _energy(run, name, time[keep], b[keep]), limit))
    return found


def _energy(run: Dataset, name: str, time: np.ndarray, b: np.ndarray) -> float:
    if name not in run or not len(run["time"]):
        return float("inf")
    keep = (time >= run["time"][0] - 1e-6) & (time <= run["time"][-1] + 1e-6)
    if not keep.any():
        return float("inf")
    time, b = time[keep], b[keep]
    near = np.argmin(np.abs(run["time"][:, None] - time), axis=0)
    same = np.abs(run["time"][near] - time) <= 1e-6
    a = np.where(same, run[name][near], np.interp(time, run["time"], run[name]))
    if not np.all(np.isfinite(a)):
        return float("inf")
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


_KIND_NAMES = {"receiver": "receivers", "faultreceiver": "fault receivers", "energy": "energies"}


def _misfit_text(misfit: Misfit, value: float) -> str:
    return f"{1e3 * value:.1f} ms" if misfit.group == RUPTURE_TIME else f"{value:.4f}"


def render_comparison(comparison: Comparison) -> RenderableType:
    """Return a table of the worst misfit of each group against its limit, missing data, notes and the verdict."""
    table = Table(title=comparison.title, title_justify="left")
    for column in ("what", "group"):
        table.add_column(column)
    for column in ("worst misfit", "limit", "receiver", "over"):
        table.add_column(column, justify="right")
    last = ""
    for (kind, group), misfit in comparison.worst.items():
        judged = [m for m in comparison.misfits if (m.kind, m.group) == (kind, group)]
        over = sum(not m.passed for m in judged)
        table.add_row(
            _KIND_NAMES[kind] if kind != last else "",
            group.replace("_", " "),
            Text(_misfit_text(misfit, misfit.value), style="green" if misfit.passed else "bold red"),
            _misfit_text(misfit, misfit.limit),
            str(misfit.number) if misfit.number else "",
            f"{over} of {len(judged)}" if over else "",
        )
        last = kind
    lines = [Text(f"missing in the run: {what}", style="bold red") for what in comparison.missing]
    lines += [Text(f"note: {note}", style="yellow") for note in comparison.notes]
    return Group(table, *lines, Text(comparison.verdict, style="bold green" if comparison.passed else "bold red"))
