"""Signs on the fault: what is right-lateral, normal and reverse, whichever side is called plus.

See docs/theory/friction.md, "Sides and directions".
"""

from __future__ import annotations

import numpy as np
import pytest

from .setup import ON_FAULT, patch, run, settings, slip_weakening, small_mesh

DIP = np.radians(60.0)
POINT_FOOT, POINT_HANGING = (0.0, -5000.0, -1000.0), (0.0, 5000.0, -1000.0)
# The fault dips 60 degrees towards +y: the hanging wall is the side of larger y. By 'point' plus is the side of the
# point; by 'direction' the side the vector points away from.
SIDES = [
    ("point", POINT_HANGING, True), ("point", POINT_FOOT, False),
    ("direction", (0.0, -1.0, 0.0), True), ("direction", (0.0, 1.0, 0.0), False),
]  # fmt: skip
ALONG_DIP = np.array([0.0, np.cos(DIP), -np.sin(DIP)])
HANGING_NORMAL = np.array([0.0, -np.sin(DIP), -np.cos(DIP)])  # outward normal of the hanging wall: into the footwall


def dipping(path, method: str, reference: tuple, stress: dict):
    """A 60 degree fault loaded by a stress tensor (constant) within a square patch of overstress."""
    points = np.outer([1800.0, 2600.0], ALONG_DIP) + [[300.0, 0.0, 0.0], [-400.0, 0.0, 0.0]]
    fault = {
        "friction": "linear-slip-weakening", "reference": reference, "reference_method": method,
        "parameters": {"constant": {"mu_s": 0.6, "mu_d": 0.4, "d_c": 0.4, "cohesion": 0.0, **stress}},
    }  # fmt: skip
    case = settings(path, fault, small_mesh(60.0), points=points, end_time=0.2)
    case["output"]["receivers"] = {"points": [[0.0, 1600.0, -1000.0], [0.0, -400.0, -1000.0]], "interval": 0.1}
    return run(case)


def tensor(normal: np.ndarray, direction: np.ndarray, compression: float, shear: float) -> dict[str, float]:
    """Stress with traction -compression n + shear d on the plane of normal n."""
    s = -compression * np.outer(normal, normal) + shear * (np.outer(normal, direction) + np.outer(direction, normal))
    return {f"s_{k}": s[i, j] for k, (i, j) in
            {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "yz": (1, 2), "xz": (0, 2)}.items()}  # fmt: skip


@pytest.mark.parametrize("method, reference, hanging_is_plus", SIDES)
@pytest.mark.parametrize("sense", ["normal", "reverse"])
def test_dip_slip(tmp_path, method: str, reference: tuple, hanging_is_plus: bool, sense: str) -> None:
    # In a normal fault the footwall pulls the hanging wall, which slides down, up: with the hanging wall's outward
    # normal the traction is up dip. The tensor is the same whatever side is called plus.
    down = -1.0 if sense == "normal" else 1.0
    h = dipping(tmp_path, method, reference, tensor(HANGING_NORMAL, ALONG_DIP, 100e6, down * 70e6))
    data = h.sim.fault_receivers
    assert np.allclose(data["dip"], ALONG_DIP, atol=1e-9)
    assert np.allclose(data["normal"], HANGING_NORMAL * (1 if hanging_is_plus else -1), atol=1e-9)
    assert np.allclose(np.abs(data["strike"]), [1, 0, 0], atol=1e-9)
    # reverse: positive if plus is the hanging wall; normal: positive if plus is the footwall
    expected = 1.0 if (sense == "reverse") == hanging_is_plus else -1.0
    for name in ("Sld", "SRd", "Td0"):
        assert (expected * h.last(name) > 0).all(), name
    assert (expected * data["initial_traction"][:, 2] > 69e6).all()
    assert (expected * h["T_d"][1:3] < 0).all()  # stress drops while slip goes on
    assert (np.abs(h.last("Sls")) < 0.02 * np.abs(h.last("Sld"))).all()
    # What moves, in space: the hanging wall (first receiver) goes down in a normal fault.
    vertical = h.sim.receivers.quantity("v3")[-1]
    assert vertical[0] * down > 0 > vertical[1] * down


@pytest.mark.parametrize("method, reference, hanging_is_plus", SIDES[:2])
def test_tractions_given_along_dip(tmp_path, method: str, reference: tuple, hanging_is_plus: bool) -> None:
    """T_d is along the dip vector on the plus side: positive slip and traction, reverse if plus is the hanging wall."""
    h = dipping(tmp_path, method, reference, {"T_n": -100e6, "T_s": 0.0, "T_d": 70e6})
    assert (h.last("Sld") > 0).all() and (h.last("Td0") > 0).all() and (h["SRd"][2] > 0).all()
    vertical = h.sim.receivers.quantity("v3")[-1]
    reverse = 1.0 if hanging_is_plus else -1.0
    assert vertical[0] * reverse > 0 > vertical[1] * reverse


@pytest.mark.parametrize(
    "method, side, lateral",
    [("point", -1.0, 1.0), ("point", 1.0, 1.0), ("direction", -1.0, 1.0), ("direction", 1.0, -1.0)],
)
def test_strike_slip(tmp_path, method: str, side: float, lateral: float) -> None:
    fault = slip_weakening(
        reference=(0.0, side * 1000.0, 0.0), reference_method=method,
        values={"T_n": -120e6}, expression={"T_s": patch(lateral * 83e6, lateral * 70e6)},
    )  # fmt: skip
    case = settings(tmp_path, fault, points=ON_FAULT[:1], end_time=0.2)
    case["output"]["receivers"] = {"points": [[0.0, -500.0, -2210.0], [0.0, 500.0, -2210.0]], "interval": 0.1}
    h = run(case)
    assert all((lateral * h.last(name) > 0).all() for name in ("Sls", "SRs", "Ts0"))
    south, north = h.sim.receivers.quantity("v1")[-1]
    # Right-lateral: standing on the south side, looking north across the fault, the far side moves right, to +x.
    assert north * lateral > 0 > south * lateral
    plus_is_south = (side < 0) == (method == "point")
    assert np.allclose(h.sim.fault_receivers["normal"], [[0.0, 1.0 if plus_is_south else -1.0, 0.0]], atol=1e-12)
    assert np.allclose(h.sim.fault_receivers["strike"], [[1.0 if plus_is_south else -1.0, 0.0, 0.0]], atol=1e-12)
