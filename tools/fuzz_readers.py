"""Every reader of input files for ``tools/fuzz.py``: sound files to begin with, and what is done with a file.

A reader may raise a FaultwaveError that names the file; anything else, and sound-looking results that are not, is a finding.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np

from faultwave.base.errors import FaultwaveError, InputError, Problem
from faultwave.base.units import to_si
from faultwave.case.load import load_case
from faultwave.domain import tets
from faultwave.domain.tets.formats.netcdf import FACES
from faultwave.domain.tets.formats.puml import write_puml
from faultwave.domain.tets.generators.generate import check_script, generate
from faultwave.domain.tets.load import read_mesh
from faultwave.media.easi import load_easi
from faultwave.media.easi.components.grids import read_netcdf, read_scec
from faultwave.media.load import read_layers
from faultwave.media.models import open_models
from faultwave.observe.dataset import energies_from_arrays
from faultwave.observe.stations.points import read_points, read_stations
from faultwave.output import checkpoint as container
from faultwave.output.formats.csv_tables import read_energies, write_energies
from faultwave.output.formats.image import PlaneReader
from faultwave.output.formats.maps_netcdf import read_maps
from faultwave.output.formats.seissol_dat import read_dat
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.manifest import read_manifest
from faultwave.output.results import load_results
from faultwave.physics.sources.load import load_sources
from faultwave.verify.meshes import write_gmsh
from tests.media.models import files as models
from tests.physics.sources.test_damaged import CMT, RATES, SRF
from tests.physics.sources.test_fsp import model as fsp_model
from tests.physics.sources.test_param import PARAM
from tests.physics.sources.test_readers import write_nrf
from tests.run.test_torn_files import FSRM, LAYERS, maps, receivers
from tools.fuzz_places import PLACES
from tools.fuzz_reader import Reader, Silent, by, finite, stored, texts
from tools.fuzz_reports import REPORTS

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
EXAMPLES = ROOT / "src" / "faultwave" / "case" / "examples"
UNITS = ("m", "Pa", "kg/m^3", "")
AT = np.array([[300.0, 400.0, -700.0], [110.0, 120.0, -260.0]])


def _units(path: Path) -> None:
    text, refused = path.read_text(errors="replace"), []
    for unit in UNITS:
        try:
            finite(text, to_si(text, unit))
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            refused.append(str(error))
    if len(refused) == len(UNITS):
        raise InputError(Problem(str(path), refused[0]))


def _case(path: Path) -> None:
    case, problems = load_case(path)
    if case is None:
        load_case(path, partial=True)
        problems.raise_errors()
        raise Silent("no case and no error")
    for name, value in _numbers(case.model_dump(mode="json"), ""):
        if name.split(".")[-1] not in ("forced_rupture_time", "rupture_onset", "Qp", "Qs"):
            finite(name, value)


def _cases(folder: Path) -> list[Path]:
    """Write the examples with the geometries that they are meshed from."""
    for geometry in EXAMPLES.glob("*.geo"):
        shutil.copy(geometry, folder.parent)
    return sorted(EXAMPLES.glob("*.yaml"))


def _decks(*contents: str) -> Callable[[Path], list[Path]]:
    """Decks; the files that they name lie beside the inputs that are made of them."""

    def write(folder: Path) -> list[Path]:
        (folder.parent / "m.yaml").write_text(DECK_MATERIAL)
        (folder.parent / "b.yaml").write_text(DECK_BOUNDARY)
        write_nrf(folder.parent / "s.nrf")
        return texts(*contents)(folder)

    return write


def _gmsh(folder: Path) -> list[Path]:
    write_gmsh(folder / "seed", _box())
    return [folder / "seed"]


def _numbers(node: Any, name: str) -> Iterable[tuple[str, float]]:
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in below:
        yield from _numbers(value, f"{name}.{key}")
    if isinstance(node, float):
        yield name, node


def _sources(kind: str) -> Callable[[Path], None]:
    nodes = SimpleNamespace(spacing=100.0, origin=(1000.0, 2000.0, 0.0), interval=0.1, steps=4)
    setting = {"kind": kind, "onset": 0.0, "nodes": nodes, "slip_rate": "triangle"}

    def read(path: Path) -> None:
        for source in load_sources([SimpleNamespace(file=path, **setting)], projection=models.CASE):
            for what in (source.location, source.moment_tensor(1e10, 1e10), source.force, source.onset):
                finite("source", what)
            finite("source", source.integral(0.0, np.arange(1.0, 9.0)))

    return read


def _stations(path: Path) -> None:
    setting = SimpleNamespace(
        points=[], geographic=[], file=None, geographic_file=path, stations=None, names=None, network="FW"
    )
    mapped = SimpleNamespace(crs="EPSG:32611", origin=(-117.0, 34.0), azimuth=0.0)
    finite("stations", read_points(setting, mapped))
    for station in read_stations(setting):
        if not station.code.isprintable() or not station.network.isprintable():
            raise Silent(f"codes of stations: {station}")


def _netcdf_mesh(path: Path) -> None:
    """Write the box in two blocks, in the layout of SeisSol's tools."""
    mesh = _box()
    half = len(mesh.cells) // 2
    blocks = (slice(0, half), slice(half, 2 * half))
    with h5py.File(path, "w") as file:
        file["element_size"], file["vertex_size"] = [half] * 2, [len(mesh.vertices)] * 2
        file["element_vertices"] = np.stack([mesh.cells[block] for block in blocks]).astype(np.int32)
        file["element_boundaries"] = np.stack([mesh.tags[block][:, FACES] for block in blocks])
        file["element_group"] = np.stack([mesh.groups[block] for block in blocks])
        file["vertex_coordinates"] = np.stack([mesh.vertices] * 2)


def _mesh(path: Path) -> None:
    tets.check_mesh(read_mesh(path)).raise_errors()


def _box() -> Any:
    generated = {
        "shape": "box",
        "cells": (2, 2, 2),
        "lower": (0.0, 0.0, -1e3),
        "upper": (1e3, 1e3, 0.0),
        "boundaries": {},
    }
    return generate(generated)


def _model(kind: str) -> Reader:
    made = SimpleNamespace()

    def seeds(folder: Path) -> list[Path]:
        return [getattr(models, kind)(folder / kind).file]

    def read(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made.setting = made.__dict__.get("setting") or getattr(models, kind)(Path(folder) / kind)
        more = {k: v for k, v in vars(made.setting).items() if k not in ("kind", "file")}
        field = open_models([models.setting(made.setting.kind, path, **more)], "m", models.CASE)
        for values in field.evaluate(AT, np.ones(len(AT), np.int64), ["rho", "vp", "vs"]).values():
            finite("model", values)

    return Reader(seeds, read)


def _easi(path: Path) -> None:
    field = load_easi(path, time=False)
    field.evaluate(AT, np.ones(len(AT), np.int64), sorted(field.parameters))


def _grid(path: Path) -> None:
    grid = read_netcdf(path, "data", "deck.yaml:1", lambda where, what, advice: None)
    grid.interpolate([np.array([0.5])] * len(grid.shape), range(len(grid.data)), True)


def _write_grid(path: Path) -> None:
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        for name in ("x", "y"):
            file.createDimension(name, 4)
            file.createVariable(name, "f8", (name,))[:] = np.arange(4.0)
        file.createVariable("data", "f4", ("y", "x"))[:] = np.ones((4, 4))


def _results(name: str) -> Callable[[Path], Any]:
    """As the file ``name`` of a run."""

    def read(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(path, Path(folder) / f"p-{name}")
            try:
                load_results(folder, "p")
            except InputError as error:
                if f"p-{name}" in str(error):
                    raise InputError(Problem(str(path), str(error))) from None
                raise

    return read


def _fields(kind: Any) -> Callable[[Path], Any]:
    def read(path: Path) -> None:
        with kind(path) as file:
            for name in file.fields:
                if len(file.times):
                    file.field(name)

    return read


def _energies(path: Path) -> None:
    write_energies(path, energies_from_arrays(np.arange(3.0), {"elastic_energy": np.ones(3), "potency": np.ones(3)}))


FORMS = {
    "time": container.Form(()),
    "cells/id": container.Form(("cells",), "iu"),
    "cells/dofs": container.Form(("cells", 10, 9)),
}


def _checkpoint(path: Path) -> None:
    """Read a checkpoint whose part is the file, with the checksum of the file."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "000001"
        target.mkdir()
        shutil.copyfile(path, target / "part-000000.h5")
        index = {
            "checkpoint": 1,
            "parts": {"part-000000.h5": container.hash_file(path)},
            "spans": [],
            "notes": {"time": 1.0},
        }
        (target / "index.json").write_text(json.dumps(index | {"checksum": container._digest(index)}))
        _restored(target, path)


def _restored(target: Path, path: Path) -> None:
    try:
        found = container.read(target)
        found.require({"time": (int, float)}, FORMS)
        with found.reading():
            part = found.part(0)
            np.zeros((4, 10, 9))[part["cells/id"]] = part["cells/dofs"]
    except InputError as error:
        raise InputError(Problem(str(path), str(error))) from None


def _part(folder: Path) -> tuple[str, str]:
    arrays = {"time": np.array(0.5), "cells/id": np.arange(4), "cells/dofs": np.zeros((4, 10, 9))}
    return container.CheckpointWriter.write_part(folder, 0, arrays)


def _write_part(path: Path) -> None:
    (path.parent / _part(path.parent)[0]).rename(path)


def _index(path: Path) -> None:
    """Read an index with fitting checksums of itself and of its part."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "000001"
        target.mkdir()
        name, checksum = _part(target)
        text = path.read_text(errors="replace").replace(f'"{name}": "00"', f'"{name}": "{checksum}"')
        try:
            index = json.loads(text)
            index.pop("checksum", None)
            text = json.dumps(index | {"checksum": container._digest(index)})
        except (ValueError, AttributeError, TypeError, RecursionError):
            pass
        (target / "index.json").write_text(text, errors="replace")
        _restored(target, path)


INDEX = json.dumps({"checkpoint": 1, "parts": {"part-000000.h5": "00"}, "spans": [{"cells": [0, 3]}],
                    "notes": {"time": 1.0, "case": {"end_time": 2.0}, "files": {}}})  # fmt: skip
EASI = """!Switch
[rho]: !ConstantMap
  map: {rho: 2700}
[mu, lambda]: !LayeredModel
  map: !AffineMap {matrix: {d: [0, 0, 1]}, translation: {d: 0}}
  interpolation: linear
  parameters: [mu, lambda]
  nodes: {0.: [3.2e10, 3.4e10], -1000.: [4e10, 4e10]}
"""
DAT = 'TITLE = "r"\nVARIABLES = "Time","v1"\n# x1 1.0\n# x2 2.0\n# x3 -3.0\n 0.0 1.0\n 0.1 2.0\n'
SCEC_GRID = "1\n1 1 10.0 10.0\n0 0\n" + "".join(
    f"{i} {j} 0 0 1 2 3 4 5 6 7 8 9 10\n" for j in range(2) for i in range(2)
)
GEO = 'SetFactory("OpenCASCADE"); // a box\nBox(1) = {0, 0, 0, 1, 1, 1};\nPhysical Volume("v") = {1};\n'

SETTINGS = (
    """end_time: 1
mesh: {generate: {shape: box, cells: [2, 2, 2], lower: [0, 0, -1e3], upper: [1e3, 1e3, 0], boundaries: {z-: dirichlet}}}
material: {constant: {rho: 2700, vp: 6000, vs: 3464, Qp: 100, Qs: 50}}
attenuation: {low: 0.1, high: 10, reference: 1, mechanisms: 3}
plasticity:
  parameters: {constant: {plastic_cohesion: 1 MPa, bulk_friction: 0.5}}
  initial_stress: {constant: {s_xx: -1e6, s_yy: -1e6, s_zz: -1e6}}
  constants: {relaxation_time: 0.05}
dirichlet:
  - velocity: {constant: {v1: 0.5}}
    time_function: {kind: gaussian, duration: 0.1 s}
""",
    """end_time: 1
mesh:
  build:
    lower: [-1e4, -1e4]
    upper: [1e4, 1e4]
    depth: 1e4
    frequency: 0.2 Hz
    growth: 0.3
initial: {kind: plane-wave, wave: [{mode: P, k: [1e-3, 0, 0], amplitude: 0.1, phase: 0.5, window: [-1, 1]}]}
material: {constant: {rho: 2700, vp: 6000, vs: 3464}}
""",
)
"""Of blocks that no built-in example has."""
_DECK = """&equations
MaterialFileName = 'm.yaml'
Plasticity = {plasticity}
Tv = 0.05
FreqCentral = 1.0
FreqRatio = 100
BoundaryFileName = 'b.yaml'
/
&IniCondition
cICType = '{initial}'
origin = 0 0 0
kVec = 0.1 0 0
ampField = '0 0 0 0 0 0 0 0 1'
magnitude = 1e6
width = 0.1
/
&SourceType
Type = {source}
FileName = 's.nrf'
/
&MeshNml
MeshFile = '10 10 10'
meshgenerator = 'CubeGenerator'
/
&CubeGenerator
cubeMinX = 5
cubeMaxX = 5
cubeMinY = 5
cubeMaxY = 5
cubeMinZ = 5
cubeMaxZ = 1
cubeX = 2
cubeY = 2
cubeZ = 2
cubeS = 10
/
&Discretization
CFL = 0.5
/
&Output
OutputFile = 'out'
/
&AbortCriteria
EndTime = 1.0
/
"""
DECKS = tuple(
    _DECK.format(plasticity=plasticity, initial=initial, source=source)
    for plasticity, initial, source in ((0, "Travelling", 42), (1, "PressureInjection", 50), (0, "Snell", 0))
)
DECK_MATERIAL = (
    "!ConstantMap\nmap: {rho: 2700, mu: 3.24e10, lambda: 3.24e10, plastCo: 1e6, bulkFriction: 0.5, "
    "s_xx: 0, s_yy: 0, s_zz: 0, s_xy: 0, s_yz: 0, s_xz: 0}\n"
)
DECK_BOUNDARY = "!ConstantMap\nmap: {v1: 0}\n"
BOUNDARIES = "absorbing: [1, 2]\nfree_surface: 3\ndirichlet: [4]\n"


def _face_map(path: Path) -> None:
    """As the face map of a deck."""
    deck = path.with_suffix(".par")
    deck.write_text(
        _DECK.format(plasticity=0, initial="Zero", source=0).replace("/\n&CubeG", f"FaceMapFile = '{path}'\n/\n&CubeG")
    )
    try:
        _case(deck)
    except InputError as error:
        told = [p for p in error.problems if str(path) in str(p)]
        if told:
            raise InputError(told) from None
    finally:
        deck.unlink()


FSP = fsp_model()
READERS: dict[str, Reader] = {
    "units": Reader(texts("5 km", "70 MPa", "1e3", "-2.5e-3 g/cm^3"), _units),
    "case": Reader(_cases, _case, ".yaml"),
    "deck": Reader(_decks(DECKS[0]), _case, ".par"),
    "easi": Reader(texts(EASI), _easi, ".yaml"),
    "asagi": Reader(by(_write_grid), _grid),
    "scec": Reader(texts(SCEC_GRID), lambda path: read_scec(path, "deck.yaml:1")),
    "layers": Reader(texts(LAYERS), read_layers),
    "stations": Reader(texts("0 0 0\n1e3 2d3 -5\n"), lambda p: read_points(SimpleNamespace(points=[], file=p))),
    "named-stations": Reader(texts("-117 34 0 PAS CI  # Pasadena\n-117.1 34.1 -5 LAX\n"), _stations),
    "nrf": Reader(by(write_nrf), _sources("nrf")),
    "fsrm": Reader(texts(FSRM), _sources("fsrm")),
    "srf": Reader(texts(SRF), _sources("srf")),
    "fsp": Reader(texts(FSP), _sources("fsp")),
    "param": Reader(texts(PARAM), _sources("param")),
    "cmt": Reader(texts(CMT), _sources("cmtsolution")),
    "awp": Reader(texts(f"3 4 5\n{RATES}\n1 1 1\n{RATES}\n"), _sources("awp")),
    "gmsh": Reader(_gmsh, _mesh, ".msh"),
    "puml": Reader(by(lambda path: write_puml(path, _box())), _mesh, ".h5"),
    "netcdf-mesh": Reader(by(_netcdf_mesh), _mesh, ".nc"),
    "geo": Reader(texts(GEO), check_script, ".geo"),
    **{kind: _model(kind) for kind in ("rfile", "sfile", "geomodelgrids", "awp_mesh", "netcdf")},
    "receivers": Reader(by(receivers), _results("receivers.h5")),
    "energies": Reader(by(_energies), read_energies),
    "dat": Reader(texts(DAT), read_dat),
    "triangles": Reader(stored("triangles"), _fields(VtkHdfReader)),
    "image": Reader(stored("image"), _fields(PlaneReader)),
    "maps": Reader(by(maps), read_maps),
    "manifest": Reader(stored("manifest"), read_manifest),
    "checkpoint": Reader(by(_write_part), _checkpoint),
    "index": Reader(texts(INDEX), _index),
    "settings": Reader(texts(*SETTINGS), _case, ".yaml"),
    "blocks": Reader(_decks(*DECKS), _case, ".par"),
    "face-map": Reader(texts(BOUNDARIES), _face_map, ".yaml"),
    **PLACES,
    **REPORTS,
    "nodes": Reader(stored("nodes"), _fields(VtkHdfReader)),  # of cells of high degree
}


def _sound(reader: Reader) -> Reader:
    def read(path: Path) -> None:
        try:
            reader.read(path)
        except FaultwaveError as error:
            raise Silent(f"a sound file is refused: {error}") from None

    return Reader(reader.seeds, read, reader.suffix)


def _refused(reader: Reader) -> Reader:
    def read(path: Path) -> None:
        reader.read(path)
        raise Silent("the file is taken")

    return Reader(reader.seeds, read, reader.suffix)


def _unnamed(path: Path) -> None:
    raise InputError(Problem("somewhere", "is wrong"))


def _silence(path: Path) -> None:
    raise Silent(path.read_text())


OF_TESTS = {
    "test crash": Reader(texts(), lambda path: os.kill(os.getpid(), signal.SIGSEGV)),
    "test hang": Reader(texts(), lambda path: time.sleep(60)),
    "test silence": Reader(texts(), _silence),
    "test unnamed": Reader(texts(), _unnamed),
    **{f"refused {name}": _refused(reader) for name, reader in READERS.items()},
    **{f"sound {name}": _sound(reader) for name, reader in READERS.items()},
}
"""Readers that show what the driver says of them, of files that must not be taken, and of files that must."""


def judged(name: str, path: Path) -> str:
    """'' where a reader takes the file or refuses it as it should, else what is wrong. Raises what the reader should not."""
    reader = READERS.get(name) or OF_TESTS[name]
    try:
        reader.read(path)
    except FaultwaveError as error:
        text = str(error)
        if reader.named and path.name not in text:
            return f"does not name the file: {text[:300]}"
        if len(text) > 20_000:
            return f"an error of {len(text)} letters: {text[:300]}"
    except Silent as silent:
        return f"silent: {silent}"
    return ""
