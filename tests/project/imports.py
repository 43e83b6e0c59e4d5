"""Import statements of source files, read once."""

from __future__ import annotations

import ast
import functools
from pathlib import Path


@functools.cache
def import_statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Every import of a file, also of those inside functions and for types only."""
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
