"""All pictures of a run, from its folder: those of every module of this package with a function ``pictures``.

Modules of other packages register by the entry point group ``faultwave.plot``.
"""

from __future__ import annotations

from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.base.registry import modules
from faultwave.output.atomic import explaining
from faultwave.output.results import load_results


def plot_run(folder: str | Path, out: str | Path | None = None, *, prefix: str | None = None) -> list[Path]:
    """Draw what the files of a run hold and return the pictures (PNG) written, into its folder unless ``out`` is given.

    Each ``pictures(results, stem)`` gives files that begin with ``stem``. Raises InputError for a folder without anything to draw.
    """
    results = load_results(folder, prefix)
    target = Path(out) if out is not None else results.folder
    with explaining(target):
        target.mkdir(parents=True, exist_ok=True)
    stem = str(target / results.prefix)
    found = [getattr(module, "pictures", None) for module in modules("faultwave.plot", "faultwave.plot")]
    written = [path for draw in found if draw is not None for path in draw(results, stem) if path is not None]
    if not written:
        raise InputError(Problem(str(results.folder), f"the run '{results.prefix}' left nothing to draw"))
    return written
