"""All pictures of a run, from its folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.output.atomic import explaining
from faultwave.output.formats.image import PlaneReader, is_image
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import Results, load_results
from faultwave.plot import style
from faultwave.plot.electromagnetic import plot_far_field, plot_resonances
from faultwave.plot.energies import plot_energies
from faultwave.plot.fault import plot_peak_slip_rate, plot_rupture, read_fault_maps
from faultwave.plot.intensity import plot_intensity
from faultwave.plot.seismograms import plot_fault_receivers, plot_receivers
from faultwave.plot.surface import map_frame, plot_peak_velocity, plot_snapshots


def plot_run(folder: str | Path, out: str | Path | None = None, *, prefix: str | None = None) -> list[Path]:
    """Draw what the files of a run hold and return the pictures (PNG) written, into its folder unless ``out`` is given.

    PREFIX-rupture (slip and rupture-time contours), -peak-slip-rate, -surface-peak-velocity, -surface-snapshots, -intensity,
    -receivers, -fault-receivers, -resonances, -far-field, -energies. Raises InputError for a folder without anything to draw.
    """
    results = load_results(folder, prefix)
    target = Path(out) if out is not None else results.folder
    with explaining(target):
        target.mkdir(parents=True, exist_ok=True)
    stem = str(target / results.prefix)
    pictures = [*_fields(results, stem), *_histories(results, stem)]
    written = [path for path in pictures if path is not None]
    if not written:
        raise InputError(Problem(str(results.folder), f"the run '{results.prefix}' left nothing to draw"))
    return written


def _fields(results: Results, stem: str) -> list[Path | None]:
    fault = results.folder / f"{results.prefix}-fault.vtkhdf"
    surface = results.folder / f"{results.prefix}-surface.vtkhdf"
    intensity = results.folder / f"{results.prefix}-intensity.nc"
    pictures: list[Path | None] = []
    if fault.exists():
        maps = read_fault_maps(fault)
        pictures.append(plot_rupture(maps, Path(f"{stem}-rupture.png")))
        pictures.append(plot_peak_slip_rate(maps, Path(f"{stem}-peak-slip-rate.png")))
    if surface.exists():
        with PlaneReader(surface) if is_image(surface) else VtkHdfReader(surface) as file:
            if len(file.cells) and len(file.times):
                traces = list(results.traces["receiver"].values())
                frame = map_frame(file, fault if fault.exists() else None, traces)
                pictures.append(plot_peak_velocity(file, frame, Path(f"{stem}-surface-peak-velocity.png")))
                pictures.append(plot_snapshots(file, frame, Path(f"{stem}-surface-snapshots.png")))
    if intensity.exists():
        places = [style.KM * t.location[:2] for t in results.traces["receiver"].values()]
        pictures.append(plot_intensity(intensity, np.array(places).reshape(-1, 2), Path(f"{stem}-intensity.png")))
    return pictures


def _histories(results: Results, stem: str) -> list[Path | None]:
    traces = results.traces
    pictures = [
        plot_receivers(list(traces["receiver"].values()), Path(f"{stem}-receivers.png")),
        plot_fault_receivers(list(traces["faultreceiver"].values()), Path(f"{stem}-fault-receivers.png")),
    ]
    found, far = (results.folder / f"{results.prefix}-{name}.csv" for name in ("resonances", "far-field"))
    if found.exists():
        pictures.append(plot_resonances(list(traces["receiver"].values()), found, Path(f"{stem}-resonances.png")))
    if far.exists():
        pictures.append(plot_far_field(far, Path(f"{stem}-far-field.png")))
    if results.energies is not None:
        pictures.append(plot_energies(results.energies, Path(f"{stem}-energies.png")))
    return pictures
