"""What each cell of a plan costs, for cutting its mesh among processes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from faultwave.domain.tets.partition import Weights, weights

if TYPE_CHECKING:
    from faultwave.dg.plan import Plan


def weights_of(plan: Plan) -> Weights:
    """Weights of a planned run: friction by its law's work; cells at faults, currents and incident waves stay together."""
    clustering, near = plan.clustering, plan.topology.neighbours
    rates = np.cumprod([1, *clustering.ratios[:-1]])
    work = plan.fault.law.work if plan.fault is not None else 0.0
    given = weights(clustering.cluster, rates, near, plan.frictional, plan.case.numerics.order, work)
    return replace(given, together=(plan.frictional | plan.drives.driven) & (near >= 0))
