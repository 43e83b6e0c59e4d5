"""The low-pass of sources is one filter for both engines, and acts on waves as the filter does on their seismograms."""

import numpy as np
import pytest
from scipy.signal import butter, sosfilt

import faultwave as fw
from faultwave.case.load import load_case
from faultwave.output.results import load_results
from faultwave.run.engines import engine_of

BOX = {"lower": [-4000, -4000, -4000], "upper": [4000, 4000, 0]}
CASE = {
    "end_time": 3.0,
    "mesh": {"generate": {"shape": "box", "cells": [4, 4, 3], **BOX, "boundaries": {"z+": "free-surface"}}},
    "grid": {"spacing": 400, **BOX},
    "material": {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}},
    "sources": [
        {
            "kind": "moment-tensor",
            "location": [30, 40, -2050],
            "tensor": {"xy": 1e16},
            "time_function": {"kind": "triangle", "duration": 0.3},
        }
    ],
    "numerics": {"order": 2, "precision": "double", "source_lowpass": 1.5},
    "output": {"receivers": {"interval": 0.01, "points": [[1510, 820, -500]]}},
}


def case(engine, **numerics):
    made, problems = load_case({**CASE, "engine": engine, "numerics": {**CASE["numerics"], **numerics}})
    assert made is not None, problems
    return made


def test_both_engines_have_the_same_sources():
    times = np.linspace(0.0, 6.0, 601)
    found = []
    for engine in ("dg", "fd"):
        made = case(engine)
        parts = engine_of(made).plan(made).parts
        listed = parts.values() if isinstance(parts, dict) else parts
        (part,) = [p for p in listed if p.name in ("point_sources", "sources")]
        found.append(part.sources.released(times)[0])
    assert np.array_equal(*found) and found[0][-1] == pytest.approx(1.0, rel=1e-6)


def test_waves_of_filtered_sources_are_filtered_waves(tmp_path):
    """On tetrahedra, where the filter is new: waves are linear, so the seismogram passes the same filter."""
    seismograms = {}
    for name, corner in (("filtered", 1.5), ("plain", None)):
        made = case("dg", source_lowpass=corner, backend="numpy")
        fw.run(made, output=tmp_path / name, report=None)
        seismograms[name] = _velocity(tmp_path / name)
    sections = butter(4, 1.5, fs=100.0, output="sos")
    expected = sosfilt(sections, seismograms["plain"], axis=0)
    assert np.abs(seismograms["filtered"] - expected).max() < 0.03 * np.abs(expected).max()
    assert np.abs(seismograms["filtered"] - seismograms["plain"]).max() > 0.2 * np.abs(expected).max()


def _velocity(folder):
    trace = load_results(folder).traces["receiver"][1]
    return np.stack([trace.columns[f"v{i}"] for i in (1, 2, 3)], 1)


def test_the_older_name_holds_for_both_engines():
    grid = {**CASE["grid"], "lowpass": 1.5}
    for engine in ("dg", "fd"):
        made, problems = load_case({**CASE, "engine": engine, "grid": grid, "numerics": {"order": 2}})
        assert made.source_lowpass == 1.5, problems
    made, problems = load_case({**CASE, "grid": {**grid, "lowpass": 2.0}})
    assert made is None and "source_lowpass: is 1.5 Hz where its older name grid.lowpass is 2 Hz" in str(problems)


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_a_lowpass_without_sources_is_reported(engine):
    made, _ = load_case({**CASE, "engine": engine, "sources": []})
    found = [f"{p.where} {p.what}" for p in engine_of(made).plan(made).warnings]
    assert any("source_lowpass" in text and "no sources" in text for text in found), found
