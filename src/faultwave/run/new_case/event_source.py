"""Source of an event as its file states it, with the file and field of each number, and the request for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from faultwave.base.formulas import magnitude
from faultwave.base.wording import printable
from faultwave.run.new_case import text as text

CMT_GAUSSIAN = 1.628 * np.sqrt(2.0)
"""Half duration over the standard deviation of the Gaussian, as in CMTSOLUTION files."""
CMT_HALF_DURATION = 1.05e-8
"""Half duration [s] over the cube root of the moment [dyne cm] (Ekstroem, Nettles & Dziewonski 2012)."""


@dataclass(frozen=True)
class EventRequest:
    """Event of a file.

    Attributes
    ----------
    file : Path
        File of the event.
    identifier : str or None
        Identifier, or a part of it, of one of several events of a file.
    mechanism : tuple of float or None
        Strike, dip and rake [deg], or the rake alone, of an event whose file has none.
    """

    file: Path
    identifier: str | None = None
    mechanism: tuple[float, ...] | None = None


@dataclass(frozen=True)
class PointEvent:
    """Event as a point source.

    Attributes
    ----------
    name : str
        Name of the event.
    place : tuple of float
        Longitude, latitude [deg] and depth [m].
    moment : float
        Scalar moment [N m].
    tensor : tuple of float or None
        Moment tensor Mrr, Mtt, Mpp, Mrt, Mrp, Mtp [N m] with r up, t south and p east.
    angles : tuple of float or None
        Strike, dip and rake [deg] where there is no tensor.
    half_duration : float
        Half of the duration of the moment rate [s].
    time : datetime or None
        Centroid time (UTC).
    fields : mapping of str to str
        File, line and field of ``place``, ``moment``, ``mechanism``, ``duration`` and ``time``.
    """

    name: str
    place: tuple[float, float, float]
    moment: float
    tensor: tuple[float, ...] | None
    angles: tuple[float, float, float] | None
    half_duration: float
    time: datetime | None
    fields: Mapping[str, str]

    @property
    def magnitude(self) -> float:
        """Moment magnitude."""
        return magnitude(self.moment)

    @property
    def bottom(self) -> float:
        """Depth of the source [m]."""
        return self.place[2]

    @property
    def points(self) -> np.ndarray:
        """Longitude, latitude [deg] and depth [m] (1, 3) of the source."""
        return np.array([self.place])

    @property
    def radiates(self) -> float:
        """Frequency at which the spectrum of the moment rate has fallen to 5 % [Hz]."""
        return float(text.GAUSSIAN_WIDTH * CMT_GAUSSIAN / max(self.half_duration, 1e-3))

    def deviation(self, frequency: float) -> float:
        """Return the standard deviation of a Gaussian moment rate whose spectrum ends at a frequency [Hz] or lower [s]."""
        return float(max(self.half_duration / CMT_GAUSSIAN, text.GAUSSIAN_WIDTH / frequency))


@dataclass(frozen=True)
class FiniteEvent:
    """Event in a file of sources that a case can read, or one that is written for it.

    Attributes
    ----------
    name : str
        Name of the event.
    kind : str
        Format of the file.
    points : ndarray, shape (n, 3)
        Longitude, latitude [deg] and depth [m] of the parts of the source.
    moment : float
        Scalar moment [N m].
    fields : mapping of str to str
        File and field of ``place``, ``moment``, ``mechanism``, ``duration`` and ``time``.
    radiates : float
        Frequency at which the spectrum of a point source has fallen to 5 %, infinite for others [Hz].
    time : datetime or None
        Time at which the time of the file begins (UTC).
    content : callable or None
        Returns the text of the file for the highest frequency [Hz]; None if the file of the event is used.
    """

    name: str
    kind: str
    points: np.ndarray = field(repr=False)
    moment: float
    fields: Mapping[str, str]
    radiates: float = np.inf
    time: datetime | None = None
    content: Callable[[float], str] | None = None

    @property
    def magnitude(self) -> float:
        """Moment magnitude."""
        return magnitude(self.moment)

    @property
    def bottom(self) -> float:
        """Depth of the lowest part [m]."""
        return float(self.points[:, 2].max())


def one_line(words: str) -> str:
    """Return text of a file for a comment: in one line, without characters that cannot be displayed."""
    return printable(" ".join(words.split()))


def cmt_half_duration(moment: float) -> float:
    """Return the half duration of a moment [N m] by which the Global CMT project computes its catalogue [s]."""
    return float(CMT_HALF_DURATION * np.cbrt(1e7 * moment))
