"""Location of decks of other codes with their meshes and results, which are not part of the package."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "FAULTWAVE_CASES"


def cases_folder() -> Path | None:
    """Return the folder of the decks; None if it does not exist."""
    named = os.environ.get(VARIABLE)
    checkout = Path(__file__).resolve().parents[3]
    candidates = [Path(named)] if named else [checkout.parent / "shared" / "cases", Path("../shared/cases")]
    return next((path.resolve() for path in candidates if path.is_dir()), None)
