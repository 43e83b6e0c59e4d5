"""Wave field around a box, recorded by one run on the points of a shell and injected into another.

A record holds each quantity on the points of its own regular lattice: the lattices of a staggered grid, or one lattice for all. A point
is identified by its indices along x, y and z; if a free surface is the upper side, points beyond it lie on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Protocol

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.hdf5 import dataset, number_attribute, opened, text_attribute, text_list
from faultwave.base.types import Setting
from faultwave.observe.dataset import QUANTITIES, Dataset, Variable

KIND = "box"
"""Kind of the results."""
STRESSES = ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz")
VELOCITIES = ("v1", "v2", "v3")
RECORDED = (*STRESSES, *VELOCITIES)
MATERIAL = ("rho", "lambda", "mu")
WHAT = "record of a box"
FASTEST, STRONGEST = 1e6, 1e15
"""Velocity [m/s] and stress [Pa] that no rock reaches: a record beyond them is damaged, or its run was unstable."""
THICKEST = 1000.0
"""Maximum distance of nodes from the box of a record, in spacings."""
AT_ONCE = 1 << 22
"""Number of values that are checked at once."""
DAMAGED = "Record again: the file is damaged, or its run was unstable."


@dataclass(frozen=True)
class Nodes:
    """Points of a regular lattice.

    Attributes
    ----------
    origin : ndarray of shape (3,)
        Position of the lattice point (0, 0, 0) [m].
    spacing : float
        Spacing [m].
    index : ndarray of shape (n, 3)
        Indices of the points along x, y, z.
    top : float
        Maximum z; points above are moved onto it [m].
    """

    origin: np.ndarray
    spacing: float
    index: np.ndarray
    top: float = np.inf

    def places(self) -> np.ndarray:
        """Return the positions (n, 3) of the points [m]."""
        found = self.origin + self.spacing * self.index
        found[:, 2] = np.minimum(found[:, 2], self.top)
        return np.asarray(found)


def shell(cells: Sequence[int], inwards: int, outwards: int, open_top: bool) -> np.ndarray:
    """Return the lattice points (n, 3) near the faces of a box whose corner is point (0, 0, 0).

    Parameters
    ----------
    cells : sequence of int
        Number of cells of the box along x, y, z.
    inwards, outwards : int
        Maximum distance from the nearest face inside and outside the box, in points.
    open_top : bool
        True if the upper side is not a face: no points lie above it, and points below are not near a face because of it.
    """
    axes = [np.arange(-outwards, n + outwards + 1) for n in cells]
    deep = [(a > inwards) & (a < n - inwards) for a, n in zip(axes, cells, strict=True)]
    if open_top:
        axes[2] = np.arange(-outwards, cells[2] + 1)
        deep[2] = axes[2] > inwards
    x, y, z = np.nonzero(~(deep[0][:, None, None] & deep[1][:, None] & deep[2]))
    return np.stack([axes[0][x], axes[1][y], axes[2][z]], 1)


class SourceSide(StrEnum):
    """Side of the faces of a box on which a run has its sources; unknown for other files and loads."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    BOTH = "both"
    UNKNOWN = ""


@dataclass(frozen=True)
class Recorder:
    """Run that recorded the wave field.

    Attributes
    ----------
    engine : str
        Name of the engine.
    order : int
        Spatial order.
    spacing, step : float
        Spacing [m] and time step [s] of a grid.
    sources : SourceSide
        Side of its sources.
    """

    engine: str
    order: int
    spacing: float = 0.0
    step: float = 0.0
    sources: SourceSide = SourceSide.UNKNOWN


@dataclass(frozen=True)
class Frame:
    """Properties common to all quantities of a record.

    Attributes
    ----------
    lower, upper : ndarray of shape (3,)
        Corners of the box [m].
    open_top : bool
        True if the box extends up to a free surface.
    spacing : float
        Distance between points [m].
    interval : float
        Sampling interval [s].
    recorder : Recorder
        Engine that recorded.
    """

    lower: np.ndarray
    upper: np.ndarray
    open_top: bool
    spacing: float
    interval: float
    recorder: Recorder

    @property
    def top(self) -> float:
        """Elevation of the free surface [m], infinite without one."""
        return float(self.upper[2]) if self.open_top else np.inf

    def outside(self, places: np.ndarray) -> np.ndarray:
        """Return True for each of the places (n, 3) [m] that lies outside the box."""
        small = 1e-6 * self.spacing
        return np.asarray(((places < self.lower - small) | (places > self.upper + small)).any(1))

    def inside(self, places: np.ndarray) -> np.ndarray:
        """Return True for each of the places (n, 3) [m] that lies inside the box, not on its faces."""
        small = 1e-6 * self.spacing
        upper = np.where([False, False, self.open_top], np.inf, self.upper)
        return np.asarray(((places > self.lower + small) & (places < upper - small)).all(1))


def as_dataset(
    frame: Frame, nodes: Mapping[str, Nodes], first: Mapping[str, float], values: Mapping[str, np.ndarray],
    material: Mapping[str, tuple[Nodes, np.ndarray]],
) -> Dataset:  # fmt: skip
    """Return a record as a Dataset.

    Parameters
    ----------
    frame : Frame
        Common properties.
    nodes : mapping of str to Nodes
        Points of each quantity.
    first : mapping of str to float
        Time of the first sample of each quantity [s].
    values : mapping of str to ndarray of shape (samples, points)
        Samples of each quantity.
    material : mapping of str to (Nodes, ndarray of shape (points,))
        Material parameters and their points.
    """
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
        "grid_step": by.step, "quantities": list(values), "material": list(material), "sources": str(by.sources),
    }  # fmt: skip
    attrs |= {f"{name}_origin": np.asarray(of.origin, float) for name, of in at.items()}
    attrs |= {f"{name}_first_time": first[name] for name in values}
    return Dataset(KIND, variables, attrs)


@dataclass(frozen=True)
class BoxRecord:
    """Record in a file written from ``as_dataset``; samples are read on demand."""

    path: Path
    frame: Frame
    samples: int
    nodes: Mapping[str, Nodes]
    first: Mapping[str, float]
    material: Mapping[str, tuple[Nodes, np.ndarray]]

    @property
    def last(self) -> float:
        """Time up to which samples of all quantities exist [s]."""
        return min(self.first.values()) + (self.samples - 1) * self.frame.interval

    def read(self, names: Sequence[str], begin: int, end: int) -> dict[str, np.ndarray]:
        """Return samples [begin, end) of quantities, (samples, points), zero outside the record.

        Raises InputError with quantity, node and time if a sample exceeds the values possible in rock.
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
        """Read all samples once; raise InputError like ``read``."""
        widest = max(len(nodes.index) for nodes in self.nodes.values())
        block = max(1, AT_ONCE // max(1, widest))
        for name in RECORDED:
            for begin in range(0, self.samples, block):
                self.read([name], begin, min(begin + block, self.samples))


class Sampled(Protocol):
    """Record of samples at nodes."""

    @property
    def path(self) -> Path:
        """File of the record."""

    @property
    def frame(self) -> Frame:
        """Box, spacing and interval of the samples."""

    @property
    def nodes(self) -> Mapping[str, Nodes]:
        """Nodes by quantity."""

    @property
    def first(self) -> Mapping[str, float]:
        """Time of the first sample [s] by quantity."""


def check_samples(record: Sampled, name: str, values: np.ndarray, begin: int) -> None:
    """Raise InputError for the first sample beyond the values possible in rock.

    Parameters
    ----------
    record : BoxRecord or H5drmRecord
        Record with path, nodes and first times by name, and frame.
    name : str
        Quantity.
    values : ndarray of shape (times, nodes)
        Samples.
    begin : int
        Index of the first of the samples.
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
    """Return the record of a file, or raise InputError if it is not a record or incomplete."""
    with opened(path, WHAT) as file:
        if "free_surface" not in file.attrs or "quantities" not in file.attrs:
            raise InputError(Problem(str(path), f"is not a {WHAT}", "a file of output.box, or an H5DRM file"))
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
        side = text_attribute(path, file, "sources", "")
        if side not in set(SourceSide):
            raise InputError(
                Problem(str(path), f"attribute 'sources' is '{side}'", ", ".join(filter(None, SourceSide)))
            )
        order, spacing, step = int(numbers["order"]), numbers["grid_spacing"], numbers["grid_step"]
        recorder = Recorder(engine, order, spacing, step, SourceSide(side))
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
    """Return a material parameter (count,) at the nodes, or raise InputError if it is invalid."""
    found = np.asarray(dataset(path, file, f"material_{name}", 1)[()])
    if len(found) != count or not np.isfinite(found).all():
        what = f"'material_{name}' has {len(found)} numbers for {count} nodes, {int((~np.isfinite(found)).sum())} of them not finite"
        raise InputError(Problem(str(path), what, "a finite number for each node", DAMAGED))
    return found


DEEP = 3
"""Number of points on either side of a face, enough for cubic interpolation to any grid at least as fine."""


@dataclass(frozen=True)
class Shell:
    """Lattice points near the faces of a box.

    Attributes
    ----------
    lower : ndarray of shape (3,)
        Lower corner of the box [m].
    spacing : float
        Spacing [m].
    cells : tuple of int
        Number of cells along x, y, z.
    open_top : bool
        True if the upper side is a free surface.
    deep : int
        Maximum distance of points from the faces, in spacings.
    """

    lower: np.ndarray
    spacing: float
    cells: tuple[int, int, int]
    open_top: bool
    deep: int

    @cached_property
    def index(self) -> np.ndarray:
        """Indices (n, 3) of the points along x, y, z."""
        return shell(self.cells, self.deep, self.deep, self.open_top)

    @cached_property
    def places(self) -> np.ndarray:
        """Positions (n, 3) of the points [m]."""
        return np.asarray(self.lower + self.spacing * self.index)

    @property
    def upper(self) -> np.ndarray:
        """Upper corner (3,) of the box [m]."""
        return np.asarray(self.lower + self.spacing * np.array(self.cells))

    @property
    def text(self) -> str:
        """Extent of the points, for messages."""
        ends = zip(self.places.min(0), self.places.max(0), strict=True)
        return " x ".join(f"[{a:g}, {b:g}]" for a, b in ends) + " m"

    def dataset(
        self, values: Mapping[str, np.ndarray], material: Mapping[str, np.ndarray], interval: float, recorder: Recorder
    ) -> Dataset:
        """Return the record: ``values`` (samples, points) by quantity from time zero on, ``material`` (points,)."""
        frame = Frame(self.lower, self.upper, self.open_top, self.spacing, interval, recorder)
        nodes = Nodes(self.lower, self.spacing, self.index, frame.top)
        return as_dataset(
            frame,
            dict.fromkeys(values, nodes),
            dict.fromkeys(values, 0.0),
            values,
            {name: (nodes, of) for name, of in material.items()},
        )


def shell_of(setting: Setting, surface: float | None, problems: Problems) -> Shell | None:
    """Return the points requested by ``output.box``, or None with an error if its spacing does not divide the box.

    ``surface`` is the elevation z [m] of the free surface above, if any.
    """
    lower, upper = np.array(setting.lower, float), np.array(setting.upper, float)
    cells = np.rint((upper - lower) / setting.spacing).astype(int)
    if (np.abs(lower + cells * setting.spacing - upper) > 1e-6 * setting.spacing).any() or (cells < 1).any():
        size = " x ".join(f"{v:g}" for v in upper - lower)
        what = f"{setting.spacing:g} m does not divide the box of {size} m"
        problems.error("output.box.spacing", what, "an integer number of cells along each axis")
        return None
    open_top = surface is not None and abs(upper[2] - surface) < 1e-6 * setting.spacing
    deep = max(DEEP, setting.layers)
    return Shell(lower, float(setting.spacing), (int(cells[0]), int(cells[1]), int(cells[2])), open_top, deep)
