"""Checkpoints of a grid: every array that a step changes.

A resumed run is identical to an uninterrupted one to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.precision import number_bytes
from faultwave.base.types import Record, Settings
from faultwave.domain.grids import Triple
from faultwave.engine.capability import BlockState
from faultwave.fd.capability import FdPlan, GridCapabilityPlan, observers
from faultwave.fd.method.program import build_program
from faultwave.fd.operators.operator import Operator
from faultwave.fd.operators.time_dispersion import removes
from faultwave.kernels.overlap import intersect
from faultwave.kernels.stencil import Box, Program, record

SCHEME = (
    "surface of second order, sampled seismograms, state by capability, separate sources, steps of fault "
    "receivers, losses of soil"
)
"""Version of the scheme and of the contents of a checkpoint.

The text changes whenever one of them does, so that checkpoints of incompatible earlier versions are refused.
"""
RECORDING = ("receivers", "soil_output", "fault_receivers")
"""Capabilities whose samples a checkpoint contains."""
WEIGHTS = (2654435761, 40503, 2246822519)
"""Odd numbers that make the checksum of a material depend on the positions of its values."""


def moving(program: Program) -> dict[str, int]:
    """Return every array that a step changes, with the width of its halo."""
    names = {launch.names.get(n, n) for level in program.levels for launch in level for n in record(launch.stencil)[1]}
    return {name: program.arrays[name].halo for name in program.arrays if name in names}


def checkpoint_bytes(plan: FdPlan) -> float:
    """Return the size [bytes] of a checkpoint of the whole run.

    It contains all arrays that a step changes, including the arrays of layers, soil and intensity maps, and
    everything that has been recorded by the end.
    """
    number, found = number_bytes(plan.case.numerics.precision), 0.0
    for block in plan.blocks:
        scheme = block.scheme
        program = build_program(scheme, observers=observers(plan.parts, scheme, scheme.grid.box))
        for name, halo in moving(program).items():
            found += float(number * np.prod([n + 2.0 * halo for n in program.arrays[name].box.shape]))
    recorded = (plan.parts[name].requirements.disk for name in RECORDING if name in plan.parts)
    return found + float(sum(recorded))


def identity(plan: FdPlan, operator: Operator) -> Settings:
    """Return the properties that must agree for a run to resume; a collective call of all processes."""
    parts = {name: part.must_match for name, part in plan.parts.items() if part.must_match is not None}
    own, *below = (_block_identity(p, op, plan.parts) for p, op in zip(plan.blocks, operator.blocks, strict=True))
    return {
        "scheme": SCHEME,
        "points": own["points"], "corner": own["corner"], "spacing": own["spacing"], "step": plan.scheme.step,
        "precision": plan.case.numerics.precision, "material": own["material"], "arrays": own["arrays"],
        "sources": sources(plan), **_choices(plan), **parts, **({"blocks": below} if below else {}),
    }  # fmt: skip


def _block_identity(plan: FdPlan, operator: Operator, parts: Mapping[str, GridCapabilityPlan]) -> Settings:
    """Return the properties of one block, or of the whole grid; ``parts`` are all capabilities of the run."""
    scheme = plan.scheme
    arrays = moving(build_program(scheme, observers=observers(parts, scheme, scheme.grid.box)))
    return {
        "points": list(scheme.grid.shape), "corner": list(scheme.grid.lower), "spacing": scheme.grid.spacing,
        "material": material(plan, operator), "arrays": sorted(arrays),
    }  # fmt: skip


def _choices(plan: FdPlan) -> Settings:
    """Return the settings that differ from the defaults of early versions, so that their checkpoints remain valid."""
    order = 4 if plan.case.grid is None else plan.case.grid.order
    found: Settings = {} if order == 4 else {"order": order}
    return found | ({"time_dispersion": "remove"} if removes(plan.case) else {})


def sources(plan: FdPlan) -> str:
    """Return a digest of all sources; the contents of source files are no part of the case."""
    return sha256(plan.radiating.identity().tobytes()).hexdigest()


def material(plan: FdPlan, operator: Operator) -> dict[str, int]:
    """Return a checksum of each coefficient, weighted by position, that is independent of the partition."""
    subdomain, coefficients = operator.subdomain, plan.medium.coefficients
    sums = np.zeros(len(coefficients), np.uint64)
    for n, values in enumerate(coefficients.values()):
        values = np.asarray(values)
        while values.ndim < 3:
            values = values[None]
        if any(size == 1 and low > 0 for size, low in zip(values.shape, subdomain.owned.box.lo, strict=True)):
            continue  # constant along an axis: counted once, by the process at its beginning
        own = tuple(s if size > 1 else slice(0, 1) for s, size in zip(subdomain.own, values.shape, strict=True))
        bits = np.ascontiguousarray(values[own])
        bits = bits.view({4: np.uint32, 8: np.uint64}[bits.itemsize]).astype(np.uint64)
        for k, (low, odd) in enumerate(zip(subdomain.owned.box.lo, WEIGHTS, strict=True)):
            places = (low * (values.shape[k] > 1) + np.arange(bits.shape[k])).astype(np.uint64)
            line = places * np.uint64(2 * odd) + np.uint64(odd)
            bits = bits * line.reshape([-1 if d == k else 1 for d in range(3)])
        sums[n] = bits.sum(dtype=np.uint64)
    return dict(zip(coefficients, map(int, plan.world.total(sums)), strict=True))


def blocks(operator: Operator) -> dict[str, dict[str, BlockState]]:
    """Return the stored part of every changing array of this process, by block of the grid.

    Together the processes store every number exactly once.
    """
    found = {}
    for n, op in enumerate(operator.blocks):
        retained = {name: _block(op, name, halo) for name, halo in moving(op.runner.program).items()}
        found["grid" if n == 0 else f"block{n + 1}"] = retained
    return found


def _block(op: Operator, name: str, halo: int) -> BlockState:
    box = _stored_box(op, name)

    def take(values: np.ndarray, low: Triple) -> None:
        layout = op.runner.program.arrays[name]
        stored = Box(low, tuple(a + n for a, n in zip(low, values.shape, strict=True)))
        found = intersect(stored, _with_halo(layout.box, halo))
        if found.points:
            at = tuple(slice(a - b, a - b + n) for a, b, n in zip(found.lo, low, found.shape, strict=True))
            _within(op, op.runner.view(name, halo), name, found)[...] = values[at]

    return BlockState(box.lo, lambda: _within(op, op.runner.values(name, halo), name, box), take)


def _with_halo(box: Box, halo: int) -> Box:
    """Return a box grown by its halo."""
    return Box(*(tuple(v + s * halo for v in c) for c, s in ((box.lo, -1), (box.hi, 1))))  # type: ignore[arg-type]


def _stored_box(op: Operator, name: str) -> Box:
    """Return the box of an array that this process stores."""
    layout = op.runner.program.arrays[name]
    available, found = _with_halo(layout.box, layout.halo), op.subdomain.stored_box(layout.halo)
    if layout.box.hi[0] > op.scheme.grid.shape[0]:  # part of the surface, above the owned box
        found = Box(found.lo, (available.hi[0], *found.hi[1:]))
    if layout.box.lo[0] < 0:  # part of the face to a grid below
        found = Box((available.lo[0], *found.lo[1:]), found.hi)
    return intersect(available, found)


def _within(op: Operator, array: np.ndarray, name: str, box: Box) -> np.ndarray:
    """Return the values in a box of an array that includes its halo."""
    layout = op.runner.program.arrays[name]
    low = [a - b + layout.halo for a, b in zip(box.lo, layout.box.lo, strict=True)]
    return array[tuple(slice(a, a + n) for a, n in zip(low, box.shape, strict=True))]


def check_identity(where: str, then: Record | None, now: Record) -> None:
    """Raise InputError if a run cannot resume from the checkpoint ``where`` of another grid."""
    if then is None:
        raise InputError(Problem(where, "was written by another engine", "engine: fd"))
    other = [name for name in {**now, **then} if then.get(name) != now.get(name)]
    if other:
        what = ", ".join(other)
        advice = "Resume with the original case."
        raise InputError(Problem(where, f"was written by a run with another {what}", advice=advice))
