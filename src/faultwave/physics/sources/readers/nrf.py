"""NRF: finite sources as NetCDF-4, written by SeisSol's rconv.

Subfault i slips along tan1, tan2 and normal with sampled rates. Moment rate: area C : (direction x normal) rate; the
record keeps area sym(direction x normal) as a potency, since mu = 0 in the file means 'take it from the cell'.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Samples

_DIRECTIONS = ("tan1", "tan2", "normal")


def read_nrf(path: Path) -> list[PointSource]:
    """One record per subfault and slip direction that has samples; InputError if the file is not an NRF file."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            names = ("centres", "subfaults", "sroffsets", "sliprates1", "sliprates2", "sliprates3")
            missing = [n for n in names[:3] if n not in file]
            if missing:
                raise InputError(Problem(str(path), f"is no NRF file: {', '.join(missing)} missing", ", ".join(names)))
            centres, subfaults, offsets = (np.asarray(file[n]) for n in names[:3])
            # A direction without any samples may be a dimension of length 0 or absent.
            rates = [np.asarray(file[n]) if n in file else np.zeros(0) for n in names[3:]]
            # names of the compounds' parts, asked for where a missing one can still be told
            _ = (
                centres["x"],
                offsets[:, :3],
                [subfaults[n] for n in ("area", "timestep", "mu", "tinit", "normal", *_DIRECTIONS)],
            )
    except (OSError, RuntimeError, KeyError, TypeError, ValueError, IndexError) as error:
        what = " ".join(str(error).split())
        raise InputError(Problem(str(path), f"cannot be read as NRF, NetCDF-4: {what}")) from None
    if len(offsets) != len(subfaults) + 1 or any(int(offsets[-1, d]) > len(rates[d]) for d in range(3)):
        raise InputError(Problem(str(path), "sroffsets does not fit the subfaults and slip rates"))
    records: list[PointSource] = []
    for i, subfault in enumerate(subfaults):
        records += _subfault(path, i, _vector(centres[i]), subfault, offsets[i : i + 2], rates)
    return records


def _subfault(
    path: Path, i: int, centre: np.ndarray, subfault: Any, offsets: np.ndarray, rates: list[np.ndarray]
) -> list[PointSource]:
    area, step, mu = float(subfault["area"]), float(subfault["timestep"]), float(subfault["mu"])
    normal, records = _vector(subfault["normal"]), []
    for d, direction in enumerate(_DIRECTIONS):
        samples = rates[d][int(offsets[0, d]) : int(offsets[1, d])]
        if len(samples) < 2:  # a single sample spans no time
            continue
        if not (step > 0 and np.all(np.isfinite(samples))):
            raise InputError(Problem(f"{path}: subfault {i}", f"timestep is {step:g} s or a slip rate is no number"))
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


def _vector(v: Any) -> np.ndarray:
    return np.array([v["x"], v["y"], v["z"]], float)
