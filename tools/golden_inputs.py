"""Input files of the golden runs: small meshes with named tags, source files and models of the ground.

They are written from the formats' own descriptions, not by Faultwave: a run's input must not change with the program.
"""

from __future__ import annotations

import struct
from itertools import permutations, product
from pathlib import Path
from typing import Any

import h5py
import numpy as np

VECTOR = np.dtype([("x", "f8"), ("y", "f8"), ("z", "f8")])
SUBFAULT = np.dtype(
    [
        ("tinit", "f8"),
        ("timestep", "f8"),
        ("mu", "f8"),
        ("area", "f8"),
        ("tan1", VECTOR),
        ("tan2", VECTOR),
        ("normal", VECTOR),
    ]
)
FACES = ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))


def write_inputs(folder: Path, meshes: dict[str, Any]) -> None:
    """Everything the runs may name, into ``folder``."""
    for name, mesh in meshes.items():
        write_box(folder / f"{name}.msh", mesh)
    write_nrf(folder / "slip.nrf")
    write_awp_source(folder / "rates.awp")
    write_awp_mesh(folder / "ground.awp")
    write_netcdf_model(folder / "ground.nc")
    (folder / "rupture.srf").write_text(SRF)
    (folder / "slip.fsrm").write_text(FSRM)
    (folder / "event.cmt").write_text(CMT)
    (folder / "layers.txt").write_text(LAYERS)
    (folder / "sites.txt").write_text("310 890 -20\n1190 520 -880\n")
    (folder / "easi.yaml").write_text(EASI)


def write_box(path: Path, mesh: dict[str, Any]) -> None:
    """Return a box of bricks of six tetrahedra each as Gmsh 2.2 text.

    mesh: cells, lower, upper; regions: tag, lower and upper corner of the centres that have it, the last wins; surfaces: tag, lower and
    upper corner between which all corners of a face lie.
    """
    cells, lower, upper = (np.array(mesh[k], float) for k in ("cells", "lower", "upper"))
    n = cells.astype(int)
    grid = [np.linspace(lower[a], upper[a], n[a] + 1) for a in range(3)]
    points = np.stack(np.meshgrid(*grid, indexing="ij"), -1).reshape(-1, 3)
    stride = np.array([(n[1] + 1) * (n[2] + 1), n[2] + 1, 1])
    bricks = np.array(list(product(*map(range, n)))) @ stride
    # Six tetrahedra round a diagonal, one for each order in which the axes are walked; the same cut on opposite faces.
    walks = [np.concatenate([[0], np.cumsum(stride[list(p)])]) for p in permutations(range(3))]
    tets = (bricks[:, None, None] + np.array(walks)).reshape(-1, 4)
    edges = points[tets[:, 1:]] - points[tets[:, :1]]
    flipped = np.linalg.det(edges) < 0
    tets[flipped] = tets[flipped][:, [0, 2, 1, 3]]
    tags = _tags(points[tets].mean(1)[:, None], mesh.get("regions", ()), 1)
    faces = np.unique(np.sort(tets[:, FACES].reshape(-1, 3), axis=1), axis=0)
    marks = _tags(points[faces], mesh.get("surfaces", ()), 0)
    faces, marks = faces[marks > 0], marks[marks > 0]
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(points))]
    lines += [f"{i + 1} {x!r} {y!r} {z!r}" for i, (x, y, z) in enumerate(points.tolist())]
    lines += ["$EndNodes", "$Elements", str(len(faces) + len(tets))]
    rows = [(2, t, c) for t, c in zip(marks, faces, strict=True)] + [(4, t, c) for t, c in zip(tags, tets, strict=True)]
    lines += [f"{i + 1} {kind} 2 {tag} {tag} {' '.join(map(str, c + 1))}" for i, (kind, tag, c) in enumerate(rows)]
    path.write_text("\n".join([*lines, "$EndElements", ""]))


def _tags(places: np.ndarray, boxes: Any, default: int) -> np.ndarray:
    """Tag of each group of points (n, points, 3) by the boxes that hold all of the group."""
    tags = np.full(len(places), default)
    for tag, low, high in boxes:
        tags[((places > np.array(low) - 1e-9) & (places < np.array(high) + 1e-9)).all((1, 2))] = tag
    return tags


def write_nrf(path: Path) -> None:
    """Two subfaults of slip rates, the second with a shear modulus of its own."""
    subfaults = np.zeros(2, SUBFAULT)
    subfaults[0] = (0.02, 0.05, 0.0, 2e5, (1, 0, 0), (0, 0, -1), (0, -1, 0))
    subfaults[1] = (0.05, 0.04, 2e10, 1e5, (0, 1, 0), (0, 0, -1), (1, 0, 0))
    with h5py.File(path, "w") as file:
        file["centres"] = np.array([(700, 650, -620), (820, 910, -480)], VECTOR)
        file["subfaults"] = subfaults
        file["sroffsets"] = np.array([[0, 0, 0], [3, 2, 0], [7, 2, 0]], np.uint32)
        file["sliprates1"] = np.array([0.0, 1, 0, 0, 2, 2, 0])
        file["sliprates2"], file["sliprates3"] = np.array([1.0, 1.0]), np.zeros(0)


def write_awp_source(path: Path) -> None:
    """Moment rates of two nodes, text: i j k, then a row of six for each step."""
    rates = np.outer([0.0, 1, 2, 1], np.array([1.0, 2, -3, 4, 5, 6]) * 1e14)
    rows = [f"{node}\n" + "\n".join(" ".join(f"{v:.6e}" for v in row) for row in rates) for node in ("7 8 6", "9 6 5")]
    path.write_text("\n".join(rows) + "\n")


def _rock(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """vp, vs, rho, faster with depth."""
    return 3400.0 - 0.5 * z, 1900.0 - 0.3 * z, 2600.0 - 0.1 * z


def write_awp_mesh(path: Path) -> None:
    """vp, vs, rho of 19 x 20 x 18 points at 100 m, x fastest, z down from the surface."""
    z = -100.0 * np.arange(18)[:, None, None] + 0.02 * np.arange(19) * 100.0 + 0 * np.arange(20)[:, None]
    path.write_bytes(b"".join(struct.pack("<3f", *p) for p in np.stack(_rock(z), -1).reshape(-1, 3)))


def write_netcdf_model(path: Path) -> None:
    """Write the same material on a NetCDF-4 grid with other names."""
    import netCDF4

    axes = {"x": np.arange(-200.0, 2001, 200), "y": np.arange(-200.0, 2001, 200), "z": np.arange(-2000.0, 1, 200)}
    with netCDF4.Dataset(path, "w") as file:
        for name, values in axes.items():
            file.createDimension(name, len(values))
            variable = file.createVariable(name, "f8", (name,))
            variable[:], variable.units = values, "m"
        z, _, x = np.meshgrid(axes["z"], axes["y"], axes["x"], indexing="ij")
        columns = zip(("p_speed", "vs", "rho"), ("m/s", "m/s", "kg/m^3"), _rock(z + 0.02 * x), strict=True)
        for name, unit, values in columns:
            variable = file.createVariable(name, "f8", ("z", "y", "x"))
            variable[:], variable.units = values, unit


SRF = """\
2.0
PLANE 1
 -117.295 34.205 2 1 0.4 0.2
 30 60 0.5 0 0.1
POINTS 2
-117.293 34.206 0.55 30 60 1e9 0.02 0.05 -1 -1
40 4 4 0 0 0 0
0 10 20 10
-117.291 34.207 0.65 30 60 1e9 0.06 0.05 -1 -1
40 4 3 10 2 0 0
0 15 5
4 4
"""
FSRM = """\
Seismic Moment Tensor
0.0 -1e15 0.0
-1e15 0.0 0.0
0.0 0.0 0.0
Number of sources
2
x y z strike dip rake area onset
700. 650. -620. 0. 0. 0. 1.0 0.0
820. 910. -480. 30. 60. 20. 0.5 0.05
source time function
0.05 4
samples
0. 1. 2. 0.
0. 2. 1. 0.
"""
CMT = """\
 PDE 2003  6  9 12 52  0.00  34.2060 -117.2930   0.6 4.0 4.0 SOMEWHERE
event name:     golden
time shift:      0.0500
half duration:   0.1000
latitude:       34.2060
longitude:    -117.2930
depth:           0.6000
Mrr:       1.0e22
Mtt:      -2.0e22
Mpp:       1.0e22
Mrt:       3.0e22
Mrp:      -1.5e22
Mtp:       2.5e22
"""
LAYERS = """\
depth vp vs rho Qp Qs
0 2600 1300 2200 80 40
350 3464 2000 2700 120 60
900 4200 2400 2750 200 100
"""
EASI = """\
!ConstantMap
map:
  rho: 2700
  lambda: 1.08e10
  mu: 1.08e10
"""
