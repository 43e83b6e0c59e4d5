"""An earthquake of magnitude 6.2 between a basin and a mountain range: from an elevation model and a model of the ground to ShakeMap.

    python examples/basin-and-ranges/basin_and_ranges.py [FOLDER] [--frequency HZ] [--inputs-only]

writes the inputs into FOLDER (default: basin-and-ranges): ranges and a basin as GeoTIFF, in longitudes and latitudes as elevation models
come; the rock below as GeoModelGrids, in UTM; a thrust fault in Standard Rupture Format; the case. Runs it on the engine fd with a
grid that follows the ground and has three blocks, up to 0.65 Hz unless told otherwise, and draws the maps over a hillshade. With the
inputs alone, the rest is

    faultwave run basin-and-ranges/case.yaml --output basin-and-ranges/results
    faultwave plot basin-and-ranges/results
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

ORIGIN, CRS = (-117.6, 36.3), "EPSG:32611"
METRES_PER_DEGREE = 111_195.0
HALF = (12_600.0, 10_800.0)  # half of the box along x and y [m]
BESIDE = 3_000.0  # so far the files go on around the box [m]
DEPTH, LOWEST = 15_000.0, 400.0  # of the box below the lowest ground, and about where that is [m]
SLOWEST = 600.0  # m/s, over the stretch of cells below the ground

LENGTH, WIDTH, TOP = 12.0, 9.0, 1.2  # of the fault [km]
STRIKE, DIP, RAKE = 335.0, 50.0, 90.0
MAGNITUDE, RIGIDITY, SPEED, RISE = 6.2, 3.0e10, 2.6, 1.0

CASE = """\
title: Magnitude 6.2, basin and range
engine: fd
end_time: %(end)g s
projection: { crs: "%(crs)s", origin: [%(lon)g, %(lat)g] }
grid:
  lower: [%(west)g, %(south)g, %(bottom)g]
  upper: [%(east)g, %(north)g, 4000]
  spacing: %(spacing)g m
  frequency: %(frequency)g Hz
  blocks:
    - { below: %(first)g m, spacing: %(second)g m }
    - { below: %(deeper)g m, spacing: %(third)g m }
  topography: { file: ranges.tif, sources: depth, receivers: depth, material: depth }
material:
  models: [{ kind: geomodelgrids, file: ground.h5, vertical: ground }]
attenuation: { reference: 1 Hz }
sources:
  - { kind: srf, file: thrust.srf }
numerics: { source_lowpass: %(lowpass)g Hz }
output:
  folder: results
  prefix: ranges
  receivers: { points: [[-3 km, -1 km, 0], [-3 km, 5 km, 0], [6 km, 3 km, 0], [-10 km, -7 km, 0]], interval: 0.05 s }
  intensity: { periods: [2 s, 3 s, 5 s], formats: [geotiff, shakemap] }
"""


def noise(shape: tuple[int, int], step: float, longest: float, fall: float, seed: int) -> np.ndarray:
    """Return a random surface (ny, nx) of unit variance whose spectrum falls with a power of the wavenumber."""
    rng = np.random.default_rng(seed)
    ky, kx = (np.fft.fftfreq(n, step) for n in shape)
    k = np.hypot(*np.meshgrid(ky, kx, indexing="ij"))
    spectrum = np.fft.fft2(rng.normal(size=shape)) * (1 / longest**2 + k**2) ** (-fall / 2)
    spectrum[0, 0] = 0.0
    found = np.fft.ifft2(spectrum).real
    return np.asarray(found / found.std())


def basin_depth(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How deep sediments reach [m]: a long basin with a deep and a shallow part, below the range's foot in the east."""
    a = np.radians(STRIKE)
    along, across = x * np.sin(a) + y * np.cos(a), x * np.cos(a) - y * np.sin(a)
    middle = across + 4200 + 600 * np.sin(along / 3500)
    shape = np.clip(1 - (middle / np.where(middle > 0, 3600, 4300)) ** 2, 0, None)
    ends = np.clip(1 - (along / 13_000) ** 4, 0, None)
    return np.asarray(1500 * shape * ends * (0.75 + 0.25 * np.cos((along - 2500) / 3800)))


def ground(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Elevation [m] on a regular lattice (ny, nx): ranges cut by valleys on both sides of a basin whose floor is almost flat."""
    a, step = np.radians(STRIKE), float(x[0, 1] - x[0, 0])
    along, across = x * np.sin(a) + y * np.cos(a), x * np.cos(a) - y * np.sin(a)
    wide, fine = noise(x.shape, step, 9_000, 2.4, 3), noise(x.shape, step, 4_500, 2.6, 8)
    ridges = 1 - np.abs(fine) / 1.2  # sharp crests, round valleys
    east = 1 / (1 + np.exp(-(across - 900 - 500 * np.sin(along / 2600)) / 700))
    west = 1 / (1 + np.exp((across + 9200 + 700 * np.sin(along / 3100 + 1)) / 800))
    height = 760 * east * np.exp(-(((across - 6500) / 7500) ** 2)) + 480 * west
    rough = np.clip(east + west, 0, 1)
    floor = 480 + 0.006 * along + 25 * wide * (1 - rough)
    return np.asarray(floor + height * (0.8 + 0.15 * wide) + rough * 270 * np.maximum(ridges, -0.4))


def write_raster(path: Path) -> None:
    """Elevations as GeoTIFF, a point every three seconds of arc, in whole decimetres."""
    import tifffile

    step = 3 / 3600
    reach = [(h + 2 * BESIDE) / METRES_PER_DEGREE for h in HALF]
    stretch = np.cos(np.radians(ORIGIN[1]))
    lon = ORIGIN[0] + np.arange(-reach[0] / stretch, reach[0] / stretch, step)
    lat = ORIGIN[1] + np.arange(-reach[1], reach[1], step)
    x, y = np.meshgrid((lon - ORIGIN[0]) * METRES_PER_DEGREE * stretch, (lat - ORIGIN[1]) * METRES_PER_DEGREE)
    z = ground(x, y)
    # scale, tie point, GeoKeys: geographic, a pixel is an area, EPSG:4326
    corner = (0.0, 0.0, 0.0, lon[0] - step / 2, lat[-1] + step / 2, 0.0)
    keys = (1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326)
    tags = [(33550, 12, 3, (step, step, 0.0), True), (33922, 12, 6, corner, True), (34735, 3, len(keys), keys, True)]
    picture = z[::-1].round(1).astype(np.float32)
    tifffile.imwrite(path, picture, photometric="minisblack", extratags=tags, metadata=None)


def rock(x: np.ndarray, y: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Density, Vp, Vs, Qp and Qs (..., 5) so deep below the ground: sediments, and weathered, then crystalline rock."""
    d = np.maximum(depth, 0.0) / 1000
    inside = depth < basin_depth(x, y)
    hard = 3750 - 1750 * np.exp(-d / 0.8) - 150 * np.exp(-d / 6)
    vs = np.where(inside, 1.1 * SLOWEST + 800 * d**0.8, hard)
    vp = np.where(inside, 1500 + 1.25 * vs, 1.73 * vs)
    rho = np.where(inside, 1900 + 220 * d, 2400 + 350 * (1 - np.exp(-d / 2)))
    qs = np.where(inside, 0.06 * vs, 0.09 * vs)
    return np.stack(np.broadcast_arrays(rho, vp, vs, 2 * qs, qs), -1)


def write_model(path: Path) -> None:
    """Write the rock as GeoModelGrids: two blocks below a top surface, which is flat here, as the model hangs from the raster's ground."""
    import h5py
    import pyproj

    east, north = pyproj.Transformer.from_crs("EPSG:4326", CRS, always_xy=True).transform(*ORIGIN)
    half = [h + BESIDE for h in HALF]
    depth = 36_000.0
    with h5py.File(path, "w") as file:
        about = {
            "title": "a basin between ranges", "crs": CRS, "origin_x": east - half[0], "origin_y": north - half[1],
            "y_azimuth": 0.0, "dim_x": 2 * half[0], "dim_y": 2 * half[1], "dim_z": depth,
            "data_values": ["density", "Vp", "Vs", "Qp", "Qs"],
            "data_units": ["kg/m**3", "m/s", "m/s", "none", "none"],
        }  # fmt: skip
        file.attrs.update(about)
        for name, top, bottom, step, down in (
            ("shallow", 0, -3000, 300.0, 100.0),
            ("deep", -3000, -depth, 1200.0, 500.0),
        ):
            x, y = (np.arange(0, 2 * h + 1, step) for h in half)
            z = np.arange(top, bottom - 1, -down)
            values = rock((x - half[0])[:, None, None], (y - half[1])[:, None], -z)
            made = file.create_dataset(f"blocks/{name}", data=values.astype(np.float32), compression="gzip")
            made.attrs.update({"resolution_horiz": step, "resolution_vert": down, "z_top": float(top)})


def thrust() -> str:
    """Return the rupture in version 2.0: one segment that dips below the range and breaks upwards from its lower end."""
    ns, nd = round(LENGTH * 2), round(WIDTH * 2)
    along, down = (np.arange(ns) + 0.5) / ns, (np.arange(nd) + 0.5) / nd
    s, d = np.meshgrid(along, down, indexing="ij")
    patches = np.exp(-((s - 0.62) ** 2) / 0.03 - (d - 0.45) ** 2 / 0.06) + 0.5 * np.exp(
        -((s - 0.25) ** 2) / 0.02 - (d - 0.6) ** 2 / 0.05
    )
    slip = (0.2 + patches) * np.sqrt(np.sin(np.pi * s) * np.sin(np.pi * d))
    area = LENGTH * WIDTH / (ns * nd) * 1e6
    slip *= 10 ** (1.5 * MAGNITUDE + 9.1) / (RIGIDITY * area * slip.sum())
    begins = np.hypot((s - 0.4) * LENGTH, (d - 0.8) * WIDTH) / SPEED
    azimuth, dip, step = np.radians(STRIKE), np.radians(DIP), 0.05
    shape = np.sin(np.pi * np.arange(round(RISE / step) + 1) / round(RISE / step)) ** 2
    shape /= shape.sum() * step
    kilometres = METRES_PER_DEGREE / 1000
    lines = ["2.0", "# a thrust below the range front", "PLANE 1"]
    lines += [
        f" {ORIGIN[0]} {ORIGIN[1]} {ns} {nd} {LENGTH} {WIDTH}",
        f" {STRIKE} {DIP} {TOP} {-0.1 * LENGTH:g} {0.8 * WIDTH:g}",
    ]
    lines.append(f"POINTS {ns * nd}")
    for i in range(ns):
        for k in range(nd):
            forward, right = (along[i] - 0.5) * LENGTH, down[k] * WIDTH * np.cos(dip)
            east, north = (
                forward * np.sin(azimuth) + right * np.cos(azimuth),
                forward * np.cos(azimuth) - right * np.sin(azimuth),
            )
            lat = ORIGIN[1] + north / kilometres
            lon = ORIGIN[0] + east / (kilometres * np.cos(np.radians(lat)))
            depth = TOP + down[k] * WIDTH * np.sin(dip)
            lines.append(
                f"{lon:.6f} {lat:.6f} {depth:.4f} {STRIKE} {DIP} {1e4 * area:.6e} {begins[i, k]:.4f} {step} -1 -1"
            )
            lines.append(f"{RAKE} {100 * slip[i, k]:.4f} {len(shape)} 0 0 0 0")
            rates = [f"{100 * slip[i, k] * r:.5e}" for r in shape]
            lines += [" ".join(rates[n : n + 6]) for n in range(0, len(rates), 6)]
    return "\n".join(lines) + "\n"


def write_inputs(folder: Path, frequency: float = 0.65) -> Path:
    """Everything for waves up to ``frequency`` [Hz], with six points a wavelength; returns the case."""
    folder.mkdir(parents=True, exist_ok=True)
    write_raster(folder / "ranges.tif")
    write_model(folder / "ground.h5")
    (folder / "thrust.srf").write_text(thrust())
    # spacings as 1 to 3 to 6, the largest of which divides both sides of the box
    side = np.gcd(*(int(2 * h) for h in HALF))
    third = side / np.ceil(side * frequency / SLOWEST)
    spacing, second = third / 6, third / 2
    first = spacing * (np.ceil(2400 / spacing) + 12)  # room for planes that bend down to twice the relief
    deeper = first + 12 * second
    bottom = deeper + third * max(8, np.ceil((DEPTH - deeper) / third))
    case = CASE % {
        "crs": CRS, "lon": ORIGIN[0], "lat": ORIGIN[1], "west": -HALF[0], "east": HALF[0], "south": -HALF[1], "north": HALF[1],
        "bottom": LOWEST - bottom, "spacing": spacing, "second": second, "third": third, "first": first, "deeper": deeper,
        "frequency": frequency, "lowpass": 0.6 * frequency, "end": 22,
    }  # fmt: skip
    (folder / "case.yaml").write_text(case)
    return folder / "case.yaml"


def main(arguments: list[str] | None = None) -> None:
    """Write, run, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="basin-and-ranges", type=Path)
    parser.add_argument("--frequency", type=float, default=0.65, help="highest frequency to resolve [Hz]")
    parser.add_argument("--inputs-only", action="store_true", help="write the inputs, run nothing")
    asked = parser.parse_args(arguments)
    case = write_inputs(asked.folder, asked.frequency)
    if asked.inputs_only:
        print(case)
        return
    import faultwave as fw
    from faultwave.plot import plot_run

    fw.simulate(case, output=asked.folder / "results").run()
    for picture in plot_run(asked.folder / "results"):
        print(picture)


if __name__ == "__main__":
    main()
