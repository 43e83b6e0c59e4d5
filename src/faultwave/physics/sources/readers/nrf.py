"""NRF files: finite sources as NetCDF-4, written by SeisSol's rconv.

Subfault i slips along tan1, tan2 and normal with sampled rates. Moment rate: area C : (direction x normal) rate. The
source stores area sym(direction x normal) as a potency, because mu = 0 in the file means that the modulus of the cell
is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection
from faultwave.base.types import Setting
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Samples

if TYPE_CHECKING:
    import h5py

_DIRECTIONS = ("tan1", "tan2", "normal")
_SCALARS = ("area", "timestep", "mu", "tinit")
_TABLES = ("centres", "subfaults", "sroffsets")


def read(
    path: Path, setting: Setting, projection: Projection | None, warned: Problems | None = None
) -> list[PointSource]:
    """Return the point sources of a file, as every module of this folder does."""
    return read_nrf(path)


def read_nrf(path: Path) -> list[PointSource]:
    """Return one source per subfault and slip direction with samples; raises InputError if it is not an NRF file."""
    from faultwave.base.files.hdf5 import opened

    with opened(path, "NRF file (NetCDF-4)") as file:
        missing = [n for n in _TABLES if n not in file]
        if missing:
            raise InputError(
                Problem(str(path), f"is not an NRF file: {', '.join(missing)} missing", ", ".join(_TABLES))
            )
        centres = _table(path, file, "centres", 1, ("x", "y", "z"))
        subfaults = _table(path, file, "subfaults", 1, _SCALARS, _DIRECTIONS)
        offsets = _table(path, file, "sroffsets", 2)
        # A direction without samples may be a dimension of length 0 or missing.
        names = [f"sliprates{d + 1}" for d in range(3)]
        rates = [_table(path, file, n, 1) if n in file else np.zeros(0) for n in names]
    _fit(path, len(centres), len(subfaults), offsets, [len(r) for r in rates])
    records: list[PointSource] = []
    for i, subfault in enumerate(subfaults):
        records += _subfault(path, i, _vector(centres[i]), subfault, offsets[i : i + 2], rates)
    return records


def _table(
    path: Path,
    file: h5py.Group,
    name: str,
    dimensions: int,
    scalars: tuple[str, ...] = (),
    vectors: tuple[str, ...] = (),
) -> np.ndarray:
    """Return a dataset of numbers, or of records with numbers ``scalars`` and vectors ``vectors`` of x, y, z; else raise InputError."""
    import h5py

    from faultwave.base.files.hdf5 import check_size_of_dataset

    found = file[name]
    if not isinstance(found, h5py.Dataset) or found.shape is None or found.ndim != dimensions:
        what = f"'{name}' has shape {getattr(found, 'shape', None)}"
        raise InputError(Problem(str(path), what, f"{dimensions} dimension(s)"))
    kinds = {n: _part(found.dtype, n) for n in scalars} | {
        f"{n}.{axis}": _part(_part(found.dtype, n), axis) for n in vectors for axis in "xyz"
    }
    wrong = [n for n, kind in (kinds or {name: found.dtype}).items() if kind is None or kind.kind not in "fiu"]
    if wrong:
        raise InputError(Problem(str(path), f"'{name}' has no numbers {', '.join(wrong)}, its type is {found.dtype}"))
    return np.asarray(check_size_of_dataset(path, found)[()])


def _part(kind: np.dtype | None, name: str) -> np.dtype | None:
    """Return the type of a member of a compound type, None if there is none."""
    return kind.fields[name][0] if kind is not None and kind.fields is not None and name in kind.fields else None


def _fit(path: Path, centres: int, subfaults: int, offsets: np.ndarray, lengths: list[int]) -> None:
    """Raise InputError if the tables of a file are inconsistent."""
    if centres < subfaults or len(offsets) != subfaults + 1 or offsets.shape[1] < 3:
        what = f"{subfaults} subfaults, {centres} centres and sroffsets of shape {offsets.shape} are inconsistent"
        raise InputError(Problem(str(path), what, "the same number of centres, one more row of sroffsets"))
    first = offsets[:, :3].astype(float)
    if np.any(np.diff(first, axis=0) < 0) or np.any(first < 0) or np.any(first[-1] > lengths):
        raise InputError(Problem(str(path), "sroffsets does not fit the subfaults and slip rates", "ascending numbers"))


def _subfault(
    path: Path, i: int, centre: np.ndarray, subfault: np.void, offsets: np.ndarray, rates: list[np.ndarray]
) -> list[PointSource]:
    area, step, mu = float(subfault["area"]), float(subfault["timestep"]), float(subfault["mu"])
    normal, records = _vector(subfault["normal"]), []
    for d, direction in enumerate(_DIRECTIONS):
        samples = rates[d][int(offsets[0, d]) : int(offsets[1, d])]
        if len(samples) < 2:  # a single sample spans no time
            continue
        if not (step > 0 and np.all(np.isfinite(samples))):
            raise InputError(
                Problem(
                    f"{path}: subfault {i}",
                    f"timestep is {step:g} s or a slip rate is not a number",
                    "a step above 0 and finite slip rates",
                )
            )
        slip = np.outer(_vector(subfault[direction]), normal)
        sym = 0.5 * area * (slip + slip.T)
        records.append(
            PointSource(
                centre,
                Samples(samples, step),
                potency=np.array([sym[0, 0], sym[1, 1], sym[2, 2], sym[0, 1], sym[1, 2], sym[0, 2]]),
                shear_modulus=mu if mu > 0 else None,
                onset=float(subfault["tinit"]),
                name=f"{path.name} subfault {i} {direction}",
            )
        )
    return records


def _vector(v: np.void) -> np.ndarray:
    return np.array([v["x"], v["y"], v["z"]], float)
