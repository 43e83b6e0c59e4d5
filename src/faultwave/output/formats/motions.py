"""Ground motion tables by station: Faultwave's, gmprocess flat files, and OpenQuake's sites and ground motion fields.

``faultwave convert DIR motions`` writes, from the velocities of receivers of either engine,

* PREFIX-motions.csv: a row for each station, RotD50 and RotD100 of every measure, peaks of the vertical motion and of strain, in SI;
* PREFIX-fourier.csv: effective amplitude spectra;
* PREFIX_metrics_rotd(percentile=50.0).csv and (percentile=100.0): flat files as gmprocess 2 exports them, PGA and SA in %g, PGV in cm/s;
* PREFIX-sites.csv and PREFIX-gmfs.csv: OpenQuake's ``sites_csv`` and ``gmfs_csv``, in g (requires longitude and latitude).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from faultwave.observe.motions.measures import GRAVITY, UNITS, Measures, integrated, measures
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Conversion, Converter
from faultwave.output.formats.waveforms import codes, evenly_sampled, velocity
from faultwave.output.trace import Trace

STRAINS = ("xx", "xy", "xz", "yy", "yz", "zz")
GMPROCESS = {
    "PGA": 100.0 / GRAVITY,
    "SA": 100.0 / GRAVITY,
    "PGV": 100.0,
    "PGD": 100.0,
    "Arias": 1.0,
    "CAV": 1.0 / GRAVITY,
}
"""Factors from SI to gmprocess's units: %g, cm/s, cm, m/s, g s."""


def _write(conversion: Conversion) -> list[Path]:
    traces = conversion.traces("receiver", what="off-fault receivers")
    found = [(trace, _measured(trace)) for trace in traces]
    stem = conversion.folder / conversion.results.prefix
    paths = [_table(Path(f"{stem}-motions.csv"), found), _fourier(Path(f"{stem}-fourier.csv"), found)]
    placed = [(t, m) for t, m in found if t.geographic is not None]
    if placed:
        paths += [_gmprocess(Path(f"{stem}_metrics_rotd(percentile={p:.1f}).csv"), placed, p) for p in (50.0, 100.0)]
        paths += _openquake(stem, placed)
    return paths


def _measured(trace: Trace) -> Measures:
    return measures(evenly_sampled(trace), velocity(trace, "v1"), velocity(trace, "v2"), velocity(trace, "v3"))


def _save(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]], comments: Sequence[str] = ()) -> Path:
    with atomic_text(path) as file:
        file.writelines(f"# {line}\n" for line in comments)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def _number(value: float) -> str:
    return f"{value:.6g}"


def _unit(name: str) -> str:
    return UNITS["SA" if name.startswith("SA(") else name]


def _table(path: Path, found: Sequence[tuple[Trace, Measures]]) -> Path:
    names = list(found[0][1].values)
    header = ["network", "station", "x [m]", "y [m]", "z [m]", "longitude", "latitude"]
    header += [f"{kind} {name} [{_unit(name)}]" for kind in ("RotD50", "RotD100") for name in names]
    header += [f"vertical {name} [{_unit(name)}]" for name in found[0][1].vertical]
    strained = all(f"eps{c}" in t.columns for t, _ in found for c in STRAINS)
    header += ["peak strain"] if strained else []
    rows = []
    for trace, made in found:
        place = trace.geographic[:2] if trace.geographic is not None else ("", "")
        row: list[object] = [*codes(trace), *(_number(x) for x in trace.location), *place]
        row += [_number(made.rotd(p)[name]) for p in (50.0, 100.0) for name in names]
        row += [_number(value) for value in made.vertical.values()]
        rows.append(row + ([_number(peak_strain(trace))] if strained else []))
    return _save(path, header, rows)


def peak_strain(trace: Trace) -> float:
    """Return the largest absolute principal strain, from strain rates."""
    step = evenly_sampled(trace)
    xx, xy, xz, yy, yz, zz = (integrated(trace.columns[f"eps{c}"], step) for c in STRAINS)
    tensors = np.stack([np.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    return float(np.abs(np.linalg.eigvalsh(tensors)).max())


def _fourier(path: Path, found: Sequence[tuple[Trace, Measures]]) -> Path:
    header = ["frequency [Hz]", *(".".join(codes(trace)) + " [m/s]" for trace, _ in found)]
    frequency = found[0][1].frequency
    columns = [np.interp(frequency, made.frequency, made.fourier) for _, made in found]
    return _save(path, header, [[_number(x) for x in row] for row in np.column_stack([frequency, *columns])])


def _gmprocess(path: Path, found: Sequence[tuple[Trace, Measures]], percentile: float) -> Path:
    """Write a flat file of metrics with the columns and units of gmprocess."""
    names = list(found[0][1].values)
    header = ["EarthquakeTime", "Network", "StationCode", "StationID", "StationDescription", "StationLatitude"]
    header += ["StationLongitude", "StationElevation", "SamplingRate", *(_gmprocess_name(name) for name in names)]
    rows = []
    for trace, made in found:
        assert trace.geographic is not None
        network, station = codes(trace)
        longitude, latitude, _ = trace.geographic
        begin = "" if trace.origin is None else trace.origin.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        row: list[object] = [begin, network, station, f"{network}.{station}", f"receiver {trace.number}"]
        row += [latitude, longitude, _number(trace.location[2]), _number(1.0 / evenly_sampled(trace))]
        values = made.rotd(percentile)
        rows.append(row + [_number(values[n] * GMPROCESS.get(n.split("(")[0], 1.0)) for n in names])
    return _save(path, header, rows)


def _gmprocess_name(name: str) -> str:
    if name.startswith("SA("):
        return f"SA(T={float(name[3:-1]):.4f}, D=0.050)"
    return {"D5-75": "Duration(5-75)", "D5-95": "Duration(5-95)"}.get(name, name)


def _openquake(stem: Path, found: Sequence[tuple[Trace, Measures]]) -> list[Path]:
    """Write OpenQuake's sites and ground motion fields of one event: RotD50 [g; PGV cm/s] of the measures it supports."""
    names = [n for n in found[0][1].values if n in ("PGA", "PGV") or n.startswith("SA(")]
    names = [n for n in names if all(np.isfinite(m.values[n]).all() for _, m in found)]
    sites, fields = [], []
    for number, (trace, made) in enumerate(found):
        assert trace.geographic is not None
        sites.append([number, *(f"{x:.6f}" for x in trace.geographic[:2])])
        values = made.rotd(50.0)
        fields.append([number, 0, *(_number(100 * values[n] if n == "PGV" else values[n] / GRAVITY) for n in names)])
    header = ["site_id", "event_id", *(f"gmv_{n}" for n in names)]
    return [
        _save(Path(f"{stem}-sites.csv"), ["site_id", "lon", "lat"], sites),
        _save(Path(f"{stem}-gmfs.csv"), header, fields),
    ]


MOTIONS = Converter("motions", _write)
