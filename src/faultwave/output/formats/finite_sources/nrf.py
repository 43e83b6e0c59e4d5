"""NRF, the NetCDF files of finite sources of SeisSol (type 42 of parameter files): PREFIX.nrf."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.output.atomic import atomic_path
from faultwave.output.formats import Conversion, Converter
from faultwave.output.formats.finite_sources.request import OPTIONS, Request, requested_source

VECTOR = np.dtype([(axis, "f8") for axis in "xyz"])
SCALARS = {"tinit": "s", "timestep": "s", "mu": "Pa", "area": "m^2"}
"""Numbers of a subfault, in the order of the format, and their units."""
VECTORS = ("tan1", "tan2", "normal")
"""Directions of slip of a subfault: along the rake, across it, and the normal out of the footwall."""
SUBFAULT = np.dtype([(name, "f8") for name in SCALARS] + [(name, VECTOR) for name in VECTORS])


def _write(conversion: Conversion) -> list[Path]:
    import netCDF4

    request = requested_source(conversion, geographic=False)
    source = request.source
    numbers = source.slipping
    rates = [source.along_rake(n) for n in numbers]
    offsets = np.zeros((len(numbers) + 1, len(VECTORS)), np.uint32)
    offsets[1:, :2] = np.cumsum([[len(r) for r in pair] for pair in rates], axis=0)
    path = request.path(".nrf")
    with atomic_path(path) as temporary, netCDF4.Dataset(temporary, "w", format="NETCDF4") as file:
        file.setncatts({"title": request.title, "axes": "x, y and z of the case [m], z up"})
        file.createDimension("source", len(numbers))
        file.createDimension("sroffset", len(offsets))
        file.createDimension("direction", len(VECTORS))
        vector = file.createCompoundType(VECTOR, "Vector3")
        subfault = file.createCompoundType(SUBFAULT, "Subfault")
        centres = file.createVariable("centres", vector, ("source",))
        centres[:] = _vectors(source.place[numbers])
        file.createVariable("subfaults", subfault, ("source",))[:] = _subfaults(request, numbers)
        file.createVariable("sroffsets", "u4", ("sroffset", "direction"))[:] = offsets
        for direction in range(len(VECTORS)):
            parts = [pair[direction] for pair in rates] if direction < 2 else []
            samples = np.concatenate([np.zeros(0), *parts])
            # a dimension of length 0 is one without limit
            file.createDimension(f"sample{direction + 1}", len(samples) or None)
            variable = file.createVariable(f"sliprates{direction + 1}", "f8", (f"sample{direction + 1}",))
            variable.units = "m/s"
            variable[:] = samples
    return [path]


def _vectors(values: np.ndarray) -> np.ndarray:
    """Return vectors (n, 3) as records (n,)."""
    return np.ascontiguousarray(values, float).view(VECTOR)[:, 0]


def _subfaults(request: Request, numbers: np.ndarray) -> np.ndarray:
    """Return the records (m,) of subfaults ``numbers`` (m,)."""
    source = request.source
    found = np.zeros(len(numbers), SUBFAULT)
    columns = (source.onset, np.full(len(source.onset), source.interval), source.rigidity, source.area)
    for name, values in zip(SCALARS, columns, strict=True):
        found[name] = values[numbers]
    vectors = (*source.directions.swapaxes(0, 1), source.normal)
    for name, values in zip(VECTORS, vectors, strict=True):
        found[name] = _vectors(values[numbers])
    return found


NRF = Converter("nrf", _write, OPTIONS)
