"""No module imports itself through others: imports for types only and imports inside functions count too."""

from __future__ import annotations

import ast
from collections import deque
from pathlib import Path

from tests.project.imports import import_statements

ROOT = Path(__file__).resolve().parents[2]

Imports = dict[str, dict[str, int]]
"""Module -> modules it imports, with the line where it does."""


def imports_of(source: Path, package: str) -> Imports:
    """All imports between the modules of ``package``, which lies in the folder ``source``."""
    files = {name_of(path, source): path for path in sorted((source / package).rglob("*.py"))}
    found: Imports = {}
    for module, path in files.items():
        lines: dict[str, int] = {}
        for node in import_statements(path):
            for name in imported(node, module, path.name == "__init__.py", files):
                if name != module:
                    lines[name] = min(node.lineno, lines.get(name, node.lineno))
        found[module] = lines
    return found


def name_of(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(node: ast.AST, module: str, is_package: bool, modules: dict[str, Path]) -> list[str]:
    """The modules that a statement imports."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        here = module.split(".") if is_package else module.split(".")[:-1]
        above = here[: len(here) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        inside = [f"{base}.{alias.name}" for alias in node.names]
        names = [name if name in modules else base for name in inside]
    else:
        return []
    return [name for name in names if name in modules]


def groups(graph: Imports) -> list[list[str]]:
    """Sets of modules that all reach each other, of two and more (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    found: list[list[str]] = []

    def close(top: str) -> None:
        group = []
        while not group or group[-1] != top:
            group.append(open_.pop())
        if len(group) > 1:
            found.append(sorted(group))

    for start in graph:
        if start in number:
            continue
        path = [(start, iter(graph[start]))]
        number[start] = low[start] = len(number)
        open_.append(start)
        while path:
            module, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[module])
                if low[module] == number[module]:
                    close(module)
            elif following not in number:
                number[following] = low[following] = len(number)
                open_.append(following)
                path.append((following, iter(graph[following])))
            elif following in open_:
                low[module] = min(low[module], number[following])
    return sorted(found)


def shortest(graph: Imports, group: list[str]) -> list[str]:
    """Modules of a shortest cycle within a group; the first stands at the end again."""
    cycles = []
    for start in group:
        before: dict[str, str] = {}
        waiting = deque([start])
        while waiting and start not in before:
            module = waiting.popleft()
            for name in graph[module]:
                if name in group and name not in before:
                    before[name] = module
                    waiting.append(name)
        cycle = [start]
        while len(cycle) == 1 or cycle[-1] != start:
            cycle.append(before[cycle[-1]])
        cycles.append(cycle[::-1])
    return min(cycles, key=len)


def told(graph: Imports, group: list[str]) -> str:
    cycle = shortest(graph, group)
    steps = [f"  {a}:{graph[a][b]} imports {b}" for a, b in zip(cycle, cycle[1:], strict=False)]
    return "\n".join([f"{len(group)} modules import each other: {', '.join(group)}", "a shortest cycle:", *steps])


def test_no_module_imports_itself_through_others():
    graph = imports_of(ROOT / "src", "faultwave")
    found = groups(graph)
    assert not found, "\n".join(told(graph, group) for group in found)


def test_cycles_are_found_wherever_the_import_stands(tmp_path):
    files = {
        "__init__": "",
        "a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.b import B\n",
        "b": "def f():\n    from .inner import c\n    import os\n",
        "inner/__init__": "",
        "inner/c": "from .. import a\nfrom p.inner import d\n",
        "inner/d": "import p.e\n",
        "e": "import json\n",
    }
    for name, text in files.items():
        path = tmp_path / "p" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    graph = imports_of(tmp_path, "p")
    assert groups(graph) == [["p.a", "p.b", "p.inner.c"]]
    lines = told(graph, groups(graph)[0]).splitlines()
    assert lines[2:] == ["  p.a:3 imports p.b", "  p.b:2 imports p.inner.c", "  p.inner.c:1 imports p.a"]
