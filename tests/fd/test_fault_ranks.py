"""Faults on grids that processes share: the same numbers to the last bit, whatever the cut, and going on with others."""

import json

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from tests.run.launch import launch

from .test_fault_laws import LAWS, NUCLEATION
from .test_fault_receivers import recorded
from .test_ranks import CUT, FUSED, STOP, pytestmark  # noqa: F401

SPREAD = [
    [2250.0, 0.0, -900.0],
    [0.0, 0.0, 0.0],
    [-260.0, 0.0, -8800.0],
    [-4500.0, 0.0, -4000.0],
    [250.0, 0.0, -8600.0],
]
"""Beside the cuts of the grid in the middle and at 8.5 km depth, on the ground, on an edge."""


def asked(folder, axis="y", law=None):
    """A rupture that is observed in every way; it breaks the ground."""
    made = recorded(axis)
    lower = made["grid"]["fault"]["lower"]
    made["grid"]["fault"]["lower"] = [*lower[:2], -9000.0]
    made["output"] |= {"folder": str(folder), "checkpoint": {"interval": 0.3}}
    made["output"]["rupture"]["slip_interval"] = 0.15
    points = [p if axis == "y" else [p[1], -p[0], p[2]] for p in SPREAD]
    made["output"]["fault_receivers"]["points"] += points
    if law is not None:
        parameters, constants, settings = LAWS[law]
        made["fault"] |= {"friction": law, "constants": constants, "nucleation": [NUCLEATION], **settings}
        made["fault"]["parameters"] = {"constant": parameters}
        made["numerics"]["precision"] = "double"
    return made


def everything(folder):
    """All numbers of the files, and those that are sums over processes."""
    found = {}
    for path in sorted(p for ending in ("h5", "vtkhdf") for p in folder.glob(f"run-*.{ending}")):
        with h5py.File(path) as file:
            file.visititems(
                lambda n, d, p=path: found.update({f"{p.name}/{n}": d[()]}) if isinstance(d, h5py.Dataset) else None
            )
    sums = [np.loadtxt(folder / f"run-{name}.csv", delimiter=",", skiprows=1) for name in ("energy", "moment-rate")]
    return {n: v for n, v in found.items() if v.dtype.kind in "iuf"}, sums


def same(folder, whole):
    mine, sums = everything(folder)
    assert mine.keys() == whole[0].keys()
    for part in ("receiver", "rupture", "run-slip.h5/slip"):
        assert any(part in name for name in mine), part
    for name, values in whole[0].items():
        assert np.array_equal(mine[name], values, equal_nan=True), name
    for here, there in zip(sums, whole[1], strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-12 * np.abs(there).max())


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    fw.simulate(asked(folder)).run()
    return everything(folder)


@pytest.mark.parametrize(
    ("ranks", "cut", "fused"),
    [
        (2, (2, 1, 1), 1),
        pytest.param(4, (2, 1, 2), 2, marks=pytest.mark.slow),
        pytest.param(3, None, 1, marks=pytest.mark.slow),
    ],
)
def test_any_cut_gives_the_same(tmp_path, alone, ranks, cut, fused):
    setup = FUSED.format(fused) + (CUT.format(cut) if cut else "")
    see = f"assert sim.plan.partition.subdomain.steps == {fused} and sim.plan.partition.subdomain.cut.counts[1] == 1"
    done = launch(ranks, asked(tmp_path), setup=setup, after=see)
    assert done.returncode == 0, done.stderr
    same(tmp_path, alone)


@pytest.mark.parametrize("law", ["rate-and-state-ageing", pytest.param("imposed-yoffe", marks=pytest.mark.slow)])
def test_other_laws_on_a_fault_along_y(tmp_path, law):
    """Points of a vector are solved together in other company than on one process."""
    fw.simulate(asked(tmp_path / "one", "x", law)).run()
    done = launch(2, asked(tmp_path / "two", "x", law), setup=FUSED.format(2))
    assert done.returncode == 0, done.stderr
    same(tmp_path / "two", everything(tmp_path / "one"))


def test_stopped_and_resumed_on_others(tmp_path, alone):
    slow = "import faultwave.fd.solver as m; m.CHUNK_SECONDS = 0.0"
    done = launch(2, asked(tmp_path), setup=slow, run=STOP.replace("0.1", "0.4"))
    assert done.returncode != 0 and "faultwave.resume" in done.stderr, done.stderr
    fw.resume(tmp_path).run()
    same(tmp_path, alone)


@pytest.mark.parametrize(("ranks", "backend"), [(4, "numpy"), pytest.param(2, "opencl", marks=pytest.mark.slow)])
def test_other_backends(tmp_path, ranks, backend):
    """Devices gather overlaps themselves."""
    if missing(backend):
        pytest.skip(missing(backend))
    made = asked(tmp_path / "one") | {"end_time": 0.2}
    made["numerics"]["backend"] = backend
    fw.simulate(made).run()
    made["output"]["folder"] = str(tmp_path / "two")
    done = launch(ranks, made)
    assert done.returncode == 0, done.stderr
    same(tmp_path / "two", everything(tmp_path / "one"))


def test_a_fault_is_not_cut_across(tmp_path):
    """However long the box is across the fault; each process has both sides."""
    made = asked(tmp_path)
    lower, upper = made["grid"]["lower"], made["grid"]["upper"]
    made["grid"] |= {"lower": [lower[0], -20250.0, lower[2]], "upper": [upper[0], 20250.0, upper[2]]}
    see = "assert sim.plan.partition.subdomain.cut.counts == (1, 1, 2), sim.plan.partition.subdomain.cut"
    done = launch(2, made | {"end_time": 0.05}, after=see)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run-manifest.json").read_text())["rates"]["processes"] == 2
