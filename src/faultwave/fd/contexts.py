"""Inputs of the stages of planning: the case, the grid, and the material with the time step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.plausibility import advice_outside
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.fd.method.effective_medium import Medium
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.grid_block import GridBlock
from faultwave.fd.operators.points import outside
from faultwave.fd.operators.topography import placed
from faultwave.kernels.stencil import Box
from faultwave.media.field import Field
from faultwave.observe.stations.points import exchange_advice
from faultwave.physics.waves import Law


@dataclass(frozen=True)
class Planning:
    """Input of the first planning stage: the case and the requested box, before there is a grid.

    Attributes
    ----------
    case : Case
    law : Law
        Wave law of the case.
    lower, upper : ndarray (3,)
        Corners of the requested box [m], without absorbing layers.
    sides : mapping of str to SideKind
        Boundary condition of each side, by name (``x-`` ... ``z+``).
    problems : Problems
        Collector of errors and warnings.
    """

    case: Case
    law: Law
    lower: np.ndarray
    upper: np.ndarray
    sides: Mapping[str, SideKind]
    problems: Problems


@dataclass(frozen=True)
class PlacementContext:
    """Input of the second planning stage: the grid and its blocks, before the material is known.

    Attributes
    ----------
    case : Case
    law : Law
    grid : Grid
        Grid of the uppermost block.
    lower, upper : ndarray (3,)
        Corners of the box of whole cells [m], which absorbing layers surround.
    problems : Problems
        Collector of errors and warnings.
    blocks : tuple
        Blocks of the grid.
    """

    case: Case
    law: Law
    grid: Grid
    lower: np.ndarray
    upper: np.ndarray
    problems: Problems
    blocks: tuple[GridBlock, ...] = ()
    """Blocks of the grid, from the uppermost down."""

    @property
    def faces(self) -> tuple[float, ...]:
        """Heights [m] of the faces between blocks, from the uppermost down."""
        return tuple(float(block.lower[2]) for block in self.blocks[:-1])

    @property
    def order(self) -> int:
        """Order of the spatial differences in the uppermost block."""
        return self.blocks[0].order

    def block_at(self, z: np.ndarray) -> np.ndarray:
        """Return the numbers (n,) of the blocks that contain the heights ``z`` (n,) [m]."""
        return np.asarray((np.asarray(z)[:, None] < np.array(self.faces)).sum(1))

    def of_block(self, number: int) -> PlacementContext:
        """Return the same for one block alone."""
        if len(self.blocks) == 1:
            return self
        block = self.blocks[number]
        return replace(self, grid=block.grid, lower=block.lower, upper=block.upper, blocks=(block,))

    @property
    def surface(self) -> tuple[int, int]:
        """Number of surface points along x and y, without absorbing layers."""
        nx, ny = np.round((self.upper - self.lower) / self.grid.spacing).astype(int)[:2].tolist()
        return nx, ny

    def check_inside(self, named: Sequence[tuple[str, np.ndarray]], what: str = "") -> None:
        """Report an error for each named place (name, point) outside the box.

        ``what`` is the kind of places ('receivers' for example), whose z may have been given as a depth.
        """
        for (name, p), distance in zip(named, self.outside(np.array([p for _, p in named])), strict=True):
            if distance > 0:
                x = ", ".join(f"{v:g}" for v in p)
                self.problems.error(
                    f"{name} at ({x})",
                    f"lies {distance:.6g} m outside the box" + self.above(p, what),
                    f"a point in {self.box} m",
                    self.exchanged(p, float(distance)),
                    places=[p],
                )

    def outside(self, points: np.ndarray) -> np.ndarray:
        """Return the distance (n,) [m] of ``points`` (n, 3) from the box, 0 inside."""
        return np.asarray(outside(self.grid, self.lower, self.upper, points.reshape(-1, 3)))

    def exchanged(self, point: np.ndarray, distance: float) -> str:
        """Return advice for a point at ``distance`` [m] outside the box.

        If exchanging longitude and latitude, the sign of the depth or the unit would move the point into the box, the
        advice says so; otherwise it is general.
        """
        exchanged = exchange_advice(self.case.projection, point, distance, self.lower, self.upper)
        return exchanged or advice_outside(point, self.lower, self.upper)

    def above(self, point: np.ndarray, what: str) -> str:
        """Return the words of a message on a point of sources or receivers (``what``) above the ground; empty if below."""
        if self.grid.relief is None:
            return ""
        ground = float(self.grid.relief.ground(np.clip(point, self.lower, self.upper)))
        setting = None if self.case.grid is None else self.case.grid.topography
        deep = getattr(setting, what, None) == "depth"
        signs = "; z of a depth is negative: -500 is 500 m deep" * deep
        return f", above the ground, which is at z = {ground:.6g} m there{signs}" if point[2] > ground else ""

    def located(self, points: np.ndarray, what: str, references: np.ndarray | None = None) -> np.ndarray:
        """Return places (n, 3) [m] of sources or receivers (``what``) with z as elevation.

        z may be a depth below the ground, according to the case or to ``references`` (n,) if given (see
        ``topography.placed``).
        """
        setting = None if self.case.grid is None else self.case.grid.topography
        return placed(self.grid.relief, points, None if setting is None else getattr(setting, what), references)

    @property
    def box(self) -> str:
        """Extent of the box, for messages."""
        if self.grid.relief is not None:
            sides = " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(self.lower[:2], self.upper[:2], strict=True))
            return f"{sides} x [{self.lower[2]:g}, ground]"
        return " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(self.lower, self.upper, strict=True))


@dataclass(frozen=True)
class MaterialContext:
    """Input of the third planning stage: the material and the time step.

    Attributes
    ----------
    placing : PlacementContext
        Input of the second stage.
    field : Field
        Material parameters.
    coarse : mapping of str to ndarray
        rho, lambda and mu on a coarse lattice of the box.
    sides : mapping of str to SideKind
        Boundary condition of each side.
    resolved : float
        Frequency that is resolved everywhere [Hz].
    step : float
        Time step [s].
    steps : int
        Number of time steps.
    media : sequence of Medium
        Effective medium of each block, from the uppermost down.
    blocks : sequence of (Grid, Box)
        Grid of each block and the box of this process in it.
    world : World
        Processes of the run.
    surveyed : bool
        True if the material was read at a sample of the points: the media then have no coefficients, and capabilities leave out what
        they compute at every point.
    """

    placing: PlacementContext
    field: Field
    coarse: Mapping[str, np.ndarray]
    sides: Mapping[str, SideKind]
    resolved: float
    step: float
    steps: int
    media: Sequence[Medium]
    blocks: Sequence[tuple[Grid, Box]]
    world: World = World()
    surveyed: bool = False

    def of_block(self, number: int) -> MaterialContext:
        """Return the same for one block alone."""
        media, blocks = [self.media[number]], [self.blocks[number]]
        return replace(self, placing=self.placing.of_block(number), media=media, blocks=blocks)

    @property
    def medium(self) -> Medium:
        """Effective medium of the uppermost block."""
        return self.media[0]

    @property
    def case(self) -> Case:
        return self.placing.case

    @property
    def box(self) -> Box:
        """Box of this process in the uppermost block."""
        return self.blocks[0][1]

    @property
    def problems(self) -> Problems:
        return self.placing.problems
