"""No file given to any command runs code, starts programs, opens sockets or changes files: every format, with what its readers could be
made to do, under an audit hook (``hostile.py``)."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import faultwave as fw

RUNS = "touch pwned"
HOOK = Path(__file__).with_name("hostile.py")


class Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (RUNS,)


def pickled() -> bytes:
    """What ObsPy's detection of formats takes for a stream of its own."""
    name = b"obspy.core.stream"
    return b"\x80\x02X" + struct.pack("<I", len(name)) + name + b"0" + pickle.dumps(Runs(), protocol=2)[2:]


TEXTS = {
    "yaml": f"!!python/object/apply:os.system ['{RUNS}']\n",
    "lua": f"!LuaMap\nreturns: [rho, mu, lambda]\nfunction: |\n  os.execute('{RUNS}') io.open('pwned', 'w') "
    f"python.eval('1') load('\\27Lua') require('os') package.loadlib('x', 'y')\n  function f(x) return {{rho=1, mu=1, lambda=1}} end\n",
    "python": f"__import__('os').system('{RUNS}')\n",
    "shell": f"$({RUNS}); `{RUNS}`; | {RUNS} > pwned\n",
    "xml": f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y SYSTEM "http://127.0.0.1/{RUNS}">]>'
    "<FDSNStationXML>&x;&y;</FDSNStationXML>",
    "geo": f'SystemCall "{RUNS}"; Merge "/etc/passwd"; Printf("pwned") > "pwned";\nBox(1) = {{0, 0, 0, 1, 1, 1}};\n',
    "json": json.dumps({"py/object/apply": "os.system", "py/reduce": [RUNS], "a": [[[[[]]]]]}),
    "deep": "[" * 20_000,
}


def hdf5(path: Path) -> None:
    """Links and values in other files, and a type that HDF5 for Python keeps as a pickle."""
    with h5py.File(path, "w") as file:
        for name in ("geometry", "connect", "group", "vp", "x", "receivers"):
            file[name] = h5py.ExternalLink("/etc/passwd", "/")
        file.create_dataset("values", (8,), "f8", external=[("/etc/hostname", 0, 64)])
        file.attrs["pickle"] = np.void(pickled())


def hostile(folder: Path) -> list[Path]:
    """A file of every kind; names that a shell would run."""
    folder.mkdir()
    made = []
    for name, text in TEXTS.items():
        made.append(folder / f"{name}.txt")
        made[-1].write_text(text)
    made.append(folder / "pickle.txt")
    made[-1].write_bytes(pickled())
    np.save(folder / "array", np.array([Runs()], dtype=object), allow_pickle=True)
    made.append((folder / "array.npy").rename(folder / "array.txt"))
    made.append(folder / "hdf5.txt")
    hdf5(made[-1])
    made.append(folder / "$(id);`id`'\"&.txt")
    made[-1].write_text(TEXTS["shell"])
    return made


BOX = {
    "shape": "box",
    "cells": [2, 2, 2],
    "lower": [0, 0, -1e3],
    "upper": [1e3, 1e3, 0],
    "boundaries": {"z+": "free-surface"},
}
ROCK = {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}}
SOURCE = {
    "kind": "moment-tensor",
    "location": [450, 500, -500],
    "tensor": {"xy": 1e15},
    "time_function": {"kind": "brune", "duration": 0.1},
}


def case(folder: Path, **changes: Any) -> dict[str, Any]:
    return {"end_time": 0.02, "mesh": {"generate": BOX}, "material": ROCK, "sources": [SOURCE], "numerics": {"order": 2, "threads": 1},
            "output": {"folder": str(folder), "prefix": "p", "receivers": {"points": [[400, 400, -10]], "interval": 0.01},
                       "energies": {"interval": 0.01}, "surface": {"interval": 0.01},
                       "checkpoint": {"interval": 0.01}}} | changes  # fmt: skip


def grid(out: Path, more: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    made = case(out, engine="fd", **changes)
    del made["mesh"]
    return made | {"grid": {"lower": [0, 0, -1e3], "upper": [1e3, 1e3, 0], "spacing": 100.0} | (more or {})}


PLACE = {"lower": [0, 0], "upper": [2e3, 2e3], "depth": 2e3, "fault_size": 1e3}


def models(kind: str, **more: Any) -> Any:
    return lambda f, out: grid(out, material={"models": [{"kind": kind, "file": f} | more]})


def sources(kind: str) -> Any:
    return lambda f, out: case(out, sources=[{"kind": kind, "file": f}])


def built(**fault: str) -> Any:
    return lambda f, out: case(out, mesh={"build": PLACE | {"faults": [dict.fromkeys(fault, f)]}})


def received(**more: Any) -> Any:
    return lambda f, out: case(
        out, output=case(out)["output"] | {"receivers": dict.fromkeys(more, f) | {"interval": 0.01}}
    )


SLOTS = {
    "material": lambda f, out: case(out, material={"easi": f}),
    "layers": lambda f, out: case(out, material={"layers": f}),
    "mesh": lambda f, out: case(out, mesh={"file": f}),
    "shape": lambda f, out: case(out, mesh={"file": f, "size": 500.0}),
    **{kind: sources(kind) for kind in ("srf", "nrf", "fsrm", "fsp", "param", "cmtsolution")},
    "receivers": received(file=True),
    "stations": lambda f, out: received(geographic_file=True)(f, out) | {"projection": {"crs": "EPSG:32611"}},
    "sfile": models("sfile", crs="EPSG:32611"),
    "awp": models("awp-mesh", shape=[2, 2, 2], spacing=500.0),
    **{kind: models(kind) for kind in ("rfile", "geomodelgrids", "netcdf")},
    "relief": lambda f, out: grid(out, {"topography": {"file": f, "sources": "depth", "receivers": "depth"}}),
    "trace": built(trace=""),
    "surface": built(surface=""),
    "planes": built(planes=""),
    "injection": lambda f, out: grid(out, injection={"file": f}),
}
SUFFIXES = {
    "mesh": [".h5", ".msh", ".nc", ".geo"], "shape": [".step", ".brep"], "relief": [".tif", ".nc", ".asc"], "material": [".yaml"],
    "injection": [".h5"], "stations": [".xml", ".csv"], "trace": [".geojson", ".txt"], "surface": [".ts", ".stl", ".vtk"],
}  # fmt: skip
"""Endings by which readers are chosen."""


def checks(folder: Path, files: list[Path]) -> list[list[str]]:
    """A check of a case with each file in each place where a case names one, called as its readers want it."""
    commands = []
    for slot, make in SLOTS.items():
        for suffix in SUFFIXES.get(slot, [".txt"]):
            for file in files:
                given = folder / f"{file.stem}-{slot}{suffix}"
                if not given.exists():
                    shutil.copy(file, given)
                path = folder / f"case-{len(commands)}.yaml"
                path.write_text(json.dumps(make(str(given), folder / "none")))
                commands.append(["check", str(path)])
    return commands


def under_the_hook(folder: Path, commands: list[list[str]]) -> list[dict[str, Any]]:
    (folder / "commands.json").write_text(json.dumps(commands))
    cache = os.environ.get(
        "FAULTWAVE_CACHE", str(Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "faultwave")
    )
    writable = json.dumps([str(folder), cache])
    environment = os.environ | {
        "MPLBACKEND": "agg",
        "TMPDIR": str(folder),
        "MPLCONFIGDIR": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",  # compiled modules of a fresh installation are not written by an input file
    }
    command = [sys.executable, "-P", str(HOOK), str(folder / "commands.json"), writable]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def judge(folder: Path, commands: list[list[str]]) -> None:
    answers = under_the_hook(folder, commands)
    bad = [
        (c, a["found"] or a["said"])
        for c, a in zip(commands, answers, strict=True)
        if a["found"] or "Traceback" in a["said"]
    ]
    assert not bad, "\n".join(f"{command}: {what}" for command, what in bad[:20])
    assert not list(folder.rglob("pwned*"))


def test_the_hook_sees_what_a_pickle_does(tmp_path: Path) -> None:
    """Else the tests below could not fail."""
    (tmp_path / "a").write_bytes(pickled())
    code = (
        "import importlib.util, pickle, sys, os\n"
        "spec = importlib.util.spec_from_file_location('hostile', sys.argv[1])\n"
        "hook = importlib.util.module_from_spec(spec); spec.loader.exec_module(hook)\n"
        "sys.addaudithook(hook.hook); hook.listening = True\n"
        "pickle.loads(open('a', 'rb').read()); eval('len(\"pwned\")'); open('b', 'w').close(); os.remove(os.path.abspath('b'))\n"
        "import subprocess; subprocess.run('true', shell=True)\n"
        "hook.listening = False\nprint(*hook.found, sep='\\n')"
    )
    told = subprocess.run([sys.executable, "-c", code, str(HOOK)], cwd=tmp_path, text=True, capture_output=True).stdout
    for event in (
        "pickle.find_class",
        "os.system",
        "compile",
        "opens 'b' to write",
        "os.remove",
        "subprocess ['/bin/sh'",
    ):
        assert event in told, told
    assert (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "kinds",
    [["pickle", "hdf5", "lua"], ["yaml", "python", "geo", "xml"], ["array", "shell", "json", "deep", "$(id);`id`'\"&"]],
)
def test_no_input_of_a_case_runs_anything(tmp_path: Path, kinds: list[str]) -> None:
    files = [f for f in hostile(tmp_path / "files") if f.stem in kinds]
    assert len(files) == len(kinds)
    commands = checks(tmp_path, files)
    for file in files:  # as the case itself, and as the deck
        for suffix in (".yaml", ".par"):
            given = tmp_path / f"{file.stem}-case{suffix}"
            shutil.copy(file, given)
            commands += [["check", str(given)], ["submit", str(given), "--output", str(tmp_path / "batch")]]
        commands += [["mesh", "info", str(tmp_path / f"{file.stem}-mesh.msh")]]
    judge(tmp_path, commands)


OPTIONS = {
    "fault": ("--fault", ["geojson", "txt"]),
    "topography": ("--topography", ["tif", "nc", "asc"]),
    "tensor": ("--moment-tensor", ["txt"]),
    "srf": ("--srf", ["srf"]),
}
"""Options of ``new`` that take a file, with the endings that its readers know."""


def test_no_other_command_runs_what_a_file_holds(tmp_path: Path) -> None:
    """Commands besides those above: with each file as their case, mesh, points, trace, raster or source."""
    files = hostile(tmp_path / "files")
    commands = []
    for number, file in enumerate(files):
        for name, (option, endings) in OPTIONS.items():
            given = tmp_path / f"{number}-{name}.{endings[number % len(endings)]}"
            shutil.copy(file, given)
            place = [] if name == "fault" else ["--lon", "-117", "--lat", "34", "--size", "20km"]
            commands.append(["new", str(tmp_path / f"new-{number}-{name}"), *place, option, str(given)])
        native, deck, mesh = (
            tmp_path / f"{number}-given.{ending}" for ending in ("yaml", "par", ("msh", "h5", "nc")[number % 3])
        )
        for given in (native, deck, mesh):
            shutil.copy(file, given)
        none = str(tmp_path / "none")
        commands += [["plan", str(native)], ["plot", str(native)], ["tune", str(deck), "--output", none],
                     ["run", str(native)], ["sgt", str(native), "--output", none], ["scatter", str(native), "--output", none],
                     ["sgt", "point-source", "--points", str(file), "--output", none],
                     ["mesh", "convert", str(mesh), str(tmp_path / "new.h5")],
                     ["mesh", "partition", str(mesh), str(tmp_path / "new.h5"), "-n", "2", "--case", str(deck)]]  # fmt: skip
    judge(tmp_path, commands)
    assert not (tmp_path / "none").exists() and not (tmp_path / "new.h5").exists()


def test_formulas_are_parsed(tmp_path: Path) -> None:
    texts = [f"__import__('os').system('{RUNS}')", "().__class__.__base__", "x.__class__", "9**9**9**9", "(" * 5000, "lambda: 0",
             f"f'{{{RUNS}}}'", "x if x else y", "[x for x in y]", "pow(" * 200, "1" * 100_000, "x+" * 50_000 + "x"]  # fmt: skip
    commands = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.yaml"
        material = {"expression": {"rho": text, "vp": "6000", "vs": "3464"}}
        path.write_text(json.dumps(case(tmp_path / "none", material=material, end_time=text)))
        commands.append(["check", str(path)])
    judge(tmp_path, commands)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    fw.simulate(case(folder)).run()
    return folder


def test_no_result_of_a_run_runs_anything(tmp_path: Path, finished: Path) -> None:
    """Each file of a run in turn is a pickle or leads elsewhere, and so are records that it is compared with."""
    commands = []
    names = sorted(str(p.relative_to(finished)) for p in finished.rglob("*") if p.is_file())
    assert any(n.endswith("manifest.json") for n in names) and any(n.endswith("index.json") for n in names)
    records = tmp_path / "records"
    records.mkdir()
    for suffix in (".mseed", ".sac", ".gse2", ".knet", ".xml", ".v1"):
        (records / f"CI.PAS{suffix}").write_bytes(pickled())
    (records / "a.xml").write_text(TEXTS["xml"])
    if importlib.util.find_spec("obspy") is not None:
        commands += [["compare", str(finished), str(records)], ["report", str(finished), "--observed", str(records)]]
    for number, name in enumerate(names):
        run = tmp_path / f"run-{number}"
        shutil.copytree(finished, run)
        if name.endswith((".h5", ".vtkhdf")):
            hdf5(run / name)
        else:
            (run / name).write_bytes(pickled() if number % 2 else TEXTS["json"].encode())
        commands += [
            ["plot", str(run)],
            ["report", str(run)],
            ["compare", str(run), str(finished)],
            ["convert", str(run), "csv"],
        ]
        if number % 3 == 0:
            commands += [["estimate-errors", str(run)], ["convert", str(run), "motions"]]
        if "checkpoints" in name:
            commands.append(["resume", str(run)])
    judge(tmp_path, commands)


def test_nothing_outside_its_folder_is_changed_by_a_manifest(tmp_path: Path, finished: Path) -> None:
    """--force removes what the manifest lists, which may be anything."""
    run, victim = tmp_path / "run", tmp_path / "victim"
    shutil.copytree(finished, run)
    victim.write_text("precious")
    (manifest,) = run.glob("*manifest.json")
    content = json.loads(manifest.read_text())
    content["outputs"] = ["../victim", str(victim), "..", ".", "", "a/../../victim", None, 3, {"a": 1}]
    manifest.write_text(json.dumps(content))
    (tmp_path / "case.yaml").write_text(json.dumps(case(run)))
    wicked = case(run)
    wicked["output"] |= {"prefix": "../victim"}
    (tmp_path / "wicked.yaml").write_text(json.dumps(wicked))
    judge(
        tmp_path, [["run", str(tmp_path / "case.yaml"), "--force"], ["run", str(tmp_path / "wicked.yaml"), "--force"]]
    )
    assert victim.read_text() == "precious"
