"""Slip histories of a fault: PREFIX-slip.h5, from which finite sources are converted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.hdf5 import check_size_of_dataset, opened
from faultwave.observe.dataset import Result
from faultwave.observe.finite_source import KIND, SlipHistories
from faultwave.output.field_files.hdf5 import atomic_hdf5
from faultwave.output.formats import Writer

WHAT = "file of slip histories"


def histories_path(folder: Path, prefix: str) -> Path:
    """Return the path of the slip histories of a run."""
    return folder / f"{prefix}-slip.h5"


def _write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    paths = []
    for result in results:
        path = histories_path(folder, prefix)
        with atomic_hdf5(path) as file:
            for name, variable in result.data.variables.items():
                packed = {"compression": "gzip", "shuffle": True} if name == "slip" and variable.data.size else {}
                item = file.create_dataset(name, data=variable.data, **packed)
                item.attrs["dims"] = list(variable.dims)
                item.attrs["unit"], item.attrs["description"] = variable.unit, variable.description
        paths.append(path)
    return paths


def read_histories(path: Path) -> SlipHistories:
    """Read a file of slip histories; raise InputError if it is not a valid one."""
    names = SlipHistories.__dataclass_fields__
    with opened(path, WHAT) as file:
        found = SlipHistories(**{n: np.asarray(check_size_of_dataset(path, file[n])[()]) for n in names})
        count, times = len(found.area), len(found.time)
        shapes: dict[str, tuple[int, ...]] = {"slip": (count, times, 2), "corners": (count, found.corners.shape[1], 3)}
        shapes |= dict.fromkeys(("normal", "strike", "dip"), (count, 3))
        shapes |= dict.fromkeys(("tag", "rigidity", "shear_speed"), (count,))
    wrong = [n for n, shape in shapes.items() if getattr(found, n).shape != shape]
    if wrong or not times or not all(np.isfinite(getattr(found, n)).all() for n in names):
        what = f"{', '.join(wrong)} of the wrong shape" if wrong else "no times, or numbers that are not finite"
        raise InputError(Problem(str(path), f"is not a valid {WHAT}: it has {what}"))
    return found


RESULTS = [Writer((KIND,), _write)]
