"""mkdocs hook: fills the parts of the documentation that are declared in the code, so that they cannot go stale."""

from __future__ import annotations

import ast
import json
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the generated parts of a page; mkdocs calls this function with the text of each page."""
    for name, make in GENERATORS.items():
        marker = f"<!-- {name} -->"
        if marker in markdown:
            markdown = markdown.replace(marker, make())
    return markdown


def settings() -> str:
    """Every setting, from its declaration."""
    from faultwave.case.describe import settings_markdown

    return settings_markdown()


def study() -> str:
    """Return every setting of a study, from its declaration."""
    from faultwave.ensemble.study import study_markdown

    return study_markdown()


def campaign() -> str:
    """Return every setting of a campaign, from its declaration."""
    from faultwave.campaign.settings import campaign_markdown

    return campaign_markdown()


def inversion() -> str:
    """Return every setting of an inversion, from its declaration."""
    from faultwave.inversion.settings import inversion_markdown

    return inversion_markdown()


def commands() -> str:
    """Return the help of every command."""
    from typer.main import get_command

    from faultwave.cli.main import app

    return "\n".join(_command(get_command(app), ["faultwave"]))


def _command(command: Any, path: list[str]) -> Iterator[str]:
    depth = min(len(path), 3) + 1
    yield f"{'#' * depth} `{' '.join(path)}`\n\n{command.help or ''}\n"
    if command.epilog:
        yield f"```bash\n{command.epilog.removeprefix('Example: ')}\n```\n"
    named = [
        p for p in command.params if p.name != "help" and (p.param_type_name == "option" or getattr(p, "help", ""))
    ]
    if named and not getattr(command, "commands", None):
        yield "| argument | |\n|---|---|"
        for parameter in named:
            yield f"| `{_label(parameter)}` | {getattr(parameter, 'help', '')}{_default(parameter)} |"
        yield ""
    for name, child in sorted(getattr(command, "commands", {}).items()):
        yield from _command(child, [*path, name])


def _label(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return ", ".join(parameter.opts)


def _default(parameter: Any) -> str:
    value = parameter.default
    plain = isinstance(value, str | int | float | Path) and not isinstance(value, bool)
    return f" Default: `{value}`." if plain else ""


def laws() -> str:
    """Wave laws and friction laws with their parameters."""
    from faultwave.cli.lists import law_tables

    parts = []
    for title, header, rows in law_tables():
        parts.append(f"## {title}\n")
        parts.append("| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|")
        parts.extend(
            "| " + " | ".join(str(v).replace("|", "\\|").replace("\n", "<br>") for v in row) + " |" for row in rows
        )
        parts.append("")
    return "\n".join(parts)


def api() -> str:
    """Functions and classes for Python."""
    made: str = runpy.run_path(str(ROOT / "tools" / "api_reference.py"))["markdown"]()
    return made


def costs() -> str:
    """Every example with its size, its work and its files."""
    from faultwave.case.load import examples

    counted = json.loads((ROOT / "docs" / "example-costs.json").read_text(encoding="utf-8"))
    rows = ["| example | engine | cells or points | updates until the end | files |", "|---|---|---|---|---|"]
    for folder in sorted(f for f in (ROOT / "examples").iterdir() if f.is_dir()):
        told = counted.get(folder.name)
        engine = "script" if told is None else told["engine"] + (f", order {told['order']}" if "order" in told else "")
        size, work = ("", "") if told is None else (f"{told['size']:,.0f}", f"{told['updates']:,.3g}")
        files = sorted(f.name for f in folder.iterdir() if f.suffix not in (".png", ".md") and f.is_file())
        built_in = [f"`faultwave run {folder.name}`"] if folder.name in examples() else []
        rows.append(f"| `examples/{folder.name}` | {engine} | {size} | {work} | {', '.join([*built_in, *files])} |")
    return "\n".join(rows)


def files() -> str:
    """Every Python file of the package with the first sentence of its text, by folder."""
    package, parts = ROOT / "src" / "faultwave", list[str]()
    for folder in sorted({path.parent for path in package.rglob("*.py")}):
        parts.append(f"## `{folder.relative_to(package.parent)}`\n\n| file | |\n|---|---|")
        for path in sorted(folder.glob("*.py")):
            said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z`])|\n\n", said)[0]
            parts.append(f"| `{path.name}` | {' '.join(sentence.split()).replace('|', chr(92) + '|')} |")
        parts.append("")
    return "\n".join(parts)


GENERATORS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "study": study,
    "campaign": campaign,
    "inversion": inversion,
    "commands": commands,
    "laws": laws,
    "api": api,
    "costs": costs,
    "files": files,
}
