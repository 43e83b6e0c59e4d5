"""Conventions of FSP files of SRCMOD: unknown values, and coordinates of centres or of the middles of upper edges."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNKNOWN = 999.0
"""Value for one that is unknown, such as the rake of a header whose rows have one each."""
STATEMENT = re.compile(r"given for (top[- ]*)?cent(?:er|re)", re.IGNORECASE)


def stated_as_upper_edges(line: str) -> bool | None:
    """Return True if a line of a header states coordinates of the middles of upper edges, False for centres, else None."""
    found = STATEMENT.search(line)
    return None if found is None else found[1] is not None


@dataclass(frozen=True)
class RowDepths:
    """Depths that tell upper edges and centres apart, all in the same unit.

    Attributes
    ----------
    first : float
        Smallest depth of the coordinates of a segment.
    top : float or None
        Depth of the upper edge of the segment, if the file states it.
    height : float
        Difference in depth between the upper and the lower edge of a subfault.
    """

    first: float
    top: float | None
    height: float

    @property
    def below(self) -> float | None:
        """Depth of the coordinates below the upper edge of the segment as a fraction of the height, None if unknown."""
        return None if self.top is None or not self.height > 0 else (self.first - self.top) / self.height

    @property
    def agree(self) -> bool:
        """False if coordinates are neither close to the upper edges nor to the centres of the first row of subfaults."""
        return self.below is None or -0.25 < self.below < 0.75

    def are_upper_edges(self, stated: bool | None) -> bool:
        """Return True if coordinates are those of the middles of upper edges, False for centres.

        The depth of the upper edge of the segment decides, since some files state the contrary; without it, the
        statement of the file; without that, they are upper edges.
        """
        if self.below is not None and self.agree:
            return self.below < 0.25
        return True if stated is None else stated
