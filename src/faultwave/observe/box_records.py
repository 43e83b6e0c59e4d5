"""The wave field around a box, as one run records it and another one lets it in: nine quantities on the points of a shell.

A record holds each quantity on points of its own regular lattice: those of a staggered grid, or one lattice for all. A point is known by
its numbers along x, y and z; where a free surface is the upper side, points beyond it lie on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.hdf5 import dataset, number_attribute, opened, text_attribute, text_list
from faultwave.observe.dataset import QUANTITIES, Dataset, Variable

KIND = "box"
"""Of the results."""
STRESSES = ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz")
VELOCITIES = ("v1", "v2", "v3")
RECORDED = (*STRESSES, *VELOCITIES)
MATERIAL = ("rho", "lambda", "mu")
WHAT = "record of a box"
FASTEST, STRONGEST = 1e6, 1e15
"""Velocities [m/s] and stresses [Pa] beyond those of any rock: a record that holds them is damaged, or its run was unstable."""
THICKEST = 1000.0
"""Spacings that nodes may lie outside of the box of a record."""
AT_ONCE = 1 << 22
"""Numbers that are checked together."""
DAMAGED = "Record again: the file is damaged, or the run that made it was unstable."


@dataclass(frozen=True)
class Nodes:
    """Points ``index`` (n, 3) along x, y, z of a lattice whose point (0, 0, 0) is at ``origin`` (3,) [m]; none above ``top`` [m]."""

    origin: np.ndarray
    spacing: float
    index: np.ndarray
    top: float = np.inf

    def places(self) -> np.ndarray:
        """Where they are (n, 3) [m]."""
        found = self.origin + self.spacing * self.index
        found[:, 2] = np.minimum(found[:, 2], self.top)
        return np.asarray(found)


def shell(cells: Sequence[int], inwards: int, outwards: int, open_top: bool) -> np.ndarray:
    """Points (n, 3) of a lattice in and around a box of so many ``cells`` along x, y, z, whose corner is point (0, 0, 0): those at most
    so many points inside of one of its faces, and outside. ``open_top``: the upper face is none."""
    axes = [np.arange(-outwards, n + outwards + 1) for n in cells]
    deep = [(a > inwards) & (a < n - inwards) for a, n in zip(axes, cells, strict=True)]
    if open_top:
        axes[2] = np.arange(-outwards, cells[2] + 1)
        deep[2] = axes[2] > inwards
    x, y, z = np.nonzero(~(deep[0][:, None, None] & deep[1][:, None] & deep[2]))
    return np.stack([axes[0][x], axes[1][y], axes[2][z]], 1)


@dataclass(frozen=True)
class Recorder:
    """Who recorded: the engine, its order in space and, of a grid, its ``spacing`` [m] and ``step`` [s]."""

    engine: str
    order: int
    spacing: float = 0.0
    step: float = 0.0


@dataclass(frozen=True)
class Frame:
    """What all quantities of a record share. ``lower`` and ``upper`` (3,) [m]: the box; ``open_top``: it reaches up to a free surface;
    ``spacing`` [m] of the points, ``interval`` [s] between samples."""

    lower: np.ndarray
    upper: np.ndarray
    open_top: bool
    spacing: float
    interval: float
    recorder: Recorder

    @property
    def top(self) -> float:
        """Where the free surface is [m]."""
        return float(self.upper[2]) if self.open_top else np.inf

    def outside(self, places: np.ndarray) -> np.ndarray:
        """Which places (n, 3) lie outside of the box."""
        small = 1e-6 * self.spacing
        return np.asarray(((places < self.lower - small) | (places > self.upper + small)).any(1))


def as_dataset(
    frame: Frame, nodes: Mapping[str, Nodes], first: Mapping[str, float], values: Mapping[str, np.ndarray],
    material: Mapping[str, tuple[Nodes, np.ndarray]],
) -> Dataset:  # fmt: skip
    """``values`` (samples, points) of every quantity, whose first sample is at the time ``first`` [s]; ``material`` on points."""
    variables, at = dict[str, Variable](), {**nodes, **{name: n for name, (n, _) in material.items()}}
    for name, series in values.items():
        unit, what = QUANTITIES[name]
        variables[name] = Variable(series, ("sample", f"{name}_point"), unit, what)
    for name, (_, numbers) in material.items():
        variables[f"material_{name}"] = Variable(numbers, (f"{name}_point",), "", f"of the material: {name}")
    for name, of in at.items():
        index = np.asarray(of.index, np.int32)
        variables[f"{name}_index"] = Variable(index, (f"{name}_point", "axis"), "", f"points of {name} along x, y, z")
    by = frame.recorder
    attrs = {
        "lower": np.asarray(frame.lower, float), "upper": np.asarray(frame.upper, float), "free_surface": int(frame.open_top),
        "spacing": frame.spacing, "interval": frame.interval, "engine": by.engine, "order": by.order, "grid_spacing": by.spacing,
        "grid_step": by.step, "quantities": list(values), "material": list(material),
    }  # fmt: skip
    attrs |= {f"{name}_origin": np.asarray(of.origin, float) for name, of in at.items()}
    attrs |= {f"{name}_first_time": first[name] for name in values}
    return Dataset(KIND, variables, attrs)


@dataclass(frozen=True)
class BoxRecord:
    """A file of ``as_dataset``; samples stay there until they are asked for."""

    path: Path
    frame: Frame
    samples: int
    nodes: Mapping[str, Nodes]
    first: Mapping[str, float]
    material: Mapping[str, tuple[Nodes, np.ndarray]]

    @property
    def last(self) -> float:
        """The time [s] up to which there are samples of all quantities."""
        return min(self.first.values()) + (self.samples - 1) * self.frame.interval

    def read(self, names: Sequence[str], begin: int, end: int) -> dict[str, np.ndarray]:
        """Return samples [begin, end) of quantities, (samples, points); zero where there is none.

        Raises InputError with quantity, node and time where a sample is no number that a wave can have.
        """
        found = {}
        with h5py.File(self.path, "r") as file:
            for name in names:
                values = np.zeros((end - begin, len(self.nodes[name].index)))
                low, high = max(begin, 0), min(end, self.samples)
                if low < high:
                    values[low - begin : high - begin] = file[name][low:high]
                    check_samples(self, name, values, begin)
                found[name] = values
        return found

    def check(self) -> None:
        """Read all samples once; raises InputError as ``read``."""
        widest = max(len(nodes.index) for nodes in self.nodes.values())
        block = max(1, AT_ONCE // max(1, widest))
        for name in RECORDED:
            for begin in range(0, self.samples, block):
                self.read([name], begin, min(begin + block, self.samples))


def check_samples(record: Any, name: str, values: np.ndarray, begin: int) -> None:
    """Raise InputError for the first of the samples ``values`` (times, nodes) from number ``begin`` on that no rock can have.

    ``record``: with path, nodes and first times by name, and frame.
    """
    most = FASTEST if name in VELOCITIES else STRONGEST
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(values) <= most)
    if not bad.any():
        return
    sample, node = (int(k) for k in np.argwhere(bad)[0])
    x, y, z = record.nodes[name].places()[node]
    time = record.first[name] + (begin + sample) * record.frame.interval
    what = f"'{name}' is {values[sample, node]:g} at the node at ({x:g}, {y:g}, {z:g}) and {time:.6g} s"
    more = int(bad.sum()) - 1
    what += f", and {more:,} more near it" if more else ""
    unit = "m/s" if name in VELOCITIES else "Pa"
    raise InputError(Problem(str(record.path), what, f"finite numbers up to {most:g} {unit}", DAMAGED))


def read_box_record(path: Path) -> BoxRecord:
    """The record of a file. Raises InputError where it is none or something is missing."""
    with opened(path, WHAT) as file:
        if "free_surface" not in file.attrs or "quantities" not in file.attrs:
            raise InputError(Problem(str(path), f"is no {WHAT}", "a file of output.box, or an H5DRM file"))
        quantities, listed = text_list(path, file, "quantities"), text_list(path, file, "material")
        missing = [name for name in RECORDED if name not in quantities]
        if missing:
            raise InputError(Problem(str(path), f"lacks {', '.join(missing)}", f"all of {', '.join(RECORDED)}"))
        wanted = ("free_surface", "spacing", "interval", "order", "grid_spacing", "grid_step")
        numbers = {name: number_attribute(path, file, name) for name in wanted}
        lower, upper = (_vector(path, file, name) for name in ("lower", "upper"))
        if not (numbers["spacing"] > 0 and numbers["interval"] > 0):
            raise InputError(Problem(str(path), "has no spacing or interval above 0"))
        engine = text_attribute(path, file, "engine")
        recorder = Recorder(engine, int(numbers["order"]), numbers["grid_spacing"], numbers["grid_step"])
        frame = Frame(lower, upper, bool(numbers["free_surface"]), numbers["spacing"], numbers["interval"], recorder)
        nodes = {name: _nodes(path, file, name, frame) for name in (*RECORDED, *listed)}
        shapes = {name: dataset(path, file, name, 2).shape for name in RECORDED}
        for name, shape in shapes.items():
            if shape != (shapes["v1"][0], len(nodes[name].index)):
                raise InputError(Problem(str(path), f"'{name}' has shape {shape} for {len(nodes[name].index)} points"))
        first = {name: number_attribute(path, file, f"{name}_first_time") for name in RECORDED}
        material = {name: (nodes[name], _material(path, file, name, len(nodes[name].index))) for name in listed}
        return BoxRecord(path, frame, shapes["v1"][0], {name: nodes[name] for name in RECORDED}, first, material)


def _vector(path: Path, file: h5py.File, name: str) -> np.ndarray:
    found = np.asarray(file.attrs.get(name, np.zeros(0)), float)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise InputError(Problem(str(path), f"attribute '{name}' is {found.tolist()}", "three finite numbers"))
    return found


def _nodes(path: Path, file: h5py.File, name: str, frame: Frame) -> Nodes:
    index = dataset(path, file, f"{name}_index", 2, "iu")[()].astype(np.int64)
    if index.shape[1] != 3:
        raise InputError(Problem(str(path), f"'{name}_index' has shape {index.shape}", "three numbers a point"))
    found = Nodes(_vector(path, file, f"{name}_origin"), frame.spacing, index, frame.top)
    off = np.maximum(frame.lower - found.places(), found.places() - frame.upper).max(1) / frame.spacing
    far = int(off.argmax())
    if off[far] > THICKEST:
        what = f"'{name}_index' puts node {far} at {index[far].tolist()}, {off[far]:.4g} spacings outside of the box of the record"
        raise InputError(Problem(str(path), what, f"up to {THICKEST:g} spacings", DAMAGED))
    if len(np.unique(index, axis=0)) < len(index):
        raise InputError(Problem(str(path), f"'{name}_index' has a node twice", "each node once"))
    return found


def _material(path: Path, file: h5py.File, name: str, count: int) -> np.ndarray:
    """Return the material (count,) at the nodes of a quantity. Raises InputError where it is no material."""
    found = np.asarray(dataset(path, file, f"material_{name}", 1)[()])
    if len(found) != count or not np.isfinite(found).all():
        what = f"'material_{name}' has {len(found)} numbers for {count} nodes, {int((~np.isfinite(found)).sum())} of them not finite"
        raise InputError(Problem(str(path), what, "a finite number for each node", DAMAGED))
    return found


__all__ = [
    "DAMAGED",
    "KIND",
    "MATERIAL",
    "RECORDED",
    "BoxRecord",
    "Frame",
    "Nodes",
    "Recorder",
    "as_dataset",
    "check_samples",
    "read_box_record",
    "shell",
]
