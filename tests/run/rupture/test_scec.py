"""SCEC's text files of real runs: a north-south fault gives those of the same fault along x."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultwave.output.formats.scec import read_table
from faultwave.output.results import convert
from faultwave.run import simulate

from .setup import patch, settings, slip_weakening, small_mesh

NORTH = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # x becomes y, y becomes -x
AWAY = np.array([3000.0, 0.0, 0.0])  # of the turned fault, across itself


def written(folder, turn: np.ndarray, shift: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """Tables of the SCEC files of a rupture that is turned and moved, by their names."""
    mesh = small_mesh()
    along = ("x", "y")[int(abs(turn[1, 0]) > 0.5)]
    on, off = (
        np.array(p) @ turn.T + shift
        for p in ([[0.0, 0, -2210], [-1710.0, 0, -2790]], [[500.0, 900, -10], [-800.0, -700, -300]])
    )
    fault = slip_weakening(expression={"T_s": patch(81.6e6, 70e6).replace("x", along).replace(f"ma{along}", "max")})
    fault["reference"] = tuple(turn @ [0.0, -1000.0, 0.0] + shift)
    folder.mkdir()
    case = settings(folder, fault, replace(mesh, vertices=mesh.vertices @ turn.T + shift), points=on, end_time=0.5,
                    output={"fault": {"interval": 0.5}, "receivers": {"points": off.tolist()}})  # fmt: skip
    sim = simulate(case, force=True).run()
    return {path.name: read_table(path) for path in convert(sim.folder, "scec", folder / "scec")}


def test_a_north_south_fault_gives_the_same_files(tmp_path) -> None:
    expected = written(tmp_path / "x", np.eye(3), np.zeros(3))
    found = written(tmp_path / "y", NORTH, AWAY)
    assert sorted(expected) == [
        "body-007st-008dp003",
        "body009st005dp000",
        "cplot",
        "faultst-017dp028",
        "faultst000dp022",
    ]
    assert sorted(found) == sorted(expected)
    for name, table in expected.items():
        assert list(found[name]) == list(table)
        for column, values in table.items():
            if name == "cplot":
                continue  # faces may stand in another order
            scale = np.abs(values).max() + (1e-3 if column != "t" else 0.0)
            assert np.abs(found[name][column] - values).max() < 1e-6 * scale, (name, column)
    # right-lateral: the far side moves along strike, the near side against it
    assert found["faultst000dp022"]["h-slip"][-1] > 0.01
    assert found["body009st005dp000"]["h-disp"][-1] > 1e-5 > -1e-5 > found["body-007st-008dp003"]["h-disp"][-1]
    contours = [
        np.array(sorted(map(tuple, np.round(np.stack(list(t["cplot"].values()), 1), 3)))) for t in (expected, found)
    ]
    np.testing.assert_allclose(contours[1], contours[0], atol=2e-3)
