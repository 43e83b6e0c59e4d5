"""Comparison of runs: the known misfits of the reference pairs, and what must never pass."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from faultwave.base.errors import InputError
from faultwave.observe.dataset import (
    Dataset,
    FaultFrame,
    energies_from_arrays,
    fault_receivers_from_arrays,
    receivers_from_arrays,
)
from faultwave.output.formats import seissol_dat
from faultwave.output.formats.csv_tables import write_energies
from faultwave.output.formats.receivers_hdf5 import write_receivers
from faultwave.verify.compare import Comparison, Misfit, compare, render_comparison

CASES = Path(__file__).parents[3] / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason=f"no reference cases in {CASES}")
TIME = np.linspace(0.0, 2.0, 401)

# velocity, stress, slip rate, slip, traction change, rupture time [s], largest energy (without plastic moment)
KNOWN = {
    "tpv5": (0.015, 0.015, 0.056, 0.023, 0.072, 0.011, 0.042),
    "tpv5-nuc": (0.002, 0.001, 0.018, 0.006, 0.020, 0.003, 0.006),
    "tpv101": (0.0002, 0.0002, 0.039, 0.014, 0.021, 0.002, 0.0001),
    "tpv105": (0.008, 0.006, 0.032, 0.041, 0.034, 0.002, 0.002),
    "tpv13": (0.034, 0.143, 0.056, 0.032, 0.101, 0.002, 0.004),
    "tpvyoffe": (0.005, 0.005, None, None, None, None, 0.001),
}


def worst(comparison: Comparison) -> dict[str, float]:
    return {group: misfit.value for (_, group), misfit in comparison.worst.items()}


@needs_cases
@pytest.mark.parametrize("case", KNOWN)
def test_the_two_references(case: str) -> None:
    found = worst(compare(CASES / case / "reference-head", CASES / case / "reference"))
    groups = ("velocity", "stress", "slip rate", "slip", "traction", "rupture time")
    for group, expected in zip(groups, KNOWN[case], strict=False):
        if expected is None:
            assert group not in found
        else:
            assert found[group] == pytest.approx(expected, abs=0.6 * 10 ** -(4 if expected < 1e-3 else 3))
    energies = [v for group, v in found.items() if group.endswith(("energy", "work")) or group == "seismic_moment"]
    assert max(energies) == pytest.approx(KNOWN[case][-1], abs=0.6e-3)
    if case == "tpv13":
        assert found["plastic_moment"] == pytest.approx(0.20, abs=0.005)


@needs_cases
def test_exit_codes_and_table() -> None:
    folders = CASES / "tpv5" / "reference-head", CASES / "tpv5" / "reference"
    strict, loose = compare(*folders), compare(*folders, 0.08)
    assert (strict.exit_code, loose.exit_code) == (1, 0)
    assert {m.group for m in strict.misfits if not m.passed} == {"slip rate", "traction"}
    assert compare(*folders, 0.05, limits={"slip rate": 0.06, "traction": 0.08}).passed
    assert not compare(*folders, 0.08, rupture_time=0.006).passed
    texts = {}
    for comparison in (strict, loose):
        console = Console(file=io.StringIO(), width=120)
        console.print(render_comparison(comparison))
        texts[comparison.exit_code] = console.file.getvalue()
    assert "over the limits" in texts[1] and "2 of 4" in texts[1] and "11.3 ms" in texts[1]
    assert "within all limits" in texts[0] and "0.0715" in texts[0]
    json.dumps(strict.as_dict(), allow_nan=False)


def off_fault(change: float = 0.0) -> Dataset:
    v = np.stack([np.sin(5 * TIME), 0.0 * TIME, np.cos(3 * TIME)], axis=-1)
    values = np.stack([v * (1 + change), 1e-5 * v], axis=1)
    return receivers_from_arrays(TIME, values, ["v1", "v2", "v3"], [[0.0, 0, 0], [9e3, 0, 0]])


def on_fault(rupture: float = 0.7, shift: float = 0.0) -> Dataset:
    names = ["SRs", "SRd", "Ts0", "Td0", "Pn0", "RT"]
    ruptured = TIME >= rupture
    columns = [ruptured * 1.0, 0 * TIME, 70e6 + shift - 7e6 * ruptured, 0 * TIME, 0 * TIME - 120e6, rupture * ruptured]
    unit = [[1.0, 0.0, 0.0]]
    return fault_receivers_from_arrays(
        *(TIME[:, None], np.stack(columns, axis=-1)[:, None], names, [[0.0, 0, -5e3]]),
        frame=FaultFrame(unit, unit, unit, unit),
    )


def energies(scale: float = 1.0) -> Dataset:
    return energies_from_arrays(
        [0.0, 1.0, 2.0], {"seismic_moment": [0.0, scale, 4.0], "elastic_energy": [0.0, 0.0, 0.0]}
    )


def save(folder: Path, *datasets: Dataset, native: bool = True, energy: Dataset | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    if native:
        write_receivers(folder / "run-receivers.h5", datasets)
    else:
        for dataset in datasets:
            write = seissol_dat.write_receivers if dataset.name == "receivers" else seissol_dat.write_fault_receivers
            write(folder, "tpv", dataset)
    if energy is not None:
        (write_energies if native else seissol_dat.write_energy)(
            folder / f"{'run' if native else 'tpv'}-energy.csv", energy
        )
    return folder


@pytest.mark.parametrize("run_native", [True, False])
@pytest.mark.parametrize("reference_native", [True, False])
def test_any_layout_in_either_place(tmp_path: Path, run_native: bool, reference_native: bool) -> None:
    a = save(tmp_path / "a", off_fault(0.01), on_fault(), native=run_native, energy=energies(1.2))
    b = save(tmp_path / "b", off_fault(), on_fault(), native=reference_native, energy=energies())
    result = compare(a, b)
    assert result.exit_code == 0
    found = {(m.kind, m.number, m.group): m.value for m in result.misfits}
    assert found["receiver", 1, "velocity"] == pytest.approx(0.01, rel=1e-9)
    assert found["receiver", 2, "velocity"] == pytest.approx(0.0, abs=1e-12)
    assert found["faultreceiver", 1, "traction"] == pytest.approx(0.0, abs=1e-12)
    assert found["energy", 0, "seismic_moment"] == pytest.approx(0.05)  # 0.2 of a peak of 4
    assert ("energy", 0, "elastic_energy") not in found  # nothing but zeros to compare with


def test_small_receivers_are_judged_by_the_strongest(tmp_path: Path) -> None:
    """The second receiver moves 1e-5 of the first: twice its motion is still below 1 % of the case's."""
    a, b = off_fault(), off_fault()
    a["values"][:, 1] *= 3
    result = compare(save(tmp_path / "a", a), save(tmp_path / "b", b))
    found = {m.number: m.value for m in result.misfits}
    assert found[2] == pytest.approx(2e-5 / 0.01, rel=1e-6)


def test_traction_is_judged_as_change(tmp_path: Path) -> None:
    a, b = save(tmp_path / "a", on_fault(shift=7e6)), save(tmp_path / "b", on_fault())
    found = worst(compare(a, b))
    # 7 MPa for 2 s against a drop of 7 MPa for 1.3 s; against 70 MPa it would have been 0.1
    assert found["traction"] == pytest.approx(np.sqrt(2.0 / 1.3), rel=0.01)


@pytest.mark.parametrize("rupture, difference", [(0.71, 0.01), (9.0, np.inf)])
def test_rupture_time(tmp_path: Path, rupture: float, difference: float) -> None:
    result = compare(save(tmp_path / "a", on_fault(rupture)), save(tmp_path / "b", on_fault()), 10.0)
    assert worst(result)["rupture time"] == pytest.approx(difference)
    assert result.passed == np.isfinite(difference)


def test_until(tmp_path: Path) -> None:
    a, b = off_fault(), off_fault()
    a["values"][300:] = 1e9  # blows up after 1.5 s
    a, b = save(tmp_path / "a", a, energy=energies(1.0)), save(tmp_path / "b", b, energy=energies())
    assert not compare(a, b).passed
    result = compare(a, b, 1e-9, until=1.4)
    assert result.passed
    assert [m.group for m in result.misfits if m.kind == "energy"] == ["seismic_moment"]


def test_what_never_passes(tmp_path: Path) -> None:
    b = save(tmp_path / "b", off_fault(), on_fault(), energy=energies())

    def judged(name: str, *datasets: Dataset, energy: Dataset | None = None) -> Comparison:
        result = compare(save(tmp_path / name, *datasets, energy=energy), b, 1e30, rupture_time=1e30)
        assert result.exit_code == 1
        return result

    broken = off_fault()
    broken["values"][100, 0, 0] = np.nan
    assert worst(judged("nan", broken, on_fault(), energy=energies()))["velocity"] == np.inf
    short = receivers_from_arrays(TIME[:200], off_fault()["values"][:200], ["v1", "v2", "v3"], off_fault()["location"])
    assert judged("short", short, on_fault(), energy=energies()).missing == ("receivers after 0.995 s",)
    fewer = receivers_from_arrays(TIME, off_fault()["values"][:, :, :2], ["v1", "v2"], off_fault()["location"])
    assert worst(judged("column", fewer, on_fault(), energy=energies()))["velocity"] == np.inf
    assert judged("kind", off_fault(), energy=energies()).missing == ("faultreceiver 1",)
    assert judged("energy", off_fault(), on_fault()).missing == ("energies",)
    late = energies_from_arrays([9.0, 10.0], {"seismic_moment": [4.0, 4.0]})
    apart = judged("apart", off_fault(), on_fault(), energy=late)
    assert worst(apart)["seismic_moment"] == np.inf
    assert "energies: no times in common, so no comparison is possible" in apart.notes[0]
    json.dumps(judged("nan", broken, on_fault(), energy=energies()).as_dict(), allow_nan=False)


def test_times_that_differ_by_a_step_are_interpolated(tmp_path: Path) -> None:
    """As those of runs at two orders do: energies are written after the step that passes each time."""
    t = np.linspace(0.0, 2.0, 21)
    a = energies_from_arrays(np.append(0.0, t[1:] - 0.013), {"seismic_moment": np.append(0.0, 2.0 * (t[1:] - 0.013))})
    b = energies_from_arrays(t, {"seismic_moment": 2.0 * t})
    found = compare(save(tmp_path / "a", energy=a), save(tmp_path / "b", energy=b))
    assert found.passed and worst(found)["seismic_moment"] == pytest.approx(0.0, abs=1e-9)
    assert found.notes == ()


def test_runs_of_other_lengths_are_compared_where_both_are(tmp_path: Path) -> None:
    whole = save(tmp_path / "whole", off_fault(), energy=energies())
    short = receivers_from_arrays(
        TIME[:200], off_fault(0.01)["values"][:200], ["v1", "v2", "v3"], off_fault()["location"]
    )
    half = save(tmp_path / "half", short, energy=energies_from_arrays([0.0, 1.0], {"seismic_moment": [0.0, 1.1]}))
    cut = compare(half, whole)
    assert worst(cut)["velocity"] == pytest.approx(0.01, rel=0.01)
    assert worst(cut)["seismic_moment"] == pytest.approx(0.1)
    assert cut.notes[0].startswith(
        "receivers are compared until 0.995 s: the run has 0 to 0.995 s, the reference 0 to 2 s"
    )
    assert cut.exit_code == 1 and cut.missing == ("receivers after 0.995 s",)
    assert compare(half, whole, 0.2, until=0.99).passed
    longer = compare(whole, half, 0.2)
    assert longer.passed and "are compared until 0.995 s" in longer.notes[0]


def test_places_are_noted(tmp_path: Path) -> None:
    a = off_fault()
    a["location"][1] += [0, 30.0, 40.0]
    result = compare(save(tmp_path / "a", a), save(tmp_path / "b", off_fault()))
    assert result.passed
    assert result.notes == ("receiver 2: the two locations are 50 m apart",)


def test_nothing_to_compare(tmp_path: Path) -> None:
    a = save(tmp_path / "a", off_fault())
    b = save(tmp_path / "b", energy=energies_from_arrays([0.0, 1.0], {"seismic_moment": [0.0, 0.0]}))
    shutil.rmtree(a)
    with pytest.raises(InputError, match="is not a folder"):
        compare(a, b)
    a = save(tmp_path / "a", energy=energies())
    assert compare(a, b).exit_code == 2


def test_unknown_group(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'slip-rate' is not a group .*did you mean 'slip rate'"):
        compare(tmp_path, tmp_path, limits={"slip-rate": 0.1})


def test_words_for_what_is_missing(tmp_path: Path) -> None:
    fine, bad = Misfit("receiver", 1, "velocity", 0.01, 0.05), Misfit("receiver", 1, "velocity", 0.1, 0.05)
    some = {
        "within all limits": Comparison(tmp_path, tmp_path, (fine,)),
        "over the limits": Comparison(tmp_path, tmp_path, (fine, bad), ("energies",)),
        "within all limits, but some data are missing": Comparison(tmp_path, tmp_path, (fine,), ("energies",)),
        "nothing to compare: all data are missing": Comparison(tmp_path, tmp_path, (), ("energies",)),
        "nothing to compare": Comparison(tmp_path, tmp_path, ()),
    }
    assert [c.verdict for c in some.values()] == list(some)
    assert [c.exit_code for c in some.values()] == [0, 1, 1, 1, 2]
