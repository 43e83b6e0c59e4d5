"""The page of the documentation that shows every benchmark: a picture, figures, checks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from faultwave.base.magnitude import magnitude
from faultwave.base.version import __version__
from faultwave.output.atomic import atomic_path, atomic_text
from faultwave.verify.case import Row
from faultwave.verify.scec.benchmark import Benchmark, benchmarks, find
from faultwave.verify.scec.drive import ON_GRID, PICTURE, Summary, read_summaries

IMAGES = "images"
WIDTH, COLOURS = 900, 192
"""Of pictures on the page: pixels, colours."""

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


def write(page: Path, folder: Path) -> list[Path]:
    """Put every result kept in ``folder`` between the marked lines of the page, pictures beside it; the files written. What the page
    shows of benchmarks without a result in ``folder`` stays."""
    summaries = read_summaries(folder)
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    shown, marked, after = rest.partition(END)
    after = after if marked else "\n"
    images = page.parent / IMAGES
    images.mkdir(exist_ok=True)
    written = [page]
    for summary in summaries:
        written.append(_picture(folder / summary.folder / PICTURE, images / f"scec-{summary.folder}.png"))
    with atomic_text(page) as file:
        file.write(f"{before}{BEGIN}\n{_body({**_shown(shown), **_written(summaries)})}{END}{after}")
    return written


def _picture(drawn: Path, target: Path) -> Path:
    """A copy as wide as a page, in few colours: a third of the bytes."""
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
"""Row of the table and section of each benchmark, by the name of its folder."""


def _written(summaries: Sequence[Summary]) -> Shown:
    return {s.folder: (_table_row(s), "\n".join(_section(s))) for s in summaries}


def _shown(body: str) -> Shown:
    """What stands between the marked lines."""
    table, *sections = re.split(r"^(?=## )", body, flags=re.MULTILINE)
    rows = {name: row for row, name in re.findall(r"^(\| \[[^]]*\]\(#([^)]*)\).*)$", table, flags=re.MULTILINE)}
    named = {m[1]: text.rstrip("\n") + "\n" for text in sections if (m := re.match(r"## .*\{ #(\S+) \}", text))}
    return {name: (rows[name], text) for name, text in named.items() if name in rows}


def _body(shown: Shown) -> str:
    known = [n for name in benchmarks() for n in (name, name + ON_GRID) if n in shown]
    missing = [name.upper() for name in benchmarks() if name not in shown]
    told = [f"Built in and not run for this page: {', '.join(missing)}.", ""] if missing else []
    table = [*_table_head(), *[shown[name][0] for name in known]]
    return "\n".join([*table, "", *told, *[shown[name][1] for name in known]]) + "\n"


def _table_head() -> list[str]:
    return [
        f"Faultwave {__version__}, core seconds on one core without making the mesh.",
        "",
        "| benchmark | what it is | edge or spacing [m], order | cells or points | core s | moment [N m] | Mw | radiated [J] "
        "| mean slip [m] | ruptured | two resolutions [ms] | checks |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]


def _table_row(s: Summary) -> str:
    good = sum(row.ok for row in s.rows)
    verdict = f"{good} of {len(s.rows)}" if not s.passed else f"all {len(s.rows)}"
    return (
        f"| [{_called(s)}](#{s.folder}) | {find(s.name).title} | {s.sizes[0]:g}, {s.order} | {s.cells:,} "
        f"| {s.core_seconds[0]:.0f} | {s.moments[0]:.3g} | {magnitude(s.moments[0]):.2f} | {s.radiated:.3g} "
        f"| {s.mean_slip:.2f} | {100 * s.ruptured:.0f} % | {1e3 * s.difference:.0f} | {verdict} |"
    )


def _called(summary: Summary) -> str:
    return summary.name.upper() + " on a grid" * (summary.engine == "fd")


def _section(summary: Summary) -> list[str]:
    benchmark, cells, edges = find(summary.name), "cells", "edges"
    title = f"{_called(summary)}: {benchmark.title}"
    if summary.engine == "fd":
        cells, edges = "points", "a spacing"
    return [
        f"## {title} {{ #{summary.folder} }}",
        "",
        *([f"Described by {benchmark.source}.", ""] if benchmark.source else []),
        *[f"{note}\n" for note in benchmark.notes],
        f"![{title}]({IMAGES}/scec-{summary.folder}.png)",
        "",
        f"{summary.end_time:g} s of simulated time, {summary.cells:,} {cells}, {summary.core_seconds[0]:.0f} core seconds; the run that "
        f"is compared with, {edges} of {summary.sizes[1]:g} m, took {summary.core_seconds[1]:.0f} and has a moment of "
        f"{summary.moments[1]:.4g} against {summary.moments[0]:.4g} N m.",
        "",
        *_stations(summary, benchmark),
        "| check | measured | limit | |",
        "| --- | ---: | ---: | --- |",
        *[_row(row) for row in summary.rows],
        "",
    ]


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
