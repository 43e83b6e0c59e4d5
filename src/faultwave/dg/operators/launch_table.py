"""Kernels of ADER steps, bound to the buffers of an operator, and the launches of each step of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from faultwave.backends.base import Bound, Launch
from faultwave.dg.method.outgoing_waves import part_weights
from faultwave.dg.operators import kernels
from faultwave.dg.operators.operator import Operator
from faultwave.kernels.expr import Scalars, Table
from faultwave.kernels.language import fuse

FEW_CELLS = 4096
"""Largest number of plain cells of a cluster that do not get a launch of their own.

A large device works on more cells than this at once, so that a separate launch would not finish any sooner.
"""


@dataclass
class DeferredCells:
    """Plain cells that a started step has not processed yet, from index ``at`` to ``end``, and the ``launch`` for a range of them."""

    at: int
    end: int
    launch: Callable[[int, int], None]


class LaunchTable:
    """Compiled kernels of an operator, one launch of each for every combination of wave slots.

    Attributes
    ----------
    launches : dict of str to list of callable
        Launches by name of the kernel, indexed by ``index``.
    suffixes : tuple of str
        Suffixes of the kernels of cells without stored derivatives, of cells with all outputs, and of cells without parts of steps.
    merges_plain : list of bool
        Clusters whose plain cells run the storing kernel with the others: one launch instead of several.
    """

    def __init__(self, operator: Operator, alone: bool = True):
        """Compile the kernels and bind them; ``alone`` as in ``AderStepper``."""
        self.operator = operator
        lay, backend, penalty = operator.layout, operator.backend, operator.penalty
        self.to_faster, self.to_slower = operator.part_slots is not None, bool(operator.sum_slots)
        parts, penalised = lay.parts if self.to_faster else 0, penalty.penalised if penalty else None
        friction = bool((lay.friction.slots > 0).any())
        storing = (
            kernels.StoringVariant(friction, penalised, True, parts, operator.flows)
            if friction or penalised or (lay.history.slots > 0).any()
            else None
        )
        split = kernels.StoringVariant(derivatives=False, parts=parts) if parts else None
        # Most cells at a fault need no integrals over parts of steps, which are a tenth of their work.
        ends = tuple(end for _, end in lay.storing_ranges)
        lean = replace(storing, parts=0) if storing and parts and lay.whole_begins != ends else None
        most = storing or split
        self.suffixes = tuple(variant.name if variant else "" for variant in (split, most, lean or most))
        self.launches = self._bind((split, lean, storing))
        # On a device only: in small clusters a launch costs more than the storing kernel on plain cells.
        few = [
            end - begin <= FEW_CELLS and alone and backend.capabilities.asynchronous for begin, end in lay.plain_ranges
        ]
        self.merges_plain = [f and end > begin for f, (begin, end) in zip(few, lay.storing_ranges, strict=True)]

    def _bind(self, storing: tuple[kernels.StoringVariant | None, ...]) -> dict[str, list[Launch]]:
        """Return the launches of all kernels; ``storing`` are the variants that store, the last of them with all outputs."""
        op, form, lay, penalty = self.operator, self.operator.form, self.operator.layout, self.operator.penalty
        work = tuple(work.kernel(form) for work in op.cell_work)
        compensated, later = op.remainder is not None, self.to_slower
        variants = [None, *(variant for variant in storing if variant)]
        wanted = [kernels.predict(form, variant, compensated, later) for variant in variants]
        wanted += [kernels.correct_and_predict(form, variant, work, compensated, later) for variant in variants]
        wanted += [kernels.correct(form, None, compensated)]
        wanted += [kernels.correct(form, storing[-1], compensated)] if penalty else []
        wanted += [fuse("between", *work)] if work else []
        compiled = op.backend.compile(wanted)
        common: dict[str, Bound | None] = {
            "q": op.q, "cell": op.cell, "face": op.face, "waves": op.waves, "own_waves": op.own_waves, "history": op.history,
            "slot": op.history_slot, "friction": op.friction, "friction_slots": op.friction_slots, "part_slots": op.part_slots,
            **op.own,
        }  # fmt: skip
        if op.remainder is not None:
            common["remainder"] = op.remainder
        launches: dict[str, list[Launch]] = {name: [] for name in compiled}
        for turn in range(lay.parts):
            incoming = op.incoming[turn % len(op.incoming)]
            for parity, sums in enumerate(op.sum_slots or [None]):
                slots = {"incoming": incoming, "outgoing": op.outgoing[turn % 2], "sum_slots": sums}
                bound = common | slots | (penalty.bound(turn, parity) if penalty else {})
                buffers = {name: buffer for name, buffer in bound.items() if buffer is not None}
                for name, bind in compiled.items():
                    launches[name].append(bind(buffers))
        return launches

    def index(self, cluster: int) -> int:
        """Return the index of the launch of a cluster's current step in the list of each kernel."""
        op = self.operator
        return op.turns[cluster] * 2 + op.sums[cluster] if self.to_slower else op.turns[cluster]

    def run(self, name: str, cells: tuple[int, int], index: int, **scalars: Table) -> None:
        """Launch a kernel on a range of cells, if there are any."""
        if cells[1] > cells[0]:
            self.launches[name][index](*cells, **scalars)

    def begin(
        self, name: str, cluster: int, before: float, restart: bool, ends: Sequence[float]
    ) -> DeferredCells | None:
        """Launch a step on the cells that publish more than waves, and return the plain cells; None if there are none.

        Parameters
        ----------
        name : str
            Kernel: 'predict' or 'correct_and_predict'.
        cluster : int
            Cluster, for which ``operator.steps`` is already the length of this step.
        before : float
            Length of the step before [s].
        restart, ends
            As in ``AderStepper.predict``.
        """
        op, launches, index, suffixes = self.operator, self.launches, self.index(cluster), self.suffixes
        lay, weights = op.layout, self._weights(cluster, restart, ends)
        observed = "predict" + suffixes[1], lay.observed_ranges[cluster], weights
        if name != "predict":
            weights = {**weights, **self.work_scalars(before), **op.predictor.ended(before)}
        (begin, end), plain = lay.storing_ranges[cluster], lay.plain_ranges[cluster]
        bounds = [lay.split_ends[cluster], lay.whole_begins[cluster], end]
        if self.merges_plain[cluster]:
            bounds, plain = [begin, plain[1], plain[1]], (plain[1], plain[1])
        kinds = [i for i in range(3) if suffixes[i] not in suffixes[i + 1 :]]  # equal kernels share a launch
        listed = [observed]
        for i in kinds:
            listed.append((name + suffixes[i], (begin, bounds[i]), weights))
            begin = bounds[i]
        for kernel, cells, scalars in listed:
            self.run(kernel, cells, index, **scalars)
        return DeferredCells(*plain, partial(launches[name][index], **weights)) if plain[1] > plain[0] else None

    def work_scalars(self, step: float) -> Scalars:
        """Return the scalars of the operations between correction and prediction, after a step of length ``step`` [s]."""
        return {name: value for work in self.operator.cell_work for name, value in work.scalars(step).items()}

    def _weights(self, cluster: int, restart: bool, ends: Sequence[float]) -> dict[str, Table]:
        """Return the arguments of the kernels that predict the next step."""
        own, step = self.operator.predictor, self.operator.steps[cluster]
        found = {"advance": own.at(step, step), "integral": own.integral(0.0, step, step), **own.scalars(step)}
        return found | {"keep": 0.0 if restart else 1.0} | self._part_weights(cluster, step, ends)

    def _part_weights(self, cluster: int, step: float, ends: Sequence[float]) -> dict[str, list[float]]:
        """Return the weights of the integrals over the parts of a step, in the slots that the faster cluster reads in its next steps."""
        if not self.to_faster:
            return {}
        op = self.operator
        if not cluster:
            ends = ()
        elif not ends:
            raise ValueError("the ends of the next faster cluster's steps are missing")
        # If its sums do not belong to the step that ends now, the faster cluster has already predicted the first of these steps.
        ahead = cluster and op.sums[cluster - 1] != op.turns[cluster] % 2
        first = op.turns[cluster - 1] + (0 if ahead else 1)
        return part_weights(op.predictor, step, ends, first, op.layout.parts)
