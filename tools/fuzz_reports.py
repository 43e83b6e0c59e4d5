"""Files of a run as ``faultwave report`` and ``faultwave convert`` meet them, for ``tools/fuzz.py``: one is changed, the others sound."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faultwave as fw
from faultwave.base.errors import InputError, Problem
from faultwave.output.convert import convert
from faultwave.report import contents
from faultwave.report.loaded import load
from faultwave.report.page import render
from tools.fuzz_reader import Reader

CASE: dict[str, Any] = {
    "title": "Small <b>",
    "end_time": 0.02,
    "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [-1e3, -1e3, -2e3], "upper": [1e3, 1e3, 0.0],
                          "boundaries": {"z+": "free-surface"}}},
    "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}},
    "sources": [
        {"kind": "moment-tensor", "location": [100.0, 50.0, -500.0], "tensor": {"xy": 1e15},
         "time_function": {"kind": "brune", "duration": 0.001}}
    ],
    "numerics": {"order": 2, "backend": "numpy", "threads": 1},
    "output": {
        "receivers": {"points": [[100.0, 50.0, -300.0]], "interval": 0.005, "names": ["AAA"]},
        "energies": {"interval": 0.01},
        "surface": {"interval": 0.01, "fields": ["v1", "v2", "v3", "u1", "u2", "u3"]},
    },
}  # fmt: skip
MADE = "FAULTWAVE_FUZZ_RUN"
"""In the environment: where the run lies."""
FILES = ("run-manifest.json", "run-receivers.h5", "run-energy.csv", "run-surface.vtkhdf")


def _run() -> Path:
    """A folder of a small run, one for this process and the workers that it starts afterwards."""
    if MADE not in os.environ:
        folder = tempfile.mkdtemp(prefix="fuzz-run-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        fw.run({**CASE, "output": {**CASE["output"], "folder": f"{folder}/out"}})
        os.environ[MADE] = f"{folder}/out"
    return Path(os.environ[MADE])


def _seeds(name: str) -> Callable[[Path], list[Path]]:
    return lambda folder: [_run() / name]


def _read(name: str, use: Callable[[Path], object]) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "out"
            shutil.copytree(_run(), folder)
            shutil.copyfile(path, folder / name)
            try:
                use(folder)
            except InputError as error:
                if str(folder) in str(error):
                    raise InputError(Problem(str(path), str(error))) from None
                raise

    return read


def _report(folder: Path) -> None:
    page = render("a", "b", contents(load(folder, "run")))
    if "<b>" in page.replace("<b></b>", ""):
        raise InputError(Problem("report", "a title is taken for HTML"))


REPORTS: dict[str, Reader] = {
    **{f"report-{name}": Reader(_seeds(name), _read(name, _report)) for name in FILES},
    "dtopo": Reader(
        _seeds("run-surface.vtkhdf"), _read("run-surface.vtkhdf", lambda folder: convert(folder, "dtopo", prefix="run"))
    ),
}
