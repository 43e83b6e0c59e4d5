"""Writers of models of the ground, straight from what the formats' own manuals say."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import h5py
import netCDF4
import numpy as np

from faultwave.base.projection import Projection

CRS = "EPSG:32611"
ORIGIN = (-117.2, 34.1)
CASE = SimpleNamespace(crs=CRS, origin=ORIGIN, azimuth=0.0)
PROJECTION = Projection(CRS, ORIGIN, 0.0)
NAMES = ("rho", "vp", "vs", "Qp", "Qs")


def setting(kind, file, **more):
    defaults = {
        "vertical": "sea-level", "outside": "error", "water": "error", "crs": None, "names": {}, "shape": None, "spacing": None,
        "vertical_spacing": None, "origin": (0.0, 0.0, 0.0), "variables": None, "byte_order": "little",
    }  # fmt: skip
    return SimpleNamespace(kind=kind, file=file, **{**defaults, **more})


def truth(x, y, z):
    """Values linear in x, y (of the case) and height z: every reader interpolates them exactly."""
    return {
        "rho": 2000 + 0.01 * x + 0.02 * y - 0.1 * z, "vp": 4000 + 0.03 * x - 0.02 * y - 0.4 * z,
        "vs": 2000 + 0.01 * x + 0.03 * y - 0.2 * z, "Qp": 100 + 0.001 * x - 0.01 * z, "Qs": 50 + 0.001 * y - 0.005 * z,
    }  # fmt: skip


def sw4_points(azimuth, shape, h):
    """x, y (ni, nj) of the case at nodes of a block whose corner is the case's origin, x along ``azimuth`` from north."""
    i, j = np.meshgrid(h * np.arange(shape[0]), h * np.arange(shape[1]), indexing="ij")
    a = np.radians(azimuth)
    return i * np.sin(a) + j * np.cos(a), i * np.cos(a) - j * np.sin(a)


def rfile(path, azimuth=0.0, attenuation=True, topography=None, spoil=None, order="<", precision=8, crs=None):
    """Two blocks of 200 and 400 m spacing from 400 m above the sea (or 0) to 1600 m below it."""
    crs = (crs or "+proj=utm +zone=11 +datum=WGS84 +units=m").encode()
    high = topography is not None
    blocks = [(200.0, 0.0, 0.0, 1, (21, 17, 1))]
    count = 5 if attenuation else 3
    top = -400.0 if high else 0.0
    blocks += [
        (200.0, 50.0, top, count, (21, 17, int((400 - top) / 50) + 1)),
        (400.0, 100.0, 400.0, count, (11, 9, 13)),
    ]
    kind = np.dtype(f"{order}f{precision}")
    head = struct.pack(f"{order}iiidddi", 1, precision, int(attenuation), azimuth, *ORIGIN, len(crs)) + crs
    head += struct.pack(f"{order}i", len(blocks))
    for h, hv, z0, nc, shape in blocks:
        head += struct.pack(f"{order}dddiiii", h, hv, z0, nc, *shape)
    parts = [head]
    for number, (h, hv, z0, nc, shape) in enumerate(blocks):
        x, y = sw4_points(azimuth, shape, h)
        ground = topography(x, y) if high else 0.0 * x
        if number == 0:
            parts.append(ground.astype(kind).tobytes())
            continue
        z = -(z0 + hv * np.arange(shape[2]))
        values = truth(x[..., None], y[..., None], z)
        data = np.stack([np.broadcast_to(values[n], shape) for n in NAMES[:nc]], -1).astype(float)
        data[(z > ground[..., None] + 1e-6)] = -999.0
        if spoil:
            spoil(number, data)
        parts.append(data.astype(kind).tobytes())
    path.write_bytes(b"".join(parts))
    return setting("rfile", path)


def sfile(path, azimuth=0.0, attenuation=True, topography=None, spoil=None, name="z_values"):
    """Two grids of 100 and 200 m spacing between the ground, 500 m and 2000 m depth."""
    with h5py.File(path, "w") as file:
        file.attrs["Origin longitude, latitude, azimuth"] = np.array([*ORIGIN, azimuth])
        file.attrs["Coarsest horizontal grid spacing"] = 200.0
        file.attrs["Attenuation"], file.attrs["ngrids"] = np.int32(attenuation), np.int32(2)
        tops = []
        for g, (h, shape) in enumerate(((100.0, (41, 33)), (200.0, (21, 17)), (200.0, (21, 17)))):
            x, y = sw4_points(azimuth, shape, h)
            tops.append(
                -(topography(x, y) if topography else 0 * x) if g == 0 else np.full(shape, (500.0, 2000.0)[g - 1])
            )
            file[f"Z_interfaces/{name}_{g}"] = tops[-1].astype(np.float32)
        for g, (h, shape) in enumerate(((100.0, (41, 33, 11)), (200.0, (21, 17, 16)))):
            x, y = sw4_points(azimuth, shape, h)
            top = tops[0] if g == 0 else np.full(shape[:2], 500.0)
            z = -(top[..., None] + ((500.0, 2000.0)[g] - top[..., None]) * np.linspace(0, 1, shape[2]))
            group = file.create_group(f"Material_model/grid_{g}")
            group.attrs["Horizontal grid size"], group.attrs["Number of components"] = h, np.int32(5)
            values = truth(x[..., None], y[..., None], z)
            for ours, theirs in zip(NAMES, ("Rho", "Cp", "Cs", "Qp", "Qs"), strict=True):
                if attenuation or ours not in ("Qp", "Qs"):
                    group[theirs] = np.broadcast_to(values[ours], shape).astype(np.float32)
        if spoil:
            spoil(file)
    return setting("sfile", path)


def geomodelgrids(path, azimuth=0.0, topography=None, spoil=None, units=("kg/m**3", "m/s", "m/s", "none", "none")):
    """Blocks of 100 and 200 m spacing, 2000 m deep; y points along ``azimuth`` from north."""
    case = PROJECTION.to_map(np.zeros((1, 2)))[0]
    a = np.radians(azimuth)

    def nodes(nx, ny, h):
        i, j = np.meshgrid(h * np.arange(nx), h * np.arange(ny), indexing="ij")
        return i * np.cos(a) + j * np.sin(a), -i * np.sin(a) + j * np.cos(a)

    with h5py.File(path, "w") as file:
        root = {"crs": CRS, "origin_x": case[0], "origin_y": case[1], "y_azimuth": azimuth, "dim_x": 4e3, "dim_y": 3.2e3,
                "dim_z": 2000.0,
                "data_values": ["density", "Vp", "Vs", "Qp", "Qs"], "data_units": list(units)}  # fmt: skip
        for key, value in root.items():
            file.attrs[key] = value
        if topography:
            x, y = nodes(41, 33, 100.0)
            made = file.create_dataset("surfaces/top_surface", data=topography(x, y)[..., None].astype(np.float32))
            made.attrs["resolution_horiz"] = 100.0
        for name, h, hv, top, shape in (
            ("bottom", 200.0, 100.0, -500.0, (21, 17, 16)),
            ("top", 100.0, 50.0, 0.0, (41, 33, 11)),
        ):
            x, y = nodes(*shape[:2], h)
            high = topography(x, y) if topography else 0 * x
            logical = top - hv * np.arange(shape[2])
            z = high[..., None] + logical * (high[..., None] + 2000.0) / 2000.0
            values = truth(x[..., None], y[..., None], z)
            made = file.create_dataset(
                f"blocks/{name}",
                data=np.stack([np.broadcast_to(values[n], shape) for n in NAMES], -1).astype(np.float32),
            )
            for key, value in (("resolution_horiz", h), ("resolution_vert", hv), ("z_top", top)):
                made.attrs[key] = value
        if spoil:
            spoil(file)
    return setting("geomodelgrids", path)


def awp_mesh(path, count=5, spoil=None, order="<"):
    """11 x 9 x 21 points at 100 m from (-100, 50, 0) down."""
    nx, ny, nz = 11, 9, 21
    z, y, x = np.meshgrid(
        -100.0 * np.arange(nz), 50 + 100.0 * np.arange(ny), -100 + 100.0 * np.arange(nx), indexing="ij"
    )
    values = truth(x, y, z)
    columns = [values[n] for n in ("vp", "vs", "rho", "Qp", "Qs")[: 3 if count == 3 else 5]]
    if count == 8:
        columns = [x, y, z, *columns]
    data = np.stack(columns, -1).astype(f"{order}f4")
    if spoil:
        spoil(data)
    path.write_bytes(data.tobytes())
    return setting("awp-mesh", path, shape=(nx, ny, nz), spacing=100.0, origin=(-100.0, 50.0, 0.0))


def netcdf(path, degrees=False, spoil=None, units=("km/s", "km.s-1", "kg m-3")):
    """Local coordinates with z up, or longitude, latitude and depth in km with axes in another order."""
    with netCDF4.Dataset(path, "w") as file:
        if degrees:
            lon, lat = np.linspace(-117.3, -117.0, 13), np.linspace(34.25, 34.0, 11)  # descending, as some are
            depth = np.array([0.0, 0.1, 0.3, 0.6, 1.0, 2.0])
            axes = (("depth", depth, "km"), ("latitude", lat, "degrees_north"), ("longitude", lon, "degrees_east"))
            d, la, lo = np.meshgrid(depth, lat, lon, indexing="ij")
            xyz = 1e5 * (lo - ORIGIN[0]), 1e5 * (la - ORIGIN[1]), -1e3 * d
        else:
            axes = (
                ("z", np.arange(-2000.0, 1, 100), "m"),
                ("y", np.arange(0.0, 3001, 250), "m"),
                ("x", np.arange(0.0, 4001, 200), "m"),
            )
            z, y, x = np.meshgrid(*(a[1] for a in axes), indexing="ij")
            xyz = x, y, z
        for name, nodes, unit in axes:
            file.createDimension(name, len(nodes))
            made = file.createVariable(name, "f8", (name,))
            made[:], made.units = nodes, unit
        values = truth(*xyz)
        for name, unit, factor in (("vp", units[0], 1e-3), ("vs", units[1], 1e-3), ("rho", units[2], 1.0)):
            made = file.createVariable(name, "f4", tuple(a[0] for a in axes), fill_value=99999.0)
            if unit:
                made.units = unit
            data = values[name] * (factor if unit else 1.0)
            if spoil:
                spoil(name, data)
            made[:] = data
    return setting("netcdf", path)
