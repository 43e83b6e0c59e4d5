"""Cells with small time steps: stable steps of slivers, and a warning about the few cells that dominate the cost of a run.

The inradius alone does not bound the stable step of a flat cell (docs/theory/time-stepping.md, "Flat cells"). Therefore the operator
advances every such cell with its neighbours, cut out of the mesh, from white noise. Each cell is scaled by its own step, so
that all steps are 1 and one operator advances many patches at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from faultwave import backends
from faultwave.base.wording import command
from faultwave.dg.mesh.distributed_mesh import NeedsWholeMesh
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.method.forms import Cells, Form, form
from faultwave.dg.operators.build_layout import Connections, build_layout
from faultwave.dg.operators.stepper import AderOperator, AderStepper
from faultwave.domain import tets
from faultwave.domain.tets.mesh import BoundaryKind
from faultwave.media.points import coordinates

SHARE, FEWEST = 1000, 10
"""Fraction (one in ``SHARE``) and minimum number of cells that count as few."""
SMALL, LONGER = 0.5, 1.5
"""Step relative to the usual one that counts as small, and factor of the run time that justifies a warning."""
NAMED_COSTLY_CELLS = 3


def warn_costly(planning: Planning, step: np.ndarray, cluster: Callable[[np.ndarray], tets.Clustering]) -> None:
    """Warn if a few cells make the run much longer.

    Parameters
    ----------
    planning : Planning
        Case, which collects the warning.
    step : (nc,) float
        Stable steps [s].
    cluster : callable
        Clustering of stable steps, as the run uses it.
    """
    few = min(max(FEWEST, len(step) // SHARE), len(step) // 4)
    if few == 0 or planning.whole.elsewhere:  # a partition does not know the clusters of other partitions
        return
    usual = float(np.partition(step, few)[few])
    small = int((step < SMALL * usual).sum())
    if small == 0:
        return
    longer = update_rate(cluster(step)) / update_rate(cluster(np.maximum(step, usual)))
    if longer < LONGER:
        return
    worst = tets.worst_cells(planning.mesh, planning.topology, planning.geometry, min(NAMED_COSTLY_CELLS, small), step)
    named = "; ".join(
        f"cell {c.cell} at ({', '.join(f'{x:.6g}' for x in c.centroid)}), inradius {c.inradius:.3g} m, {c.reason}"
        for c in worst
    )
    what = (
        f"{small} {'cell makes' if small == 1 else 'cells make'} the run {longer:.2g} times as long as without: {named}"
    )
    planning.problems.warn("mesh", what, advice=f"Remesh there: '{command('plan')}' lists more of them.")


def update_rate(clustering: tets.Clustering) -> float:
    """Return the number of cell updates per second of simulated time."""
    return float((clustering.histogram / clustering.steps).sum())


FLAT = 30.0
"""Ratio of longest edge to inradius above which a cell is tested; it is 4.9 in a regular tetrahedron."""
MARGIN, LESS = 1.1, 0.9
"""Factor on the step at which the test must be stable, as well-shaped cells are, and factor by which an unstable step is reduced."""
TRIES = 20
"""Largest number of reductions."""
STEPS, EVERY, GROWTH = 60, 10, 1e-3
"""Steps from white noise, steps between two measurements, and growth per step, in the second half, that counts as unstable."""
MOST, TOGETHER = 512, 128
"""Largest numbers of cells to test, flattest first, and to test at once; other flat cells take the smallest factor found."""
NAMED_SLIVERS = 3


@dataclass(frozen=True)
class Patches:
    """Patches of cells cut out of the mesh, each a cell with its neighbours.

    Attributes
    ----------
    cells : (n,) int
        Cells in the mesh.
    patch : (n,) int
        Patch of each cell.
    neighbours : (n, 4) int
        Neighbours as indices of this list, -1 for none.
    """

    cells: np.ndarray
    patch: np.ndarray
    neighbours: np.ndarray


def sliver_stable_steps(planning: Planning, step: np.ndarray, available: float) -> np.ndarray:
    """Return the stable steps of all cells, reduced in flat cells where waves would grow.

    Laws with reaction terms and the method of lines use the given steps unchanged.

    Parameters
    ----------
    planning : Planning
        Mesh, law and material of the case.
    step : (nc,) float
        Steps by the inradius [s].
    available : float
        Largest stable CFL number over the CFL number of the case.

    Returns
    -------
    (nc,) array
        Stable steps [s].

    Raises
    ------
    NeedsWholeMesh
        If flat cells exist and the mesh is distributed over processes.
    """
    if planning.case.numerics.integrator != "ader":
        return step
    trial = form(planning.law, planning.case.numerics.order, fast=False)
    if trial.reactions:
        return step
    flat = tets.flatness(planning.geometry)
    tried = np.flatnonzero(flat > FLAT)
    if planning.whole.elsewhere and planning.whole.any(len(tried) > 0):
        raise NeedsWholeMesh  # data of neighbours on other processes are missing here
    if not len(tried):
        return step
    tried = tried[np.argsort(-flat[tried], kind="stable")]
    found = [
        _shares(planning, trial, step, tried[i : min(i + TOGETHER, MOST)], min(MARGIN, available))
        for i in range(0, min(len(tried), MOST), TOGETHER)
    ]
    share = np.concatenate(found)
    borne = step.copy()
    borne[tried[: len(share)]] *= share
    borne[tried[len(share) :]] *= share.min()
    return borne


def _shares(planning: Planning, trial: Form, step: np.ndarray, tried: np.ndarray, margin: float) -> np.ndarray:
    """Return the factors (n,) for the steps of the cells ``tried`` (n,), stable at ``margin`` times the reduced step."""
    share = np.ones(len(tried))
    growing = np.arange(len(tried))
    for _ in range(TRIES):
        patches = cut_patches(tried[growing], planning.topology.neighbours)
        least = (share[growing] * step[tried[growing]])[patches.patch]
        steps = margin * np.minimum(least, step[patches.cells])
        growing = growing[growth(planning, trial, patches, steps) > GROWTH]
        if not len(growing):
            break
        share[growing] *= LESS
    else:
        what = (
            f"{len(growing)} flat cells are unstable at {share.min():.2g} of the step by their inradius, where the tests end: the run may "
            f"grow without bound; the first is at {coordinates(planning.geometry.centroids[tried[growing[0]]])}"
        )
        planning.problems.warn("mesh", what, advice="Remesh there.")
    return share


def cut_patches(centres: np.ndarray, neighbours: np.ndarray) -> Patches:
    """Return the patches around the cells ``centres`` (n,); ``neighbours`` (nc, 4) belongs to the mesh."""
    groups = [np.unique([c, *(n for n in neighbours[c] if n >= 0)]) for c in centres]
    begin = np.cumsum([0, *(len(g) for g in groups)])
    near = np.full((begin[-1], 4), -1)
    for first, group in zip(begin, groups, strict=False):
        beyond = neighbours[group]
        place = np.minimum(np.searchsorted(group, beyond), len(group) - 1)
        near[first : first + len(group)] = np.where(group[place] == beyond, first + place, -1)
    patch = np.repeat(np.arange(len(groups)), np.diff(begin))
    return Patches(np.concatenate(groups), patch, near)


def growth(planning: Planning, trial: Form, patches: Patches, steps: np.ndarray) -> np.ndarray:
    """Return the logarithmic growth per step of white noise in each patch, where each cell takes its own of ``steps`` (n,) [s]."""
    top = planning.topology
    none = np.zeros(patches.neighbours.shape, bool)
    here = np.arange(len(patches.cells))
    connections = Connections(
        patches.neighbours, top.neighbour_faces[patches.cells], np.zeros_like(here), none, np.zeros(len(here), bool)
    )
    backend = backends.make("numpy", "double", 1)
    layout = build_layout(connections, here, backend.lanes)
    operator = AderOperator(trial, backend, layout, _cells(planning, patches, steps))
    stepper = AderStepper(operator)
    q = np.random.default_rng(0).standard_normal((len(here), trial.b3, trial.Q))
    logarithm = np.zeros(patches.patch[-1] + 1)
    for at in range(0, STEPS, EVERY):
        operator.set_dofs(q)
        for _ in range(EVERY):
            stepper.predict(0, 1.0, True)
            stepper.correct(0, 1.0)
        q = operator.dofs()
        size = np.sqrt(np.bincount(patches.patch, (q * q).sum((1, 2))))
        q = q / size[patches.patch, None, None]
        if at >= STEPS // 2:
            logarithm += np.log(size)
    return logarithm / (STEPS - STEPS // 2)


def _cells(planning: Planning, patches: Patches, steps: np.ndarray) -> Cells:
    """Return the cells of patches, scaled by their ``steps``.

    No wave enters where a patch is cut out of the mesh, nor through boundaries whose reflection is not part of the law.
    """
    top, shape, of = planning.topology, planning.geometry, patches.cells
    kinds, length = top.kinds[of], steps[:, None]
    names = {int(k): k.name.lower().replace("_", "-") for k in BoundaryKind}
    own = np.isin(kinds, [k for k, name in names.items() if name in planning.law.boundaries])
    cut = (patches.neighbours < 0) & ((top.neighbours[of] >= 0) | ~own)
    reflection_coefficients = np.where(cut[..., None], 0.0, np.full(2, np.nan))
    return Cells(
        shape.inverse[of] * length[..., None], shape.volume[of] / steps**3, shape.areas[of] / length**2, shape.normals[of],
        patches.neighbours, kinds, np.zeros(kinds.shape, bool), {k: v[of] for k, v in planning.material.items()},
        reflection_coefficients=reflection_coefficients,
    )  # fmt: skip


def warn_slivers(planning: Planning, step: np.ndarray, borne: np.ndarray, longer: float) -> None:
    """Warn about cells whose stable step is smaller than ``step``, unless they are few and cost little.

    Parameters
    ----------
    planning : Planning
        Case, which collects the warning.
    step, borne : (nc,) float
        Steps by the inradius and stable steps [s].
    longer : float
        Factor by which the run takes longer.
    """
    shorter = np.flatnonzero(borne < step)
    if not len(shorter) or (len(shorter) < FEWEST and longer < LONGER):
        return
    flat = tets.flatness(planning.geometry)
    worst = shorter[np.argsort((borne / step)[shorter], kind="stable")][:NAMED_SLIVERS]
    named = "; ".join(
        f"cell {c} at ({', '.join(f'{x:.6g}' for x in planning.geometry.centroid(c))}), longest edge {flat[c]:.3g} inradii "
        f"of {planning.geometry.inradius[c]:.3g} m, step {borne[c] / step[c]:.2g} of that"
        for c in worst
    )
    what = (
        f"{len(shorter)} flat {'cell is' if len(shorter) == 1 else 'cells are'} not stable at the time step of "
        f"the inradius; shorter steps there make the run {longer:.3g} times as long: {named}"
    )
    planning.problems.warn("mesh", what, advice="Remesh there for a faster run.")
