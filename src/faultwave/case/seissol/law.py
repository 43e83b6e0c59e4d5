"""Wave law of a SeisSol deck.

SeisSol is compiled for one law, so decks do not state it; the material file reveals it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from faultwave.base.files.paths import is_file

MARKER_PARAMETERS = {"anisotropic": "c11", "poroelastic": "bulk_solid"}
"""Parameter that only the material files of a law contain."""


def law_of(material: str, folders: Sequence[Path]) -> str | None:
    """Return the law whose parameters appear in a material file or in the easi files that it includes.

    A bulk modulus ``lambda`` without ``mu`` indicates a fluid. None stands for the law of all other decks.
    """
    todo, seen, text = [material], set(), ""
    while todo:
        name = todo.pop()
        path = next((folder / name for folder in folders if is_file(folder / name)), None)
        if path is None or path in seen:
            continue
        seen.add(path)
        content = path.read_text(encoding="utf-8", errors="replace")
        text += re.sub(r"#.*", "", content)
        todo += re.findall(r"!Include\s+[\"']?([^\s\"']+)", content)
    named = {name for name in (*MARKER_PARAMETERS.values(), "lambda", "mu") if re.search(rf"\b{name}\b", text)}
    found = next((law for law, name in MARKER_PARAMETERS.items() if name in named), None)
    return "acoustic" if found is None and "lambda" in named and "mu" not in named else found
