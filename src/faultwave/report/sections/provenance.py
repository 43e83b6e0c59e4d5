"""Section on the provenance of the results: program, machine, inputs with their digests, and the case as it was run."""

from __future__ import annotations

import io
from collections.abc import Iterator

from ruamel.yaml import YAML

from faultwave.report.blocks import Block, Section, Table, Text
from faultwave.report.loaded import Run

ORDER = 90


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections on the origin of the results."""
    blocks: list[Block] = []
    for r in (run, other):
        if r is not None and r.manifest:
            blocks += _of(r)
    yield Section("Provenance", blocks)


def _of(run: Run) -> Iterator[Block]:
    m = run.manifest
    rows: list[tuple[str, str]] = [(name, str(m[name])) for name in ("started", "written") if name in m]
    rows += [("command", " ".join(map(str, m.get("command", []))))]
    rows += [(name, str(value)) for name, value in {**m.get("versions", {}), **m.get("machine", {})}.items()]
    yield Table(f"{run.name}: program and machine", ("", ""), rows)
    inputs = [
        (path, f"{known.get('bytes', 0):,}", str(known.get("sha256", "")))
        for path, known in m.get("inputs", {}).items()
    ]
    if inputs:
        yield Table(f"{run.name}: input files", ("file", "bytes", "SHA-256"), inputs)
    yield Text(f"The case {run.name}, with every default:")
    yield Text(_yaml(_without_nothing(run.case)), verbatim=True)


def _without_nothing(value: object) -> object:
    """Return settings without those that are None or empty."""
    if isinstance(value, dict):
        return {k: _without_nothing(v) for k, v in value.items() if v is not None and v != [] and v != {}}
    return [_without_nothing(v) for v in value] if isinstance(value, list) else value


def _yaml(value: object) -> str:
    text = io.StringIO()
    writer = YAML()
    writer.default_flow_style = None
    writer.dump(value, text)
    return text.getvalue()
