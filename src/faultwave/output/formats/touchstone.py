"""Touchstone files of scattering parameters, version 1.1: .s1p, .s2p and so on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.output.atomic import atomic_text


def write_touchstone(
    path: str | Path,
    frequencies: np.ndarray,
    scattering: np.ndarray,
    comments: Sequence[str] = (),
    reference: float = 50.0,
    impedances: np.ndarray | None = None,
) -> Path:
    """Write scattering parameters as real and imaginary parts.

    Parameters
    ----------
    path : str or Path
        Path of the file; its suffix is replaced by .sNp.
    frequencies : ndarray of shape (nf,)
        Frequencies [Hz].
    scattering : ndarray of shape (nf, n, n)
        S[:, i, j] from port j + 1 to port i + 1.
    comments : sequence of str
        Comment lines.
    reference : float
        Impedance [ohm] stated in the header, the only one that this version of the format supports.
    impedances : ndarray of shape (nf, n), optional
        Port impedances [ohm] if the waves are normalised by others than ``reference``. They follow every frequency as comments
        ``! Port Impedance`` with real and imaginary parts as HFSS writes them, which scikit-rf and others read.
    """
    f, s = np.asarray(frequencies, float), np.asarray(scattering, complex)
    if s.ndim != 3 or s.shape[1] != s.shape[2] or len(s) != len(f):
        raise ValueError(f"scattering parameters of shape {s.shape} at {len(f)} frequencies")
    ports = s.shape[1]
    path = Path(path).with_suffix(f".s{ports}p")
    with atomic_text(path) as file:
        file.writelines(f"! {line}\n" for line in comments)
        file.write(f"# Hz S RI R {reference:g}\n")
        for k, (frequency, matrix) in enumerate(zip(f, s, strict=True)):
            rows = [matrix.T.reshape(-1)] if ports == 2 else list(matrix)  # two ports: S11 S21 S12 S22
            lines = [
                " ".join(f"{v:.12e}" for x in part for v in (x.real, x.imag)) for row in rows for part in _four(row)
            ]
            file.write(f"{frequency:.12e} " + "\n    ".join(lines) + "\n")
            if impedances is not None:
                file.write("! Port Impedance " + " ".join(f"{z.real:.9e} {z.imag:.9e}" for z in impedances[k]) + "\n")
    return path


NOISE = 5
"""Numbers in a row of noise data, which files of two ports may contain."""


def _four(row: np.ndarray) -> list[np.ndarray]:
    """Split a row of complex numbers into pieces of at most four, one for each line."""
    return [row[i : i + 4] for i in range(0, len(row), 4)]


def read_touchstone(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies (nf,) [Hz] and S (nf, n, n) of a file in format RI, MA or DB; raise InputError if invalid.

    Noise data, the reference impedance and comments with port impedances are not read.
    """
    path = Path(path)
    found = re.fullmatch(r"\.s(\d+)p", path.suffix.lower())
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    lines = [line.partition("!")[0].strip() for line in text.splitlines()]
    options = next((line[1:].upper().split() for line in lines if line.startswith("#")), [])  # each has a default
    if found is None:
        raise InputError(Problem(str(path), "is no Touchstone file", ".s1p, .s2p, ..."))
    other = next((word for word in options if word in ("Y", "Z", "H", "G")), "")
    if other:
        raise InputError(Problem(str(path), f"holds {other} parameters", "S: scattering parameters"))
    ports = int(found[1])
    rows = [line for line in lines if line and not line.startswith("#")]
    if ports == 2:  # noise data follow in rows of five numbers
        rows = [line for line in rows if len(line.split()) != NOISE]
    numbers = " ".join(rows).split()
    try:
        table = np.array(numbers, float).reshape(-1, 1 + 2 * ports * ports)
    except ValueError:
        raise InputError(Problem(str(path), f"does not contain rows of {1 + 2 * ports * ports} numbers")) from None
    wrong = np.flatnonzero(~np.isfinite(table).all(1) | (table[:, 0] < 0))
    if not len(table) or len(wrong):
        what = (
            "holds no frequency"
            if not len(table)
            else f"row {wrong[0] + 1} holds a number that is not finite, or a frequency below 0"
        )
        raise InputError(Problem(str(path), what, "finite numbers"))
    a, b = table[:, 1::2], table[:, 2::2]
    if "RI" in options:
        values = a + 1j * b
    else:
        values = (10 ** (a / 20) if "DB" in options else a) * np.exp(1j * np.deg2rad(b))
    matrix = values.reshape(-1, ports, ports)
    unit = next((10.0 ** (3 * i) for i, word in enumerate(("HZ", "KHZ", "MHZ", "GHZ")) if word in options), 1e9)
    return table[:, 0] * unit, matrix.transpose(0, 2, 1) if ports == 2 else matrix
