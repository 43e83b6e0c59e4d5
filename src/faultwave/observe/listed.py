"""A station as a file lists it, and what all readers of stations check."""

from __future__ import annotations

from dataclasses import dataclass

from faultwave.base.errors import Problems


@dataclass(frozen=True)
class Listed:
    """A station of a file.

    ``line``: where it stands. ``place``: longitude, latitude [deg], z [m], or, without ``degrees``, x, y, z [m], which are eastwards and
    northwards of ``corner`` (longitude, latitude) [deg] where there is one. z is minus the depth below the ground, or with ``height`` the
    height itself. ``words``: codes of station and network, as many as there are.
    """

    line: int
    place: tuple[float, float, float]
    words: tuple[str, ...]
    degrees: bool = True
    height: bool = False
    corner: tuple[float, float] | None = None


def on_earth(longitude: float, latitude: float, where: str, problems: Problems) -> bool:
    """Return whether longitude and latitude are degrees, neither exchanged nor metres; add an error if not."""
    if abs(latitude) <= 90 and abs(longitude) <= 360:
        return True
    exchanged = "Are longitude and latitude exchanged?" if abs(longitude) <= 90 and abs(latitude) <= 360 else ""
    problems.error(
        where, f"longitude {longitude:g}, latitude {latitude:g}", "degrees, latitude from -90 to 90", exchanged
    )
    return False


__all__ = ["Listed", "on_earth"]
