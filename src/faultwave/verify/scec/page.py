"""Documentation page that shows every benchmark with a picture, figures, checks and the difference of its two resolutions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from faultwave.base.formulas import magnitude
from faultwave.base.version import __version__
from faultwave.output.atomic import atomic_path, atomic_text
from faultwave.output.results import load_results
from faultwave.verify.case import Row
from faultwave.verify.scec import measure, on_grid
from faultwave.verify.scec.benchmark import Benchmark, benchmarks, find
from faultwave.verify.scec.folder import COST, PREFIX, RESULTS
from faultwave.verify.scec.summary import FULL, PICTURE, Summary, folder_of, read_summaries


@dataclass(frozen=True)
class Apart:
    """Difference between a quick and a full run.

    Attributes
    ----------
    difference : float
        RMS difference of rupture times over the first fault, where both runs ruptured [s].
    mean : float
        Mean rupture time of the full run there [s].
    moment : float
        Seismic moment of the quick run over the moment of the full one, less 1, at ``time``.
    time : float
        End of the shorter run [s].
    """

    difference: float
    mean: float
    moment: float
    time: float


Kept = tuple[Path, Summary]
"""Folder of a benchmark run and its summary."""


def apart(quick: Kept, full: Kept) -> Apart | None:
    """Return the difference of both runs; None if the files of one are missing or it has not ended."""
    places = [folder / f"{summary.sizes[0]:.0f}m" for folder, summary in (quick, full)]
    if not all((place / COST).is_file() for place in places):
        return None
    benchmark, summary = find(quick[1].name), quick[1]
    read = on_grid.read_ruptures if summary.engine == "fd" else measure.read_ruptures
    coarse, fine = (next(iter(read(benchmark, place).values())) for place in places)
    difference, mean = measure.differences(coarse, fine, summary.sizes[0])
    until = min(summary.end_time, full[1].end_time)
    moments = [_moment(place, until) for place in places]
    return Apart(difference, mean, moments[0] / moments[1] - 1, until)


def _moment(place: Path, time: float) -> float:
    energies = load_results(place / RESULTS, PREFIX).energies
    assert energies is not None
    return float(np.interp(time, energies["time"], energies["seismic_moment"]))


IMAGES = "images"
WIDTH, COLOURS = 900, 192
"""Width [pixels] and number of colours of pictures on the page."""

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


def write(page: Path, folder: Path) -> list[Path]:
    """Write all results in ``folder`` between the marked lines of the page, and pictures next to it; return the files written.

    Entries on the page that have no result in ``folder`` remain.
    """
    retained = read_summaries(folder)
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    body, marked, after = rest.partition(END)
    after = after if marked else "\n"
    shown = {**_shown(body), **_written(retained)}
    images = page.parent / IMAGES
    images.mkdir(exist_ok=True)
    written = [page]
    for place, summary in retained.values():
        subject = folder_of(summary.name, summary.engine, True)
        if not summary.quick or subject + FULL not in shown:
            written.append(_picture(place / PICTURE, images / f"scec-{subject}.png"))
    with atomic_text(page) as file:
        file.write(f"{before}{BEGIN}\n{_body(shown)}{END}{after}")
    return written


def _picture(drawn: Path, target: Path) -> Path:
    """Write a copy of the page's width with few colours, a third of the size in bytes, and return its path."""
    with Image.open(drawn) as image:
        height = round(image.height * WIDTH / image.width)
        small = (
            image.convert("RGB")
            .resize((WIDTH, height), Image.Resampling.LANCZOS)
            .quantize(COLOURS, Image.Quantize.FASTOCTREE)
        )
    with atomic_path(target) as temporary:
        small.save(temporary, format="png", optimize=True)
    return target


Shown = dict[str, tuple[str, str]]
"""Table row and text of each run, by the name of its folder.

The difference between two runs of a benchmark is part of the text of the full one.
"""

RUNS = {True: "Quick", False: "Full"}


def _written(stored: dict[str, Kept]) -> Shown:
    found = {}
    for name, (place, summary) in stored.items():
        quick = stored.get(folder_of(summary.name, summary.engine, True))
        differ = apart(quick, (place, summary)) if quick and not summary.quick else None
        found[name] = _table_row(summary), "\n".join(_text(summary, differ))
    return found


def _shown(body: str) -> Shown:
    """Parse the rows and texts between the marked lines."""
    table, *sections = re.split(r"^(?=## )", body, flags=re.MULTILINE)
    found = re.findall(r"^(\| \[[^]]*\]\(#([^)]*)\) \| (quick|full) \|.*)$", table, flags=re.MULTILINE)
    rows = {name + FULL * (run == "full"): row for row, name, run in found}
    named = {}
    for section in sections:
        head, *texts = re.split(rf"^(?=\*\*(?:{'|'.join(RUNS.values())})\.\*\*)", section, flags=re.MULTILINE)
        if match := re.match(r"## .*\{ #(\S+) \}", head):
            named.update(
                {match[1] + FULL * text.startswith(f"**{RUNS[False]}"): text.rstrip() + "\n" for text in texts}
            )
    return {name: (rows[name], text) for name, text in named.items() if name in rows}


def _body(shown: Shown) -> str:
    subjects = [(name, engine) for name in benchmarks() for engine in ("dg", "fd")]
    table = _table_head()
    sections: list[str] = []
    for name, engine in subjects:
        runs = [shown[run] for quick in (True, False) if (run := folder_of(name, engine, quick)) in shown]
        table += [row for row, _ in runs]
        if runs:
            sections += [*_head(find(name), engine), *[text for _, text in runs]]
    return "\n".join([*table, "", *_missing(shown), *sections]) + "\n"


def _missing(shown: Shown) -> list[str]:
    """Return lines that list the benchmarks without a run at either resolution."""
    reported = []
    for quick, words in ((True, "Built in and not run quickly"), (False, "Not run at full resolution")):
        wanted = [(b.name, engine) for b in benchmarks().values() for engine in ("dg", "fd")[: 2 if b.grid else 1]]
        names = [_called(*which) for which in wanted if folder_of(*which, quick) not in shown]
        reported += [f"{words} for this page: {', '.join(names)}.", ""] if names else []
    return reported


def _table_head() -> list[str]:
    return [
        f"Faultwave {__version__}, core seconds on one core without making the mesh.",
        "",
        "| benchmark | run | edge or spacing [m], order | until [s] | cells or points | core s | moment [N m] | Mw | radiated [J] "
        "| mean slip [m] | ruptured | two resolutions [ms] | checks |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]


def _table_row(s: Summary) -> str:
    good = sum(row.ok for row in s.rows)
    verdict = f"{good} of {len(s.rows)}" if not s.passed else f"all {len(s.rows)}"
    return (
        f"| [{_called(s.name, s.engine)}](#{folder_of(s.name, s.engine, True)}) | {RUNS[s.quick].lower()} | {s.sizes[0]:g}, {s.order} "
        f"| {s.end_time:g} | {s.cells:,} "
        f"| {s.core_seconds[0]:.0f} | {s.moments[0]:.3g} | {magnitude(s.moments[0]):.2f} | {s.radiated:.3g} "
        f"| {s.mean_slip:.2f} | {100 * s.ruptured:.0f} % | {1e3 * s.difference:.0f} | {verdict} |"
    )


def _called(name: str, engine: str) -> str:
    return name.upper() + " on a grid" * (engine == "fd")


def _head(benchmark: Benchmark, engine: str) -> list[str]:
    """Return the head of a benchmark's section: its description and the picture of the finer run."""
    subject, title = folder_of(benchmark.name, engine, True), f"{_called(benchmark.name, engine)}: {benchmark.title}"
    return [
        f"## {title} {{ #{subject} }}",
        "",
        *([f"Described by {benchmark.source}.", ""] if benchmark.source else []),
        *[f"{note}\n" for note in benchmark.notes],
        f"![{title}]({IMAGES}/scec-{subject}.png)",
        "",
    ]


def _text(summary: Summary, differ: Apart | None) -> list[str]:
    cells, edges = ("points", "a spacing") if summary.engine == "fd" else ("cells", "edges")
    precision = f", {summary.precision} precision" if summary.precision else ""
    meshes = f" Making both meshes took {summary.mesh_seconds:.0f} s." if summary.mesh_seconds > 0 else ""
    return [
        f"**{RUNS[summary.quick]}.** {summary.end_time:g} s of simulated time, {summary.cells:,} {cells}{precision}, "
        f"{summary.core_seconds[0]:.0f} core seconds; the run that is compared with, {edges} of {summary.sizes[1]:g} m, took "
        f"{summary.core_seconds[1]:.0f} and has a moment of {summary.moments[1]:.4g} against {summary.moments[0]:.4g} N m.{meshes}",
        "",
        *([_in_words(differ), ""] if differ else []),
        *_stations(summary, find(summary.name)),
        "| check | measured | limit | |",
        "| --- | ---: | ---: | --- |",
        *[_row(row) for row in summary.rows],
        "",
    ]


def _in_words(differ: Apart) -> str:
    return (
        f"Quick and full: rupture times differ by {1e3 * differ.difference:.0f} ms RMS where both have ruptured, "
        f"{100 * differ.difference / differ.mean:.2g} % of their mean; at {differ.time:g} s the quick run's moment is "
        f"{100 * abs(differ.moment):.2g} % {'larger' if differ.moment > 0 else 'smaller'}."
    )


def _stations(summary: Summary, benchmark: Benchmark) -> list[str]:
    several = len(benchmark.faults) > 1
    texts = []
    for name, s, d, time in summary.stations:
        place = f"({s / 1e3:g}, {d / 1e3:g})" + (f" on {name}" if several else "")
        texts.append(f"{place} {time:.3f}" if np.isfinite(time) else f"{place} never")
    return [f"Rupture times [s] at (along strike, down dip) in km: {'; '.join(texts)}.", ""] if texts else []


def _row(row: Row) -> str:
    limit = "" if row.limit is None else f"{row.limit:.4g}"
    return f"| {row.quantity.replace('|', chr(92) + '|')} | {row.measured:.4g} | {limit} | {'ok' if row.ok else '**failed**'} |"
