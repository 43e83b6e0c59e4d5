"""Page of a report: one HTML file that contains data, scripts and style of its figures, and fetches nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.base.wording import printable
from faultwave.report.blocks import Block, Browser, Figure, Picture, Section, Table, Text


def render(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """Return the whole page."""
    title, subtitle = printable(title), printable(subtitle)
    parts = [section_html(number, section) for number, section in enumerate(sections)]
    contents = "".join(f'<li><a href="#part{i}">{escape(s.title)}</a></li>' for i, s in enumerate(sections))
    page = "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{_shipped("report.css")}</style></head><body>',
            '<a class="skip" href="#part0">Skip to the summary</a>',
            f"<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></header>",
            f'<nav aria-label="Contents"><ul>{contents}</ul></nav><main>',
            *parts,
            "</main><noscript><p>The figures of this page need JavaScript; tables and texts do not.</p></noscript>",
            f"<script>{_plotly()}</script>\n<script>{_shipped('report.js')}</script></body></html>",
        ]
    )
    return page.encode("utf-8", "replace").decode()  # lone surrogates, from a damaged file, cannot be encoded


def section_html(number: int, section: Section) -> str:
    """Return the HTML of a section, whose number determines the ids of its elements."""
    blocks = [_block(f"part{number}-{i}", block) for i, block in enumerate(section.blocks)]
    heading = f'<h2 id="part{number}-title">{escape(section.title)}</h2>'
    return f'<section id="part{number}" aria-labelledby="part{number}-title">{heading}{"".join(blocks)}</section>'


def _block(key: str, block: Block) -> str:
    match block:
        case Figure():
            content = {"data": list(block.data), "layout": dict(block.layout)}
            return _drawn(key, "plot", block.title, block.description, content, f' style="height:{block.height}px"')
        case Browser():
            content = {
                "stations": list(block.stations), "quantities": dict(block.quantities), "runs": list(block.runs), "title": block.title,
            }  # fmt: skip
            return _drawn(key, "browser", block.title, block.description, content)
        case Table():
            return _table(block)
        case Picture():
            data = base64.b64encode(block.content).decode("ascii")
            image = f'<img alt="{escape(block.title)}" src="data:image/png;base64,{data}">'
            return f"<figure>{image}<figcaption>{escape(block.title)}</figcaption></figure>"
        case Text(verbatim=True):
            return f'<pre tabindex="0">{escape(block.text)}</pre>'
    return f"<p>{escape(block.text)}</p>"


def _drawn(key: str, kind: str, title: str, description: str, content: object, style: str = "") -> str:
    """Return a figure that the script draws from data in an adjacent element."""
    # '<' is escaped so that no text of a case can end the script element
    data = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        f'<figure><figcaption id="{key}-title">{escape(title)}</figcaption>'
        f'<div class="{kind}" id="{key}" role="group" aria-labelledby="{key}-title" aria-describedby="{key}-description"{style}></div>'
        f'<p class="description" id="{key}-description">{escape(description)}</p>'
        f'<script type="application/json" id="{key}-data">{data}</script></figure>'
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = []
    for first, *rest in table.rows:
        cells = "".join(f"<td>{escape(value)}</td>" for value in rest)
        rows.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
    head = f"<thead><tr>{head}</tr></thead>" if table.header else ""
    return f'<div class="table"><table><caption>{escape(table.title)}</caption>{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _shipped(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _plotly() -> str:
    """Return plotly.js from the package plotly (MIT licence)."""
    try:
        script = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")
    except (ModuleNotFoundError, OSError) as error:
        raise InputError(
            Problem("faultwave report", "needs the package plotly", advice="pip install plotly")
        ) from error
    return script.replace("</script", "<\\/script")


def write(path: Path, text: str) -> Path:
    """Write the page to a file atomically."""
    from faultwave.output.atomic import atomic_text, translate_os_errors

    with translate_os_errors(path), atomic_text(path) as file:
        file.write(text)
    return path
