"""Files of a run as ``faultwave report`` and ``faultwave convert`` meet them, for ``tools/fuzz.py``: one is changed, the others sound."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.output.results import convert
from faultwave.report import contents
from faultwave.report.loaded import load
from faultwave.report.page import render
from tools.fuzz_reader import SOUND, Reader, stored

FILES = ("run-manifest.json", "run-receivers.h5", "run-energy.csv", "run-surface.vtkhdf")


def _read(name: str, use: Callable[[Path], object], run: str = "run") -> Callable[[Path], None]:
    def read(path: Path) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "out"
            shutil.copytree(SOUND / run, folder)
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
    **{f"report-{name}": Reader(stored(f"run/{name}"), _read(name, _report)) for name in FILES},
    "dtopo": Reader(
        stored("sea/run-surface.vtkhdf"),
        _read("run-surface.vtkhdf", lambda folder: convert(folder, "dtopo", prefix="run"), "sea"),
    ),
}
