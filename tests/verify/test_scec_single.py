"""TPV104 in single precision against double: rate and state from slip rates of 1e-16 m/s on."""

from dataclasses import replace

import numpy as np
import pytest

from faultwave.output.results import load_results
from faultwave.run import simulate
from faultwave.verify.scec.benchmark import Resolution, find
from faultwave.verify.scec.folder import PREFIX, RESULTS, begin, settings, write_mesh, yaml_text
from faultwave.verify.scec.measure import read_ruptures

AGREE = 1e-4
"""Of the largest value of a field, and of seconds."""
AWAY = [[0.0, 3e3, 0.0], [6e3, -3e3, 0.0], [-9e3, 1e3, -5e3], [3e3, 6e3, -9e3]]
"""Seismograms, on both sides of the fault."""


def run(folder, resolution):
    """The fault at the end, and every trace."""
    benchmark = find("tpv104")
    case = settings(benchmark, resolution)
    case["output"]["receivers"] = {"points": AWAY}
    path = begin(folder, yaml_text(case, []))
    write_mesh(benchmark, resolution, folder)
    simulate(path, force=True, output=folder / RESULTS).run()
    return read_ruptures(benchmark, folder)["main"], load_results(folder / RESULTS, PREFIX)


def apart(found, exact):
    """Largest difference over the largest value."""
    return max(float(np.abs(a - b).max()) for a, b in zip(found, exact, strict=True)) / max(
        np.abs(b).max() for b in exact
    )


def columns(results, kind, names):
    return [trace.columns[name] for trace in results.traces[kind].values() for name in names]


def compare(folder, resolution):
    """Relative differences by what they are of, and the fault in double precision."""
    (fault, found), (true, exact) = (
        run(folder / precision, replace(resolution, precision=precision)) for precision in ("single", "double")
    )
    np.testing.assert_array_equal(np.isnan(fault.time), np.isnan(true.time))
    broken = np.isfinite(true.time)
    differences = {
        "final slip": apart([fault.slip], [true.slip]),
        "peak slip rate": apart([fault.peak], [true.peak]),
        "rupture time [s]": float(np.abs(fault.time - true.time)[broken].max()),
        "seismograms": apart(*(columns(results, "receiver", ("v1", "v2", "v3")) for results in (found, exact))),
    }
    for name in ("SRs", "SRd", "Sls", "Ts0", "Pn0", "StV"):
        differences[name] = apart(*(columns(results, "faultreceiver", (name,)) for results in (found, exact)))
    for name in ("elastic_energy", "elastic_kinetic_energy", "total_frictional_work", "seismic_moment"):
        differences[name] = apart([found.energies[name]], [exact.energies[name]])
    return differences, true


@pytest.mark.parametrize(
    "resolution, slipped, broken",
    [
        pytest.param(Resolution(2500.0, 4, 2.0), 1.0, 0.0, id="nucleation"),
        pytest.param(Resolution(1000.0, 4, 4.0, reach=8e3), 2.0, 0.15, id="quick", marks=pytest.mark.slow),
    ],
)
def test_single_precision_agrees_on_strong_weakening(tmp_path, resolution, slipped, broken):
    """Until the nucleation has broken; and, on edges nearly as short as those of quick runs, until the rupture has gone on by itself."""
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    differences, fault = compare(tmp_path, resolution)
    assert fault.slip.max() > slipped and fault.ruptured > broken
    assert differences["seismograms"] > 0.0  # waves were in single precision
    wrong = {name: value for name, value in differences.items() if not value <= AGREE}
    assert not wrong, differences
