"""Properties of fault traces in databases: dip, dip direction, rake and depths.

Supported are GEM's Global Active Faults (dip, dip_dir, rake, upper_seis_depth, lower_seis_depth, as
"(best,least,most)", depths in km; Styron & Pagani 2020), their older average_dip and average_rake, fault sections of
the USGS (DipDeg, DipDir, UpDepth, LowDepth, Rake), and of New Zealand (Dip_pref, Dip_dir, Rake_pref).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.paths import shown
from faultwave.base.units import to_si

NAMES = {
    "dip": ("dip", "averagedip", "avedip", "dipdeg", "dippref", "dipbest", "dipangle"),
    "azimuth": ("dipdir", "averagedipdir", "dipdirection", "dipdirect", "dipazimuth", "dipdirdeg"),
    "rake": ("rake", "averagerake", "averake", "rakepref", "rakebest"),
    "top": ("upperseisdepth", "updepth", "upperdepth", "upperseismogenicdepth", "topdepth"),
    "bottom": ("lowerseisdepth", "lowdepth", "lowerdepth", "lowerseismogenicdepth", "bottomdepth"),
}
"""Names of properties in lower case, letters only."""
ALIKE = ("dip", "rake", "depth", "width")
"""Words in names of properties that may describe the geometry of a fault."""
IGNORED = ("dipslip", "exposurequality", "depthquality", "epistemicquality")
"""Prefixes of names that contain these words but mean something else."""
COMPASS = {
    p: 22.5 * k
    for k, p in enumerate(
        ("N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW")
    )
}
LIMITS = {
    "dip": (10.0, 90.0),
    "azimuth": (-360.0, 360.0),
    "rake": (-360.0, 360.0),
    "top": (0.0, 700e3),
    "bottom": (1.0, 700e3),
}
WORDS = {
    "dip": "degrees",
    "azimuth": "degrees or a point of the compass",
    "rake": "degrees",
    "top": "km",
    "bottom": "km",
}


@dataclass(frozen=True)
class Properties:
    """Geometry of a fault as given in a file; None where unknown.

    Attributes
    ----------
    dip, azimuth, rake
        Dip, azimuth of dip and rake [deg].
    top, bottom
        Depths of the upper and lower edge [m].
    unread
        Names of properties that may contain more but are not read.
    """

    dip: float | None = None
    azimuth: float | None = None
    rake: float | None = None
    top: float | None = None
    bottom: float | None = None
    unread: tuple[str, ...] = ()

    def words(self) -> str:
        """Return a description of the known properties; empty if there are none."""
        said = [] if self.dip is None else [f"dip {self.dip:g} deg"]
        said += [] if self.azimuth is None else [f"dips to {self.azimuth:g} deg"]
        said += [] if self.top is None else [f"upper edge {self.top / 1e3:g} km deep"]
        said += [] if self.bottom is None else [f"lower edge {self.bottom / 1e3:g} km deep"]
        said += [] if self.rake is None else [f"rake {self.rake:g} deg"]
        return ", ".join(said)


def read_properties(where: str, given: Mapping[str, object]) -> Properties:
    """Return the fault geometry in the properties of a feature.

    Raises
    ------
    InputError
        With all invalid values.
    """
    found: dict[str, float] = {}
    unread, problems = [], []
    for key, value in given.items():
        plain = re.sub(r"[^a-z]", "", key.lower())
        name = next((n for n, names in NAMES.items() if plain in names), None)
        if name is None:
            if any(word in plain for word in ALIKE) and not plain.startswith(IGNORED) and _best(value) is not None:
                unread.append(key)
            continue
        try:
            number = _number(name, _best(value))
        except ValueError:
            problems.append(Problem(where, f"{key} is {shown(str(value), 60)}", WORDS[name]))
            continue
        if number is None or name in found:
            continue
        low, high = LIMITS[name]
        if not low <= number <= high:
            factor = 1e3 if name in ("top", "bottom") else 1.0
            advice = "Depths count in kilometres." if factor > 1 else ""
            allowed = f"{low / factor:g} to {high / factor:g} {WORDS[name]}"
            problems.append(Problem(where, f"{key} is {shown(str(value), 60)}", allowed, advice))
            continue
        found[name] = number
    if found.get("top", 0.0) >= found.get("bottom", np.inf):
        what = f"its upper edge, {found['top'] / 1e3:g} km, is not above the lower one, {found['bottom'] / 1e3:g} km"
        problems.append(Problem(where, what, "the upper depth less than the lower one"))
    if problems:
        raise InputError(problems)
    return Properties(**found, unread=tuple(unread))


def _best(value: Any) -> Any:
    """Return the first of "(best,least,most)" or of a list, or the value itself; None if it is empty or unknown."""
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    if isinstance(value, str):
        value = value.strip().strip("()[]").split(",")[0].strip().strip("'\"")
        return None if value.lower() in ("", "none", "nan", "null", "unknown", "n/a") else value
    return None if isinstance(value, float) and np.isnan(value) else value


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool):
        raise ValueError(value)
    if name == "azimuth" and isinstance(value, str):
        word = value.upper().replace("-", "")
        if word in ("V", "VERTICAL"):
            return None
        if word in COMPASS:
            return COMPASS[word]
    if name in ("top", "bottom"):
        return (
            float(value) * 1e3
            if not isinstance(value, str) or re.fullmatch(r"[-+.\deE]+", value)
            else to_si(value, "m")
        )
    return float(value)


__all__ = ["Properties", "read_properties"]
