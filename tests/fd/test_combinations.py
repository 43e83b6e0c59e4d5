"""Every two features that go together do so in a run: on every backend, on several processes, stopped and resumed, forwards and reciprocal;
every two that do not are told before it.

All cases run on both backends of the processor in ``make test`` and ``make test-long``; what repeats them on a device, in parts or on
processes is slow."""

import re
from pathlib import Path

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import InputError, RunError
from faultwave.case.load import load_case
from faultwave.green_tensors import green_tensors
from faultwave.run.planned import check
from tests.messages import raises
from tests.run.launch import launch

from .combined import CASES, FEATURES, REFUSED, allowed, covered, settings
from .reciprocity import TENSORS, is_reciprocal, moments
from .results import datasets, fields
from .test_restart import Stopped


def told(features, record=None):
    """Errors of a case, each on a line."""
    made, found = load_case(settings(features, Path("never"), record))
    return "\n".join(map(str, found.errors if made is None else check(made).errors))


def test_every_allowed_pair_is_in_a_case():
    tried = set().union(*map(covered, CASES.values()))
    assert not tried - allowed()
    assert not allowed() - tried


GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "grids.md"
NAMES = {
    "topography": "topography", "ratio 2": "blocks", "ratio 3": "blocks", "order 8": "order 8", "attenuation": "attenuation",
    "periodic sides": "periodic sides", "fluids": "fluids", "box record": "`output.box`", "injection": "injection of a record",
    "injected plane wave": "injection of a plane wave", "rising plane wave": "rising plane waves",
    "initial plane wave": "plane waves of `initial`", "time dispersion removed": "`time_dispersion: remove`",
    "volume snapshots": "`output.volume`", "plasticity": "rock that yields", "soil": "soil", "fault": "faults",
}  # fmt: skip


def test_the_guide_says_what_does_not_go_together():
    section = GUIDE.read_text().partition("{ #combinations }")[2].partition("\n## ")[0]
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", section)
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in plain.splitlines() if line.startswith("|")
    ]
    said = {(one, other) for one, others in rows[2:] for other in others.split(", ")}
    refused = {(NAMES[one], NAMES[other]) for one, other in REFUSED}
    assert said == refused | {(other, one) for one, other in refused}


def precision(name):
    """Double where ground is not linear: what turns at a threshold turns there a step later for the last bit."""
    return "double" if {"plasticity", "soil", "fault"} & set(CASES[name]) else "single"


# ---- runs -------------------------------------------------------------------------------------------------------------


class Runs:
    """Whole runs of cases, each done once."""

    def __init__(self, folder):
        self.folder, self.done = folder, {}

    def record(self, features):
        """By file, what a case lets in; None where it lets in nothing."""
        if "injection" not in features:
            return None
        alike = {"topography", "ratio 2", "ratio 3", "order 8", "attenuation", "sponge", "periodic sides", "fluids"}
        made = tuple(f for f in FEATURES if f == "box record" or f in alike & set(features))
        folder = self.folder / f"record {' '.join(made)}"
        if not folder.exists():
            fw.simulate(settings(made, folder)).run()
        return folder / "run-box.h5"

    def case(self, name, folder, backend="cpu"):
        return settings(CASES[name], folder, self.record(CASES[name]), backend=backend, precision=precision(name))

    def whole(self, name, backend="cpu"):
        """Every number of the files of a run."""
        key = f"{name} {backend}"
        if key not in self.done:
            fw.simulate(self.case(name, self.folder / key, backend)).run()
            self.done[key] = numbers(self.folder / key)
        return self.done[key]


def numbers(folder):
    """Every number that a run has written."""
    kinds = [kind for kind in ("surface", "volume") if list(folder.glob(f"*-{kind}.vtkhdf"))]
    return {n: v for n, v in (datasets(folder) | fields(folder, kinds)).items() if np.asarray(v).dtype.kind in "iuf"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("combinations"))


def same(one, other):
    assert one.keys() == other.keys() and len(one) > 3
    for name, values in one.items():
        assert np.array_equal(values, other[name], equal_nan=np.asarray(values).dtype.kind == "f"), name


def agree(one, other, name):
    """To rounding."""
    rounding = 1e-9 if precision(name) == "double" else 2e-5
    for key, values in one.items():
        if values.dtype.kind == "f" and "D5_95" not in key:
            assert np.array_equal(np.isnan(values), np.isnan(other[key])), key  # loops that soil has not gone through
            assert np.abs(np.nan_to_num(values - other[key])).max() <= rounding * np.abs(np.nan_to_num(values)).max(), (
                key
            )


@pytest.mark.parametrize("pair", REFUSED, ids=" and ".join)
def test_what_does_not_go_together_is_told(runs, pair):
    assert REFUSED[pair] in told(pair, runs.record(pair))


@pytest.mark.parametrize("name", CASES)
def test_backends_agree(runs, name):
    """To rounding; and everything moves."""
    plain, cpu = (runs.whole(name, of) for of in ("numpy", "cpu"))
    assert (np.abs(plain["run-receivers.h5/receivers/values"]).max((0, 2)) > 0).all()
    agree(plain, cpu, name)


@pytest.mark.slow
@pytest.mark.skipif(bool(missing("opencl")), reason="no OpenCL device")
@pytest.mark.parametrize("name", CASES)
def test_a_device_agrees(runs, name):
    agree(runs.whole(name, "numpy"), runs.whole(name, "opencl"), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_resumed_is_undisturbed(runs, name, tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    sim = fw.simulate(runs.case(name, tmp_path / "parts"))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.1))
    fw.resume(tmp_path / "parts").run()
    same(runs.whole(name), numbers(tmp_path / "parts"))


MEDIUM = ("topography", "ratio 2", "ratio 3", "order 8", "attenuation", "sponge", "periodic sides", "fluids")
MEDIA = {tuple(f for f in of if f in MEDIUM) for of in CASES.values() if "soil" not in of and "fault" not in of}


@pytest.mark.parametrize("medium", sorted(of for of in MEDIA if len(of) > 1), ids=", ".join)
def test_what_waves_travel_through_is_reciprocal(medium):
    """A force in rock and moments where the cases have sources, one of them in each block."""
    made = settings(medium, Path("never"), precision="double")
    places = [source["location"] for source in made["sources"] if source["kind"] == "moment-tensor"]
    made["sources"] = moments(places, TENSORS, 0.02)
    made["output"] = {"receivers": {"points": made["output"]["receivers"]["points"][1:2]}}
    is_reciprocal(made, TENSORS, 0.02)


@pytest.mark.parametrize("feature", ["plasticity", "soil", "fault"])
def test_strain_green_tensors_are_of_linear_ground(feature):
    made = settings((feature,), Path("never"))
    made["output"] = {"receivers": made["output"]["receivers"]}
    with raises(InputError):
        green_tensors(made, duration=0.03)


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_processes_compute_the_same_bits(runs, ranks, tmp_path):
    """One launch for all cases."""
    cases = [runs.case(name, tmp_path / str(n)) for n, name in enumerate(CASES)]
    rest = "for other in extra['cases']: fw.simulate(other, force=True).run()"
    done = launch(ranks, cases[0], after=rest, extra={"cases": cases[1:]}, timeout=600)
    assert done.returncode == 0, done.stderr
    for n, name in enumerate(CASES):
        same(runs.whole(name), numbers(tmp_path / str(n)))
