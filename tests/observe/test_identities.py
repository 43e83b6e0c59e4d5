"""Identities of outputs on histories that are known exactly, and on ones that violate each."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.observe.dataset import Dataset, FaultFrame, Variable, fault_receivers_from_arrays, receivers_from_arrays
from faultwave.observe.identities import check_identities, violations

TIME = np.linspace(0.0, 2.0, 401)
NAMES = ("SRs", "SRd", "Sls", "Sld", "ASl", "PSR", "RT", "Ts0", "Td0", "Pn0", "Mud")


def fault(**changed: np.ndarray) -> Dataset:
    """A point that breaks at 0.5 s and slips as t^2 along 0.8 strike and 0.6 dip under a friction of 0.5."""
    after = np.maximum(TIME - 0.5, 0.0)
    rate, slip = 2.0 * after, after**2
    traction = np.where(rate > 0, 50e6, 40e6)
    columns = {
        "SRs": 0.8 * rate, "SRd": 0.6 * rate, "Sls": 0.8 * slip, "Sld": 0.6 * slip, "ASl": slip,
        "PSR": np.maximum.accumulate(rate), "RT": np.where(rate > 1e-3, 0.5005, 0.0), "Ts0": 0.8 * traction,
        "Td0": 0.6 * traction, "Pn0": np.full_like(TIME, -100e6), "Mud": np.full_like(TIME, 0.5),
    } | changed  # fmt: skip
    values = np.stack([columns[n] for n in NAMES], -1)[:, None]
    e = np.eye(3)
    frame = FaultFrame(e[1:2], e[:1], -e[2:], [[-100e6, 32e6, 24e6]])
    return fault_receivers_from_arrays(TIME[:, None], values, NAMES, np.zeros((1, 3)), frame=frame)


def test_exact_histories_obey_every_identity() -> None:
    found = check_identities([fault()])
    assert {f.identity for f in found} == {"slip", "path", "strength", "peak slip rate", "rupture time"}
    assert not violations(found)


@pytest.mark.parametrize("changed, identity", [
    ({"SRs": np.zeros_like(TIME)}, "slip"),
    ({"Sld": 0.7 * np.maximum(TIME - 0.5, 0.0) ** 2}, "slip"),
    ({"ASl": 1.1 * np.maximum(TIME - 0.5, 0.0) ** 2}, "path"),
    ({"PSR": np.full_like(TIME, 1.0)}, "peak slip rate"),
    ({"RT": np.where(TIME > 0.6, 0.6, 0.0)}, "rupture time"),
    ({"RT": np.zeros_like(TIME)}, "rupture time"),
    ({"Mud": np.full_like(TIME, 0.502)}, "strength"),
    ({"Ts0": np.full_like(TIME, 44e6)}, "strength"),
])  # fmt: skip
def test_each_violation_is_found(changed: dict, identity: str) -> None:
    bad = {f.identity for f in check_identities([fault(**changed)]) if not f.holds}
    assert identity in bad


def test_padding_and_points_that_rest_are_left_out() -> None:
    data = fault()
    time = np.concatenate([data["time"], np.full((3, 1), np.nan)])
    values = np.concatenate([data["values"], np.full((3, 1, len(NAMES)), np.nan)])
    frame = FaultFrame(*[np.zeros((1, 3))] * 4)
    padded = fault_receivers_from_arrays(time, values, NAMES, np.zeros((1, 3)), frame=frame)
    assert len(check_identities([padded])) == 5 and not violations(check_identities([padded]))
    still = fault_receivers_from_arrays(TIME[:, None], 0.0 * data["values"], NAMES, np.zeros((1, 3)), frame=frame)
    assert check_identities([still]) == []


def test_displacement_is_the_integral_of_velocity() -> None:
    v, u = np.cos(3.0 * TIME), np.sin(3.0 * TIME) / 3.0
    good = receivers_from_arrays(TIME, np.stack([v, u], -1)[:, None], ("v1", "u1"), np.zeros((1, 3)))
    late = receivers_from_arrays(TIME, np.stack([v, np.roll(u, 20)], -1)[:, None], ("v1", "u1"), np.zeros((1, 3)))
    assert not violations(check_identities([good]))
    assert len(violations(check_identities([late]))) == 1


@pytest.mark.parametrize("samples, onset, slope, holds", [
    (3, 0.0, 1.0, True), (3, 0.5, 1.0, True), (3, 1.0, 1.0, True), (3, 3.0, 1.0, False),
    (200, 0.0, 1.0, True), (200, 1.0, 1.0, True), (200, 0.5, 1.1, False),
])  # fmt: skip
def test_an_onset_lies_anywhere_between_two_samples(samples: int, onset: float, slope: float, holds: bool) -> None:
    """A point that moves at full speed in the last samples, and began ``onset`` intervals before the first of them."""
    moving = np.maximum(np.arange(401) - 400 + samples, 0)
    v = np.where(moving > 0, 1.0, 0.0)
    u = slope * np.where(moving > 0, moving - 1 + onset, 0.0) * (TIME[1] - TIME[0])
    data = receivers_from_arrays(TIME, np.stack([v, u], -1)[:, None], ("v1", "u1"), np.zeros((1, 3)))
    (found,) = check_identities([data])
    assert found.holds == holds


def test_moment_rate_integrates_to_the_moment() -> None:
    ends = np.array([0.1, 0.25, 0.3, 0.6])
    steps, moment = np.diff(ends, prepend=0.0), np.array([1.0, 4.0, 5.0, 7.0]) * 1e18
    rate = np.diff(moment, prepend=0.0) / steps
    for factor, holds in ((1.0, True), (1.01, False)):
        columns = {
            "time": Variable(ends - 0.5 * steps, ("time",), "s"),
            "moment_rate": Variable(factor * rate, ("time",), "N*m/s"),
            "seismic_moment": Variable(moment, ("time",), "N*m"),
        }
        (found,) = check_identities([Dataset("moment_rate", columns)])
        assert found.holds == holds


def test_waves_carry_at_most_the_work_of_the_faults() -> None:
    """In a closed body they carry all of it, less what the medium takes; ``true_`` energies replace the plain ones."""
    time, work = np.linspace(0.0, 2.0, 5), np.array([0.0, 1.0, 2.0, 3.0, 4.0]) * 1e15
    parts = {"total_frictional_work": work, "elastic_energy": 0.5 * work, "elastic_kinetic_energy": 0.3 * work}

    def found(closed: bool, **more: np.ndarray) -> list[bool]:
        columns = {n: Variable(v, ("time",)) for n, v in {"time": time, **parts, **more}.items()}
        return [
            f.holds for f in check_identities([Dataset("energies", columns)], closed=closed) if f.identity == "energy"
        ]

    assert found(False) == [True] and found(True) == [False]
    assert found(True, plastic_work=0.2 * work) == [True]
    assert found(False, plastic_work=0.3 * work) == [False]
    assert found(True, true_elastic_energy=0.7 * work) == [True]
    assert found(False, elastic_energy=np.array([0.0, 0.0, np.nan, 0.0, 0.0])) == [False]
    assert found(False, total_frictional_work=0.0 * work) == []


def test_unknown_identities_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown identities: slop"):
        check_identities([], {"slop": 1.0})
