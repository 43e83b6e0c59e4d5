"""Dynamic rupture decks against the reference code's results (docs/theory/exact-solutions.md, "Rupture").

The decks with their meshes and reference results are not part of the package. They are looked for in the folder named by
the environment variable FAULTWAVE_CASES, else in ../shared/cases next to a checkout or the working directory;
if a deck is absent its case is skipped with a message. Two references exist, made by different versions, which differ
by up to 7 %, hence the wider limit against the older.
"""

from __future__ import annotations

import tempfile
from functools import partial

from faultwave.run import simulate
from faultwave.verify.case import VARIABLE, Progress, Result, Row, VerificationCase, at_most, cases_folder
from faultwave.verify.compare import RUPTURE_TIME, Comparison, compare

ORDER = 6
NEW_LIMITS = {"slip rate": 0.04, "peak slip rate": 0.04, "traction": 0.04}


def _rows(comparison: Comparison, label: str) -> list[Row]:
    rows = []
    for (kind, group), misfit in comparison.worst.items():
        unit = " [s]" if group == RUPTURE_TIME else ""
        rows.append(at_most(f"{label}: {kind} {group}{unit}", misfit.value, misfit.limit))
    rows += [Row(f"{label}: {what} is missing", float("nan"), None, None, False) for what in comparison.missing]
    return rows


def run_deck(progress: Progress, name: str, order: int = ORDER) -> Result:
    """Run the deck in double precision and compare it with both references, where they are present."""
    folder = cases_folder()
    deck = None if folder is None else folder / name / "parameters.par"
    if deck is None or not deck.is_file():
        return Result((), skipped=f"no deck '{name}': set {VARIABLE} to the folder of the reference cases")
    rows: list[Row] = []
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="faultwave-verify-") as scratch:
        progress(f"{deck}, order {order}")
        sim = simulate(deck, order=order, precision="double", output=scratch, force=True)
        sim.run(lambda state: progress(f"t = {state.time:.3f} s of {state.end_time:g} s"))
        for label, limit, limits, rupture_time in (
            ("reference-head", 0.02, NEW_LIMITS, 0.006),
            ("reference", 0.08, {}, 0.012),
        ):
            if (deck.parent / label).is_dir():
                found = compare(scratch, deck.parent / label, limit, limits=limits, rupture_time=rupture_time)
                rows += _rows(found, label)
                notes += found.notes
            else:
                notes.append(f"{deck.parent / label} is absent")
    return Result(tuple(rows), tuple(dict.fromkeys(notes)))


def _case(name: str, title: str, minutes: float) -> VerificationCase:
    return VerificationCase(name, title, partial(run_deck, name=name), minutes)


TPV5 = _case("tpv5", "slip weakening, square nucleation patch, against reference results", 4.0)
TPV5_NUC = _case("tpv5-nuc", "slip weakening with smooth nucleation, against reference results", 4.0)
TPV101 = _case("tpv101", "rate and state friction (ageing law), against reference results", 5.0)
TPVYOFFE = _case("tpvyoffe", "imposed slip rate on a real fault, against reference results", 30.0)
