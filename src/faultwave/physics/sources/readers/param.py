"""Finite faults of the USGS, ``basic_inversion.param``: kinematic models as text (Ji et al. 2002; Hayes 2017).

Each segment has a header with its number of subfaults and their size, the corners of its boundary, and a row for each
subfault: latitude, longitude [deg] and depth [km] of the centre, slip [cm], rake, strike, dip [deg], onset, times of
rise and fall [s], and moment [dyne cm]. Slip rates rise and fall as half periods of cosines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection, needed
from faultwave.base.types import Setting
from faultwave.physics.sources.kinematic import Subfaults, numbers_of_row, read_text_lines
from faultwave.physics.sources.point import Sources
from faultwave.physics.sources.slip_rates import sampled_cosines
from faultwave.physics.sources.time_functions import SampledFunctions

COLUMNS = ("lat", "lon", "depth", "slip", "rake", "strike", "dip", "t_rup", "t_ris", "t_fal", "mo")
TOTAL = re.compile(r"total number of fault_segments\s*=\s*(\d+)", re.IGNORECASE)
NUMBER = r"\s*=\s*([-+]?\d*\.?\d+)"
SIZE = re.compile(rf"nx\S*?{NUMBER}.*?dx{NUMBER}.*?ny\S*?{NUMBER}.*?dy{NUMBER}", re.IGNORECASE)
DYNE_CM = 1e-7  # N m


@dataclass
class _Segment:
    """Header and rows of a segment while a file is read."""

    line: int
    shape: tuple[float, float]
    edges: tuple[float, float]
    rows: list[list[float]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def columns(self) -> tuple[np.ndarray, ...]:
        """Return the columns of ``Subfaults`` after its path."""
        lat, lon, depth, slip, rake, strike, dip, onset, rise, fall, moment = np.array(self.rows).T
        area = np.full(len(lat), 1e6 * self.edges[0] * self.edges[1])
        slip, modulus, slips = 1e-2 * slip, np.full(len(lat), np.nan), slip != 0
        modulus[slips] = DYNE_CM * moment[slips] / (area[slips] * slip[slips])
        places = np.array(self.lines), lon, lat, 1e3 * depth
        return *places, strike, dip, rake, area, slip, modulus, onset, np.stack([rise, fall], 1)


def read(path: Path, setting: Setting, projection: Projection | None, warned: Problems | None = None) -> Sources:
    """Return the sources of a file, as every module of this folder does."""
    return read_param(path, projection)


def read_param(path: Path, projection: Projection | None) -> Sources:
    """Return one source for each subfault that slips, with the shear modulus of its moment, slip and area.

    Parameters
    ----------
    path : Path
        File.
    projection : Projection or None
        Projection of the case.

    Raises
    ------
    InputError
        With file and line of every problem.
    """
    problems = Problems()
    segments = _parse(path, problems)
    for segment in segments:
        expected = segment.shape[0] * segment.shape[1]
        if expected != len(segment.rows):
            shape = f"{segment.shape[0]:g} x {segment.shape[1]:g}"
            what = f"the segment has {shape} subfaults, and {len(segment.rows)} follow"
            problems.error(f"{path}:{segment.line}", what, "the same number", "Is the file truncated?")
    problems.raise_errors()
    parts = [segment.columns() for segment in segments]
    found = Subfaults(path, *(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return found.sources(needed(projection, str(path)), _functions)


def _functions(rise: np.ndarray) -> SampledFunctions:
    return sampled_cosines(rise[:, 0], rise[:, 1])


def _parse(path: Path, problems: Problems) -> list[_Segment]:
    """Return the segments of a file; raise InputError at the first line that is none of the format."""
    lines = read_text_lines(path)
    first = next((number for number, line in enumerate(lines, 1) if line.strip()), 1)
    total = TOTAL.search(lines[first - 1]) if lines else None
    if total is None:
        what = "does not begin with the number of segments"
        raise InputError(Problem(f"{path}:{first}", what, "#Total number of fault_segments= 1"))
    segments, in_table = list[_Segment](), False
    for number, line in enumerate(lines[first:], first + 1):
        where, text = f"{path}:{number}", line.strip()
        if text.startswith("#") or text.lower().startswith(("fault_segment", "boundary")):
            in_table = _header_line(where, number, text.lstrip("#").strip(), segments)
        elif text and in_table:
            segments[-1].rows.append(numbers_of_row(where, text, COLUMNS))
            segments[-1].lines.append(number)
    if len(segments) != int(total[1]):
        what = f"states {total[1]} segments, and has {len(segments)}"
        problems.error(f"{path}:{first}", what, "the same number", "Is the file truncated?")
    if not segments:
        problems.raise_errors()
        raise InputError(Problem(f"{path}:{first}", "holds no segments", "#Fault_segment = 1 nx(Along-strike)= ..."))
    return segments


def _header_line(where: str, number: int, text: str, segments: list[_Segment]) -> bool:
    """Read a line of a header, and return True if rows of subfaults follow it."""
    if text.lower().startswith("fault_segment"):
        size = SIZE.search(text)
        values = [float(v) for v in size.groups()] if size else [0.0]
        if not min(values) > 0:
            what = "a segment without positive numbers and sizes of subfaults"
            raise InputError(
                Problem(where, what, "#Fault_segment = 1 nx(Along-strike)= 9 Dx= 5.00km ny(downdip)= 5 Dy= 4.00km")
            )
        segments.append(_Segment(number, (values[0], values[2]), (values[1], values[3])))
        return False
    names = tuple(word.strip(".").lower() for word in text.split())
    if not {"slip", "rake"} <= set(names):
        return False
    if names != COLUMNS:
        raise InputError(Problem(where, f"has the columns {' '.join(names)}", " ".join(COLUMNS)))
    if not segments:
        raise InputError(Problem(where, "has subfaults before the header of their segment", "#Fault_segment = 1 ..."))
    return True
