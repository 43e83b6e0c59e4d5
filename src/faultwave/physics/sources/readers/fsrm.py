"""FSRM files: point sources as text, type 50 of SeisSol decks.

The file adds +area M S(t) to the stress rate, so its M has the opposite sign of the moment tensor; here signs are
physical. M and forces are given in a frame rotated by strike, dip and rake (radians, as SeisSol uses them). In porous
rock forces are not divided by a density, and a pressure and a force on the fluid can be given as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.paths import shown
from faultwave.base.projection import Projection
from faultwave.base.types import Setting
from faultwave.base.units import finite_number
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Samples


class _Lines:
    """Reader of a text file by lines and numbers that knows its position."""

    def __init__(self, path: Path):
        try:
            self.lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
        self.path, self.at = path, 0

    def header(self) -> str:
        if self.at >= len(self.lines):
            raise InputError(
                Problem(
                    f"{self.path}:{self.at}",
                    "the file ends where a header line was expected",
                    "the lines of a FSRM file",
                    "Was the file truncated during a transfer?",
                )
            )
        self.at += 1
        return self.lines[self.at - 1]

    def numbers(self, count: int, what: str) -> np.ndarray:
        """Return the next ``count`` numbers, from as many lines as needed; the rest of the last line is ignored."""
        found: list[float] = []
        while len(found) < count:
            if self.at >= len(self.lines):
                text = f"the file ends in {what}: {len(found)} of {count} numbers"
                raise InputError(Problem(f"{self.path}:{self.at}", text))
            self.at += 1
            for word in self.lines[self.at - 1].split()[: count - len(found)]:
                number = finite_number(word)
                if number is None:
                    raise InputError(Problem(f"{self.path}:{self.at}", f"'{shown(word)}' is not a number ({what})"))
                found.append(number)
        return np.array(found)

    def whole(self, what: str, least: int) -> int:
        value = float(self.numbers(1, what)[0])
        if value != int(value) or value < least:
            raise InputError(Problem(f"{self.path}:{self.at}", f"{what} is {value:g}", f"a whole number >= {least}"))
        return int(value)


def read(
    path: Path, setting: Setting, projection: Projection | None, warned: Problems | None = None
) -> list[PointSource]:
    """Return the point sources of a file, as every module of this folder does."""
    return read_fsrm(path)


def read_fsrm(path: Path) -> list[PointSource]:
    """Return one source per source of the file; raises InputError with file:line if it cannot be read."""
    text = _Lines(path)
    text.header()
    tensor = text.numbers(9, "the moment tensor").reshape(3, 3)
    if not np.allclose(tensor, tensor.T, rtol=1e-9, atol=0.0):
        raise InputError(
            Problem(
                f"{path}:{text.at}",
                "the moment tensor is not symmetric",
                "a symmetric matrix in three rows",
            )
        )
    header, velocity = text.header(), np.zeros(3)
    if "velocity" in header:
        velocity, header = text.numbers(3, "the velocity components"), text.header()
    pressure, fluid = np.zeros(1), np.zeros(3)
    if "pressure" in header:
        pressure, header = text.numbers(1, "the pressure component"), text.header()
    if "fluid" in header:
        fluid, header = text.numbers(3, "the fluid's velocity components"), text.header()
    count = text.whole("the number of sources", 1)
    text.header()
    table = text.numbers(8 * count, "the table of sources").reshape(count, 8)
    text.header()
    step, wanted = text.numbers(2, "dt and the number of samples")
    samples = int(wanted)
    if not step > 0 or samples != wanted or samples < 2:
        raise InputError(Problem(f"{path}:{text.at}", f"dt {step:g} s, {wanted:g} samples", "dt > 0, samples >= 2"))
    text.header()
    rates = text.numbers(count * samples, "the samples").reshape(count, samples)
    acting = _Acting(tensor, velocity, pressure, fluid)
    return [_record(f"{path.name} source {i}", acting, r, Samples(rates[i], float(step))) for i, r in enumerate(table)]


@dataclass(frozen=True)
class _Acting:
    """Strengths of all sources of a file, in their own frames."""

    tensor: np.ndarray  # (3, 3)
    velocity: np.ndarray
    pressure: np.ndarray  # (1,)
    fluid: np.ndarray


def _record(name: str, acting: _Acting, row: np.ndarray, function: Samples) -> PointSource:
    turn, area = rotation(*row[3:6]), row[6]
    t = -area * turn @ acting.tensor @ turn.T
    force = area * turn @ acting.velocity
    return PointSource(
        row[:3].copy(),
        function,
        moment=np.array([t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[1, 2], t[0, 2]]),
        force=force,
        porous=np.concatenate([force, area * acting.pressure, area * turn @ acting.fluid]),
        onset=float(row[7]),
        name=name,
    )


def rotation(strike: float, dip: float, rake: float) -> np.ndarray:
    """Return the matrix (3, 3) from the frame of the source to the model: rake about z, -dip about x, -strike about z [rad]."""

    def about_z(angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    c, s = np.cos(dip), np.sin(dip)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]])
    return about_z(-strike) @ about_x @ about_z(rake)
