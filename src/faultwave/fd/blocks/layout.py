"""Layout of the blocks of a grid: corners, spacings, checks of the settings, and a proposal of larger spacings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.case.settings.grid import Block
from faultwave.case.settings.model import Case
from faultwave.domain.grids import MIN_CELLS, RATIOS
from faultwave.fd.capability import FdPlan, GridCapabilityPlan
from faultwave.fd.contexts import PlacementContext
from faultwave.fd.method.absorbing import AbsorberKind
from faultwave.fd.method.differences import LOW, LOWS, WEIGHTS
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.grid_block import GridBlock, order_of
from faultwave.fd.method.scheme import PLANES_BELOW_CURVILINEAR
from faultwave.kernels.stencil import REACH
from faultwave.media.field import Field, axes_of
from faultwave.media.homogenise import at_points

LEASTS = MIN_CELLS
MAX_CELLS = 10**12
"""Largest number of cells along an axis that is counted; no memory holds as many."""
MIN_BLOCKS = {order: of.deep + LOWS[order] + 3 for order, of in WEIGHTS.items()}
"""Smallest number of planes of a block above the lowest, by order; some lie between those with modified stencils."""
LEAST, MIN_BLOCK = LEASTS[4], MIN_BLOCKS[4]
WIDTH = {AbsorberKind.CPML: 10, AbsorberKind.SPONGE: 20}
NEAR_FACE = 3
"""Recommended distance of sources and receivers from a face between blocks, in points of the larger spacing."""
EVEN = 1e-6
"""Tolerance relative to a spacing within which an extent counts as a multiple of it."""


def build_blocks(
    case: Case, lower: np.ndarray, upper: np.ndarray, spacing: float, sides: Mapping[str, SideKind], problems: Problems
) -> list[GridBlock]:
    """Return the grid with its absorbing layers, or its blocks from the uppermost down.

    The box grows to whole cells, downwards and towards larger x and y.

    Parameters
    ----------
    case : Case
    lower, upper : ndarray, shape (3,)
        Corners [m] of the requested box.
    spacing : float
        Spacing [m] of the uppermost block.
    sides : mapping
        Kind of each side (``x-`` to ``z+``).
    problems : Problems
        Receives the warnings.

    Raises
    ------
    InputError
        If the blocks of the setting are invalid.
    """
    setting = case.grid
    assert setting is not None
    if not setting.blocks:
        return [_whole(case, lower, upper, spacing, sides, problems)]
    spacings = [spacing, *(block.spacing for block in setting.blocks)]
    tops = [0.0, *(block.below for block in setting.blocks)]
    depth = float(upper[2] - lower[2])
    fewest, needed = LEASTS[order_of(case, len(tops) - 1)], int(np.ceil((depth - tops[-1]) / spacings[-1] - EVEN))
    ends = [*tops[1:], tops[-1] + max(fewest, needed) * spacings[-1]]
    before = len(problems.errors)
    _check(case, lower, upper, spacings, [*tops, depth], problems)
    if sides["z-"] == SideKind.PERIODIC:
        problems.error("grid.boundaries", "z is periodic, and blocks of different spacing do not meet", "z: absorbing")
    if len(problems.errors) > before:
        problems.raise_errors()
    coarsest = spacings[-1]
    width = setting.absorbing.width or WIDTH[AbsorberKind(setting.absorbing.kind)]
    first = [float(lower[k] - width * coarsest * (sides[f"{a}-"] == SideKind.ABSORBING)) for k, a in enumerate("xy")]
    found: list[GridBlock] = []
    for n, (h, top, end) in enumerate(zip(spacings, tops, ends, strict=True)):
        last = n + 1 == len(spacings)
        points = round(width * coarsest / h)
        cells = [round(float(upper[k] - lower[k]) / h) for k in range(2)] + [round((end - top) / h)]
        deeper = points * (last and sides["z-"] == SideKind.ABSORBING)
        higher = points * (n == 0 and sides["z+"] == SideKind.ABSORBING)
        nx, ny = (
            cells[k] + points * sum(sides[f"{a}{end}"] == SideKind.ABSORBING for end in "-+")
            for k, a in enumerate("xy")
        )
        low, high = lower.copy(), upper.copy()
        high[2] = upper[2] if n == 0 else found[-1].lower[2]
        low[2] = high[2] - cells[2] * h
        own = {**sides, "z-": sides["z-"] if last else SideKind.RIGID, "z+": SideKind.RIGID if n else sides["z+"]}
        grid = Grid((first[0], first[1], float(low[2] - deeper * h)), h, (cells[2] + deeper + higher, ny, nx))
        found.append(GridBlock(grid, low, high, own, points, n > 0, not last, order_of(case, n)))
    return found


def _whole(
    case: Case, lower: np.ndarray, upper: np.ndarray, spacing: float, sides: Mapping[str, SideKind], problems: Problems
) -> GridBlock:
    """Return the layout of a grid with one spacing."""
    setting = case.grid
    assert setting is not None
    requested = np.minimum(np.ceil((upper - lower) / spacing - EVEN), MAX_CELLS).astype(int)
    order = order_of(case, 0)
    least = LEASTS[order]
    cells = np.maximum(requested, least)
    grown_lower, grown_upper = lower.copy(), lower + cells * spacing
    grown_lower[2], grown_upper[2] = upper[2] - cells[2] * spacing, upper[2]
    for axis, few, a, b in zip("xyz", requested, grown_lower, grown_upper, strict=True):
        if few < least:
            what = f"{few} cells of {spacing:g} m along {axis} are fewer than the least, {least}: the box becomes [{a:g}, {b:g}] m there"
            problems.warn("grid", what, advice="Lower the spacing, or choose the box so that it contains whole cells.")
    width = setting.absorbing.width or WIDTH[AbsorberKind(setting.absorbing.kind)]
    layer = {side: width if kind == SideKind.ABSORBING else 0 for side, kind in sides.items()}
    first = [float(grown_lower[k] - layer[f"{a}-"] * spacing) for k, a in enumerate("xyz")]
    nx, ny, nz = (int(cells[k]) + layer[f"{a}-"] + layer[f"{a}+"] for k, a in enumerate("xyz"))
    return GridBlock(
        Grid((first[0], first[1], first[2]), spacing, (nz, ny, nx)), grown_lower, grown_upper, sides, width, order=order
    )


def _check(
    case: Case, lower: np.ndarray, upper: np.ndarray, spacings: Sequence[float], depths: Sequence[float], problems: Problems
) -> None:  # fmt: skip
    """Report errors of the ratios of spacings, the depths of the faces and the extents of the box.

    ``depths`` [m] are the depths of the surface, of the faces and of the bottom of the box.
    """
    orders = [order_of(case, n) for n in range(len(spacings))]
    for n, (above, own) in enumerate(zip(spacings, spacings[1:], strict=False)):
        where, ratio = f"grid.blocks[{n}].spacing", own / above
        ratios = RATIOS if orders[n] == orders[n + 1] else (1, *RATIOS)
        if not any(abs(ratio - r) < EVEN for r in ratios):
            what = f"{own:g} m is {ratio:.4g} times the {above:g} m of the block above"
            finer = "Spacings must increase downwards; a finer block below is not supported." if ratio < 1 else ""
            allowed = " or ".join(f"{r * above:g} m" for r in ratios)
            problems.error(where, what, allowed, finer or "Put a block between them for larger ratios.")
    for n, (top, end, h) in enumerate(zip(depths, depths[1:], spacings, strict=False)):
        last = n + 1 == len(spacings)
        where = "grid.lower" if last else f"grid.blocks[{n}].below"
        cells = (end - top) / h
        if end <= top:
            what = f"{top:g} m lies below the box" if last else f"{end:g} m lies above the face at {top:g} m"
            problems.error(f"grid.blocks[{n - 1}].below" if last else where, what, "depths in the box, from above down")
        elif round(cells) < (least := (LEASTS if last else MIN_BLOCKS)[orders[n]]):
            what = f"leaves only {cells:.4g} planes of {h:g} m in the block from {top:g} to {end:g} m"
            why = "The free surface, absorbing layers and faces between blocks use different stencils."
            further = (
                f"{least} planes or more" + (", the bottom" if last else "") + f" at {top + least * h:g} m or deeper"
            )
            problems.error(where, what, further, why)
        elif not last and abs(cells - round(cells)) > EVEN:
            near = [top + c * h for c in (np.floor(cells), np.ceil(cells))]
            what = f"{end:g} m is no multiple of the spacing of the block above, {h:g} m, below its top at {top:g} m"
            problems.error(where, what, f"{near[0]:g} or {near[1]:g} m")
    coarsest = spacings[-1]
    for k, axis in enumerate("xy"):
        cells = float(upper[k] - lower[k]) / coarsest
        if abs(cells - round(cells)) > EVEN or round(cells) < (least := LEASTS[orders[-1]]):
            most = lower[k] + max(least, np.ceil(cells - EVEN)) * coarsest
            what = f"the box is {cells:.6g} of the largest spacing, {coarsest:g} m, long along {axis}"
            problems.error("grid.upper", what, f"a multiple, {least} or more: e.g. {axis} to {most:g} m")


def check_faces(
    placing: PlacementContext, blocks: Sequence[GridBlock], parts: Mapping[str, GridCapabilityPlan]
) -> None:
    """Report unsuitable sources and receivers near faces between blocks, and features that blocks do not support."""
    if not placing.faces:
        return
    for part in parts.values():
        kind = type(part)
        pushes, reads = kind.drive is not GridCapabilityPlan.drive, kind.sampler is not GridCapabilityPlan.sampler
        if (pushes or reads) and kind.places is GridCapabilityPlan.places:
            what = f"{part.name} and blocks of different spacing cannot be combined yet"
            placing.problems.error("grid.blocks", what, "a grid of one spacing")
        if part.boxed:
            continue
        for upper, lower in zip(blocks, blocks[1:], strict=False):
            _near_face(placing, part, pushes, upper, lower)


def _near_face(
    placing: PlacementContext, part: GridCapabilityPlan, pushes: bool, upper: GridBlock, lower: GridBlock
) -> None:
    """Report sources and receivers near the face between two blocks.

    A force whose weights reach the planes with modified stencils is an error, as a part of its impulse would remain
    there as motion that never ends. Anything else near the face is a warning, because accuracy is lower there.
    """
    face, places = float(upper.lower[2]), part.places
    away = np.abs(places[:, 2] - face)
    below = places[:, 2] < face
    near = np.where(below, LOWS[lower.order], LOWS[upper.order])
    excluded = near * np.where(below, lower.grid.spacing, upper.grid.spacing)
    doubtful = np.full(len(places), NEAR_FACE * lower.grid.spacing)
    forced = part.forced if pushes else np.zeros(len(places), bool)
    for wrong, tell, least, what, why in (
        (
            forced & (away < excluded * (1 - EVEN)), placing.problems.error, excluded, "leaves motion behind",
            "{planes} planes of its own block",
        ),
        (away < doubtful * (1 - EVEN), placing.problems.warn, doubtful, "is less exact", f"{NEAR_FACE} points of the larger spacing"),
    ):  # fmt: skip
        listed = np.flatnonzero(wrong)
        if not len(listed):
            continue
        x, y, z = places[listed[0]]
        many = f" ({len(listed) - 1:,} more are as close)" if len(listed) > 1 else ""
        at = f"number {listed[0] + 1} at ({x:g}, {y:g}, {z:g}) {what}"
        reported = f"{at}, {away[listed[0]]:.4g} m from the face between blocks at z = {face:g} m{many}"
        why = why.format(planes=near[listed[0]])
        tell(part.name, reported, f"{least[listed[0]]:g} m or more, {why}", "Move the face (grid.blocks).")
        return


def moved(blocks: Sequence[GridBlock], by: float) -> list[GridBlock]:
    """Return the blocks shifted upwards by ``by`` [m]."""
    found = []
    for block in blocks:
        x, y, z = block.grid.lower
        up = np.array([0.0, 0.0, by])
        grid = replace(block.grid, lower=(x, y, z + by))
        found.append(replace(block, grid=grid, lower=block.lower + up, upper=block.upper + up))
    return found


COLUMNS_ALONG = 21
"""Number of places along x and y where the material is sampled."""
LEAST_GAIN = 1.1
"""Smallest factor by which blocks must reduce the number of points to be proposed."""
MOST_BLOCKS = 4
"""Largest number of faces between proposed blocks."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """Proposed blocks of larger spacing below the uppermost.

    Attributes
    ----------
    blocks : list of (float, float)
        Depth and spacing [m] of each block; empty if blocks do not pay.
    upper : ndarray, shape (3,)
        Upper corner [m] of a box whose extents are multiples of the spacings.
    points : float
        Number of points of the proposed grid.
    """

    blocks: list[tuple[float, float]]
    upper: np.ndarray
    points: float


def slowest_below(field: Field, lower: np.ndarray, upper: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """Return the smallest S speed (n,) [m/s] of a box at or below ``depths`` (n,) [m]; 0 where there are fluids."""
    axes = axes_of(field)
    x, y = (np.linspace(lower[k], upper[k], COLUMNS_ALONG if a in axes else 1) for k, a in enumerate("xy"))
    points = np.stack(np.meshgrid(upper[2] - depths, y, x, indexing="ij")[::-1], -1).reshape(-1, 3)
    values = at_points(field, ["rho", "mu"], points, np.ones(len(points), np.int64))
    speed = np.sqrt(values["mu"] / values["rho"]).reshape(len(depths), -1).min(1)
    return np.asarray(np.minimum.accumulate(speed[::-1])[::-1])


def proposed_faces(
    allowed: np.ndarray, spacing: float, first: float, ratios: Sequence[int]
) -> list[tuple[float, float]] | None:
    """Return (depth, spacing) [m] of blocks with spacings growing by ``ratios``, or None if they do not fit.

    Each block begins at the smallest depth possible.

    Parameters
    ----------
    allowed : ndarray, shape (n,)
        Largest spacing [m] allowed at half a spacing below the surface, one and a half, ...
    spacing : float
        Spacing [m] of the uppermost block.
    first : float
        Smallest depth [m] of the first face.
    ratios : sequence of int
        Ratio of each spacing to the one above.
    """
    found, top, h, depth = list[tuple[float, float]](), 0.0, spacing, spacing * len(allowed)
    for ratio in ratios:
        start = max(top + MIN_BLOCK * h, first)
        coarser = np.flatnonzero(allowed >= ratio * h * (1 - 1e-9))
        if not len(coarser):
            return None
        start = max(start, spacing * int(coarser[0]))
        top += h * np.ceil((start - top) / h - 1e-6)
        h *= ratio
        found.append((float(top), h))
    return found if depth - top >= LEAST * h else None


def points_of(plan: FdPlan, upper: np.ndarray, blocks: Sequence[tuple[float, float]]) -> float:
    """Return the number of points of the grid with these blocks and upper corner; infinite if it cannot be built."""
    case = plan.case
    assert case.grid is not None
    listed = [Block(below=below, spacing=h) for below, h in blocks]
    other = case.model_copy(update={"grid": case.grid.model_copy(update={"blocks": listed})})
    try:
        grid_blocks = build_blocks(other, plan.lower, upper, plan.scheme.grid.spacing, _sides(plan), Problems())
    except InputError:
        return np.inf
    return float(sum(block.grid.box.points for block in grid_blocks))


def _grown(plan: FdPlan, spacing: float) -> np.ndarray:
    """Return the upper corner (3,) [m] of the box grown to multiples of a spacing at absorbing sides of x and y."""
    upper = plan.upper.copy()
    for k, axis in enumerate("xy"):
        if plan.scheme.sides[f"{axis}+"] == SideKind.ABSORBING:
            upper[k] = plan.lower[k] + spacing * np.ceil((upper[k] - plan.lower[k]) / spacing - EVEN)
    return upper


def _sides(plan: FdPlan) -> dict[str, SideKind]:
    """Return the kinds of the sides of the whole grid."""
    return {**plan.scheme.sides, "z-": plan.blocks[-1].scheme.sides["z-"]}


def propose_blocks(plan: FdPlan) -> Proposal:
    """Return the proposal with the fewest points."""
    grid, setting = plan.scheme.grid, plan.case.grid
    assert setting is not None
    h, best = grid.spacing, Proposal([], plan.upper, float(plan.points))
    planes = int((plan.upper[2] - plan.lower[2]) / h)
    slow = slowest_below(plan.material, plan.lower, plan.upper, h * (np.arange(planes) + 0.5))
    if not slow.all():
        return best
    allowed = slow / (setting.points_per_wavelength * plan.frequency)
    first = 0.0 if grid.relief is None else grid.relief.thickness + (PLANES_BELOW_CURVILINEAR + REACH + 1 + LOW) * h
    for ratios in _ratios(float(allowed.max() / h)):
        listed = proposed_faces(allowed, h, first, ratios)
        if listed is None:
            continue
        upper = _grown(plan, listed[-1][1])
        points = points_of(plan, upper, listed)
        if points * LEAST_GAIN < min(best.points, plan.points):
            best = Proposal(listed, upper, points)
    return best


def _ratios(most: float, left: int = MOST_BLOCKS) -> Iterator[tuple[int, ...]]:
    """Yield the sequences of spacing ratios whose product is at most ``most``."""
    for ratio in RATIOS:
        if left and ratio <= most * (1 + 1e-9):
            yield (ratio,)
            for more in _ratios(most / ratio, left - 1):
                yield (ratio, *more)


def report_blocks(plan: FdPlan) -> list[tuple[str, ...]]:
    """Return the rows of the report about the blocks of a plan, or about proposed ones."""
    top = float(plan.upper[2])
    if plan.below:
        rows = []
        for n, block in enumerate(plan.blocks):
            grid, m = block.scheme.grid, block.medium
            nz, ny, nx = grid.shape
            low, high = (max(0.0, top - z) for z in (block.lower[2] if n else plan.below[0].upper[2], block.upper[2]))
            first, last = (high, low) if n else (0.0, low)
            rows.append(
                (
                    f"block {n + 1}",
                    f"{grid.spacing:g} m from {first:g} to {last:g} m depth, {nx} x {ny} x {nz} points, Vs from {m.slowest:.6g} m/s",
                )
            )
        one = points_of(plan, plan.upper, [])
        what = f"{plan.points:,}; with {plan.scheme.grid.spacing:g} m everywhere {one:,.0f}, {one / plan.points:.3g} times as many"
        return [*rows, ("points", what)]
    if plan.scheme.order != 4:
        return []
    made, requested = propose_blocks(plan), plan.case.grid.upper if plan.case.grid else None
    if not made.blocks:
        return []
    settings = [f"spacing: {plan.scheme.grid.spacing:g} m"]
    given = plan.upper if requested is None else np.array(requested)
    if (made.upper[:2] > given[:2] + EVEN * plan.scheme.grid.spacing).any():
        x, y, z = (*made.upper[:2], given[2])
        settings.append(f"upper: [{x:.10g} m, {y:.10g} m, {z:.10g} m]")
    text = ", ".join(f"{{below: {below:g} m, spacing: {h:g} m}}" for below, h in made.blocks)
    what = f"{made.points:,.0f} points, {plan.points / made.points:.3g} times fewer, and as many steps or fewer"
    return [("proposed", f"grid: {{{', '.join(settings)}, blocks: [{text}]}}"), ("with these", what)]
