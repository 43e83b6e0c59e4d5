"""Rounded messages: what they change, that momentum is kept, what is told of the error."""

from __future__ import annotations

import json

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.comm.compression import codec
from faultwave.domain.tets.formats.parts import write_parts
from faultwave.output.formats.receivers_hdf5 import read_receivers
from tests.run.launch import launch
from tests.run.test_ranks import along_the_fault
from tests.run.test_restart import asked

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("name, size, error", [("single", 4, 6e-8), ("zfp-16", 2, 3e-3), ("zfp-32", 4, 5e-8)])
def test_a_message_has_its_size_and_error(name, size, error):
    if name != "single":
        pytest.importorskip("zfpy")
    values = np.random.default_rng(1).normal(size=(17, 30)) * 10.0 ** np.arange(30)
    packing = codec(name, values.shape)
    packed = np.empty(packing.size, np.uint8)
    packing.pack(values, packed)
    assert abs(packing.size - size * values.size) < 64
    back = packing.unpack(packed)
    assert 0 < np.abs(back - values).max() / np.abs(values).max() < error
    assert np.abs((back - values) / np.abs(values).max(0)).max() < error  # the small modes, too


def box(tmp_path, halo, name, backend="cpu", order=4):
    """A periodic box of two speeds with clusters."""
    expression = "return 2.0 + 2.0 * max(0.0, min(1.0, 4.0 * (abs(x - 0.5) - 0.2)));"
    return {
        "end_time": 0.6, "numerics": {"order": order, "halo_compression": halo, "threads": 1, "backend": backend},
        "mesh": {"generate": {"shape": "box", "cells": [6, 3, 3], "lower": [0, 0, 0], "upper": [1, 1, 1],
                              "boundaries": dict.fromkeys("xyz", "periodic")}},
        "material": {"constant": {"rho": 1.0, "mu": 1.0}, "expression": {"lambda": expression}},
        "initial": {"kind": "easi", "field": {"expression": {
            "v1": "return sin(6.283185307179586 * (x + 2 * y)) + 0.3;", "v2": "return cos(6.283185307179586 * (z - x));"},
            "constant": {"v3": 0.2}}},
        "output": {"folder": str(tmp_path / name), "energies": {"interval": 0.1}},
    }  # fmt: skip


def momentum(tmp_path, halo, conserve=True, backend="cpu", order=4):
    """The change of momentum in the box, relative to the sum of what moves."""
    case = box(tmp_path, halo, f"{halo}-{conserve}", backend, order)
    setup = (
        ""
        if conserve
        else "import faultwave.dg.operators.conservation as c; c.Conservation.__call__ = lambda *given: None"
    )
    done = launch(2, case, setup=setup)
    assert done.returncode == 0, done.stderr
    from faultwave.output.formats.csv_tables import read_energies

    found = read_energies(tmp_path / f"{halo}-{conserve}" / "run-energy.csv")
    return max(np.ptp(found[f"momentum{i}"]) for i in "XYZ")


def test_momentum_stays_to_rounding(tmp_path):
    assert momentum(tmp_path, "single") < 1e-12
    assert momentum(tmp_path, "single", False) > 1e-10  # the sender's correction is needed


SPOIL = """
def spoil(p):
    operator = sim.solver.operator
    if p.time > 0.1:
        cell = sim.solver.messages.exchange.lines[0].channel.cells[:1]
        operator.set_dofs(np.full_like(operator.dofs(cell), np.nan), cell)
        operator.finite = lambda: True
"""
"""The first process loses a cell at its border to numbers that are not finite, and does not notice."""


@pytest.mark.parametrize("halo", ["exact", "single", "zfp-16", "zfp-24"])
def test_numbers_that_are_not_finite_are_an_error_at_the_receiver(tmp_path, halo):
    """Of which ZFP alone would make finite ones."""
    if halo.startswith("zfp"):
        pytest.importorskip("zfpy")
    done = launch(2, box(tmp_path, halo, "out", order=3), setup=SPOIL.strip(), run="progress=spoil", timeout=600)
    assert done.returncode != 0 and "the run blew up before t = " in done.stderr, done.stderr
    assert (
        "cells contain values that are not finite" in done.stderr and (tmp_path / "out" / "run-blowup.vtkhdf").exists()
    )


SPOIL_GRID = """
import atexit, os
def spoil(p):
    runner = sim.solver.operator.runner
    if p.time > 0.1:
        runner.view("u")[...] = np.nan
def tell():
    finite = sim.solver.operator.runner.finite(["v"])
    os.write(1, f"process {sim.world.rank} is finite: {finite}\\n".encode())
atexit.register(tell)
"""


@pytest.mark.parametrize("halo", ["exact", "zfp-16"])
def test_numbers_that_are_not_finite_are_an_error_at_the_receiver_on_grids(tmp_path, halo):
    if halo.startswith("zfp"):
        pytest.importorskip("zfpy")
    case = {
        "engine": "fd", "end_time": 20.0, "output": {"folder": str(tmp_path / "out")},
        "grid": {"lower": [0, 0, 0], "upper": [60, 30, 30], "spacing": 1.0, "boundaries": dict.fromkeys("xyz", "periodic")},
        "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}},
        "numerics": {"halo_compression": halo, "precision": "double", "threads": 1},
        "initial": {"kind": "plane-wave", "wave": [{"mode": "P", "k": [0.10471975511965977, 0, 0]}]},
    }  # fmt: skip
    done = launch(2, case, setup=SPOIL_GRID.strip(), run="progress=spoil", timeout=600)
    assert done.returncode != 0 and "the run blew up before t = " in done.stderr, done.stderr
    assert "process 1 is finite: False" in done.stdout


@pytest.mark.parametrize("halo, bound", [("single", 1e-6), pytest.param("zfp-24", 1e-3, marks=pytest.mark.slow)])
def test_the_misfit_of_seismograms_is_bounded(tmp_path, halo, bound):
    if halo != "single":
        pytest.importorskip("zfpy")
    values = {}
    for name in ("exact", halo):
        case = asked(tmp_path, name, end_time=0.5, numerics={"halo_compression": name})
        done = launch(3, case)
        assert done.returncode == 0, done.stderr
        values[name] = read_receivers(tmp_path / name / "run-receivers.h5")["receivers"]["values"]
    size = np.abs(values["exact"]).max(0)
    misfit = (np.abs(values[halo] - values["exact"]).max(0) / size).max()
    assert 0 < misfit < bound
    rates = json.loads((tmp_path / halo / "run-manifest.json").read_text())["rates"]
    assert 0 < rates["halo_error_rms"] <= rates["halo_error_largest"] < bound


def test_friction_gets_every_digit(tmp_path):
    """Waves are rounded and counted as such; what the two sides of a fault tell each other is not."""
    mesh, topology, part = along_the_fault()
    case = asked(tmp_path, "out", end_time=0.05, numerics={"halo_compression": "single"})
    write_parts(case["mesh"]["file"], mesh, topology, part, [4], np.arange(len(part)))
    after = (
        "codecs = lambda x: (bool(x.sending.source.codec), bool(x.receiving.target.codec))\n"
        "lines = [(x.channel.send, *codecs(x)) for x in sim.solver.messages.exchange.lines]\n"
        "open(f'{sim.folder}/lines-{sim.world.rank}', 'w').write(json.dumps(lines))"
    )
    done = launch(4, case, after=after)
    assert done.returncode == 0, done.stderr
    found = [json.loads((tmp_path / "out" / f"lines-{rank}").read_text()) for rank in range(4)]
    kinds = {(send, packed, unpacked) for lines in found for send, packed, unpacked in lines}
    assert kinds == {("wave", True, True), ("fault", False, False)}


def test_what_cannot_be_rounded(tmp_path):
    with pytest.raises(InputError, match="double precision"):
        fw.simulate(asked(tmp_path, "out", numerics={"halo_compression": "single", "precision": "single"}))
    with pytest.raises(InputError, match="numerics.halo_compression"):
        fw.simulate(asked(tmp_path, "out", numerics={"halo_compression": "zfp-99"}))
