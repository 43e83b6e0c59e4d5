"""Station as listed in a file, and checks common to all readers of stations."""

from __future__ import annotations

from dataclasses import dataclass

from faultwave.base.errors import Problems
from faultwave.base.projection import exchange_advice


@dataclass(frozen=True)
class ListedStation:
    """Station of a file.

    Attributes
    ----------
    line : int
        Line number in the file.
    place : tuple of float
        Longitude, latitude [deg], z [m], or, without ``degrees``, x, y, z [m]. z is minus the depth below the ground, or the height itself
        if ``height`` is set.
    words : tuple of str
        Codes of station and network, if given.
    degrees : bool
        True if the place is given in degrees.
    height : bool
        True if z is a height.
    corner : tuple of float, optional
        Longitude and latitude [deg] of the origin of x (east) and y (north).
    """

    line: int
    place: tuple[float, float, float]
    words: tuple[str, ...]
    degrees: bool = True
    height: bool = False
    corner: tuple[float, float] | None = None


def check_geographic(longitude: float, latitude: float, where: str, problems: Problems) -> bool:
    """Return True if longitude and latitude are degrees, neither exchanged nor metres; add an error otherwise."""
    if abs(latitude) <= 90 and abs(longitude) <= 360:
        return True
    what, advice = f"longitude {longitude:g}, latitude {latitude:g}", exchange_advice(longitude, latitude)
    problems.error(where, what, "degrees, latitude from -90 to 90", advice)
    return False


__all__ = ["ListedStation", "check_geographic"]
