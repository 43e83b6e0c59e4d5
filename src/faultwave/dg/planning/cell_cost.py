"""Computational cost of each cell of a plan, for the partition of its mesh."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultwave.dg.planning.plan import Plan
from faultwave.domain.tets.partition import Weights, weights


def weights_of(plan: Plan) -> Weights:
    """Return the weights of a planned run: friction by its law's work; cells at faults, currents and incident waves stay together."""
    clustering, near = plan.clustering, plan.topology.neighbours
    rates = np.cumprod([1, *clustering.ratios[:-1]])
    given = weights(clustering.cluster, rates, near, plan.frictional, plan.case.numerics.order, plan.face_work)
    return replace(given, together=(plan.frictional | plan.driven) & (near >= 0))
