"""SeisSol's ASCII receivers and long energy table, written as the current version does and read from any version."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.observe.dataset import Dataset, Result
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Writer
from faultwave.output.formats.receivers_hdf5 import LEGACY
from faultwave.output.trace import Kind

ENERGIES = (
    *("gravitational_energy", "acoustic_energy", "acoustic_kinetic_energy", "elastic_energy"),
    *("elastic_kinetic_energy", "plastic_moment", "momentumX", "momentumY", "momentumZ", "total_frictional_work"),
    *("static_frictional_work", "seismic_moment", "potency"),
)
"""Order of the names within one time of the long table; others follow."""

TODAY = {"sigma": "pprime"}
"""Current SeisSol names of quantities, by Faultwave's names."""

_TRACTION = {"P_0": 0, "T_s": 1, "T_d": 2}
_BARE_EXPONENT = re.compile(r"(\d)([-+]\d{3})$")  # Fortran drops the E of three-digit exponents


@dataclass(frozen=True)
class DatFile:
    """Contents of one receiver file.

    Attributes
    ----------
    path : Path
        Path of the file.
    columns : dict of str to ndarray of shape (ns,)
        Columns by their current names, including 'Time'.
    location : ndarray of shape (3,)
        Location [m], NaN if not stated.
    initial_traction : ndarray of shape (3,)
        P_0, T_s, T_d [Pa], NaN if not stated.
    """

    path: Path
    columns: dict[str, np.ndarray]
    location: np.ndarray
    initial_traction: np.ndarray


def write_receivers(folder: str | Path, prefix: str, receivers: Dataset) -> list[Path]:
    """Write PREFIX-receiver-NNNNN.dat, numbered from 1, in the layout of SeisSol's current version."""
    columns = ["Time", *(TODAY.get(q, q) for q in receivers.quantities)]
    time, names = receivers["time"], ",".join(f'"{q}"' for q in columns)
    paths = []
    for i, location in enumerate(receivers["location"]):
        path = Path(folder) / f"{prefix}-receiver-{i + 1:05d}.dat"
        with atomic_text(path) as file:
            file.write(f'TITLE = "Temporal Signal for receiver number {i + 1:05d}"\nVARIABLES = {names}\n')
            file.writelines(f"# x{d + 1}       {x:.12e}\n" for d, x in enumerate(location))
            rows = np.column_stack([time, receivers["values"][:, i]])
            np.savetxt(file, rows, fmt="  " + "  ".join(["%.15e"] * rows.shape[1]))
        paths.append(path)
    return paths


_SHORTEST = 1e-20
"""Time [s] below which 0 is written, as SeisSol does for rupture in the first step."""


def write_fault_receivers(folder: str | Path, prefix: str, receivers: Dataset) -> list[Path]:
    """Write PREFIX-faultreceiver-NNNNN.dat; samples padded with NaN are omitted, so lengths may differ."""
    names = " ,".join(f'"{q}"' for q in ["Time", *receivers.quantities])
    instant = np.isin(receivers.quantities, ("RT", "DS"))
    paths = []
    for i, location in enumerate(receivers["location"]):
        path = Path(folder) / f"{prefix}-faultreceiver-{i + 1:05d}.dat"
        time = receivers["time"][:, i]
        keep = np.isfinite(time)
        with atomic_text(path) as file:
            file.write(f'TITLE = "Temporal Signal for fault receiver number(s) and simulation(s) {i + 1},1;"\n')
            file.write(f"VARIABLES = {names}\n# Receiver number {i + 1}\n")
            file.writelines(f"# x{d + 1}\t{x:.16e}\n" for d, x in enumerate(location))
            initial = receivers["initial_traction"][i]
            file.writelines(f"# {name}1\t{initial[k]:.16e}\n" for name, k in _TRACTION.items())
            values = np.where(instant & (receivers["values"][keep, i] < _SHORTEST), 0.0, receivers["values"][keep, i])
            rows = np.column_stack([time[keep], values])
            np.savetxt(file, rows, fmt="%.16e\t" * rows.shape[1])
        paths.append(path)
    return paths


def write_energy(path: str | Path, energies: Dataset) -> Path:
    """Write the long table ``time,variable,simulation_index,measurement``; values not computed are omitted."""
    path = Path(path)
    known = [name for name in ENERGIES if name in energies]
    names = known + [name for name in energies.variables if name not in (*ENERGIES, "time")]
    with atomic_text(path) as file:
        file.write("time,variable,simulation_index,measurement\n")
        for i, time in enumerate(energies["time"]):
            for name in names:
                value = energies[name][i]
                if not np.isnan(value):
                    file.write(f"{time:.17e},{name},0,{value:.17e}\n")
    return path


def find_files(folder: str | Path, kind: Kind, prefix: str = "*") -> dict[int, Path]:
    """Return the receiver files of a folder by number; of files that differ in the old rank suffix the first is used."""
    found: dict[int, Path] = {}
    for path in sorted(Path(folder).glob(f"{prefix}-{kind}-*.dat")):
        match = re.search(rf"-{kind}-(\d+)(?:-\d+)?\.dat$", path.name)
        if match:
            found.setdefault(int(match.group(1)), path)
    return found


def read_dat(path: str | Path) -> DatFile:
    """Read one receiver or fault receiver file of any version; raise InputError with the line of a mistake."""
    path = Path(path)
    names: list[str] = []
    rows: list[list[float]] = []
    header = {f"x{d}": np.nan for d in (1, 2, 3)} | dict.fromkeys(_TRACTION, np.nan)
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        try:
            if text.upper().startswith("VARIABLES"):
                names = [c.strip().strip('"') for c in text.split("=", 1)[1].split(",")]
            elif text.startswith("#"):
                _read_comment(text, header)
            elif text and not text.upper().startswith("TITLE"):
                rows.append([_number(word) for word in text.split()])
        except (ValueError, IndexError) as error:
            raise InputError(Problem(f"{path}:{number}", f"cannot be understood: {error}")) from error
    data = _rectangular(path, names, rows)
    columns = {LEGACY.get(name, name): data[:, i] for i, name in enumerate(names)}
    location = np.array([header[f"x{d}"] for d in (1, 2, 3)])
    return DatFile(path, columns, location, np.array([header[name] for name in _TRACTION]))


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return float(_BARE_EXPONENT.sub(r"\1e\2", word))


def _read_comment(text: str, header: dict[str, float]) -> None:
    words = text.lstrip("#").split()
    if len(words) != 2:
        return
    # current names of the initial traction include the simulation index: P_01 is P_0 of simulation 1
    name = words[0][:-1] if words[0][:-1] in _TRACTION else words[0]
    if name in header and np.isnan(header[name]):
        header[name] = _number(words[1])


def _rectangular(path: Path, names: list[str], rows: list[list[float]]) -> np.ndarray:
    if not names or not rows:
        raise InputError(Problem(str(path), "has no VARIABLES line or no samples: not a receiver file"))
    if "Time" not in names:
        raise InputError(Problem(str(path), "has no column 'Time'"))
    wrong = next((i for i, row in enumerate(rows) if len(row) != len(names)), None)
    if wrong is not None:
        what = f"sample {wrong + 1} has {len(rows[wrong])} numbers for {len(names)} columns"
        raise InputError(Problem(str(path), what))
    return np.array(rows)


def _write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    """Write the receiver, fault receiver and energy files of SeisSol."""
    write = {"receivers": write_receivers, "fault_receivers": write_fault_receivers}
    files = [path for r in results if r.kind in write for path in write[r.kind](folder, prefix, r.data)]
    return files + [write_energy(folder / f"{prefix}-energy.csv", r.data) for r in results if r.kind == "energies"]


RESULTS = [Writer(("receivers", "fault_receivers", "energies"), _write, ("seissol",))]
