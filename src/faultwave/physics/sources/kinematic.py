"""Kinematic models of ruptures, in which each subfault has one slip, rake, onset and rise time: their sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.paths import shown
from faultwave.base.projection import Projection, exchange_advice, geographic_tensor, voigt
from faultwave.base.units import finite_number
from faultwave.physics.sources.point import Functions, Sources, slip_frame
from faultwave.physics.sources.time_functions import SampledFunctions

DEEPEST = 7e5  # m
LATEST = 1e6  # s
MODULI = (1e6, 1e13)
"""Shear moduli [Pa] outside of which moment, slip and area contradict each other."""
LARGEST_SLIP = 1e3  # m


@dataclass(frozen=True)
class Subfaults:
    """Subfaults of a kinematic model, in the order of the file.

    Attributes
    ----------
    path : Path
        File.
    line : ndarray of shape (n,)
        Line of each subfault.
    longitude, latitude, depth : ndarray of shape (n,)
        Centres [deg, m].
    strike, dip, rake : ndarray of shape (n,)
        Angles [deg].
    area, slip, modulus : ndarray of shape (n,)
        Area [m^2], slip [m], and shear modulus [Pa], NaN if the file has none.
    onset : ndarray of shape (n,)
        Onset of slip [s].
    rise : ndarray of shape (n, k)
        Rise times, or their parts [s].
    """

    path: Path
    line: np.ndarray
    longitude: np.ndarray
    latitude: np.ndarray
    depth: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    rake: np.ndarray
    area: np.ndarray
    slip: np.ndarray
    modulus: np.ndarray
    onset: np.ndarray
    rise: np.ndarray

    def sources(self, projection: Projection, functions: Callable[[np.ndarray], SampledFunctions]) -> Sources:
        """Return a source for each subfault that slips.

        Parameters
        ----------
        projection : Projection
            Projection of the case.
        functions : callable
            Returns slip rates of unit slip for the rise times (m, k) of m subfaults.

        Raises
        ------
        InputError
            With file and line of every kind of problem.
        """
        self.check()
        slips = np.flatnonzero(self.slip)
        if not len(slips):
            where = f"{self.path}:{self.line[0]}"
            raise InputError(Problem(where, "no subfault slips", "a slip that is not zero"))
        lon, lat = self.longitude[slips], self.latitude[slips]
        angles = (np.radians(a[slips]) for a in (self.strike, self.dip, self.rake))
        normal, (along, _, _) = slip_frame(*angles)
        one = along[:, :, None] * normal[:, None, :]
        strength = 0.5 * self.area[slips] * self.slip[slips]
        tensors = geographic_tensor(one + one.swapaxes(1, 2), projection.norths(lon, lat))
        place = np.concatenate([projection.to_local(lon, lat), -self.depth[slips, None]], 1)
        names = np.array([f"{self.path.name} subfault {n + 1}" for n in slips], object)
        rows = np.arange(len(slips))
        rates = Functions((functions(self.rise[slips]),), np.zeros(len(slips), np.int64), rows)
        none = np.zeros((len(slips), 7))
        return Sources(
            place, none[:, :6], none[:, :3], strength[:, None] * voigt(tensors), none, self.modulus[slips],
            self.onset[slips], names, rates,
        )  # fmt: skip

    def check(self) -> None:
        """Raise InputError with one error for all subfaults that have the same problem."""
        problems, slips = Problems(), self.slip != 0
        known = np.isfinite(self.modulus)
        low, high = MODULI
        for wrong, what, allowed in (
            (~((np.abs(self.longitude) <= 360) & (np.abs(self.latitude) <= 90)),
             "longitude {longitude:g}, latitude {latitude:g}", "degrees"),
            (~((self.depth >= 0) & (self.depth <= DEEPEST)), "depth {depth:g} m", f"0 to {DEEPEST:g} m"),
            (~((self.dip >= 0) & (self.dip <= 90)), "dip {dip:g}", "0 to 90 degrees"),
            (~((np.abs(self.strike) <= 720) & (np.abs(self.rake) <= 720)), "strike {strike:g}, rake {rake:g}", "degrees"),
            (~(self.area > 0), "area {area:g} m^2", "> 0"),
            (~(np.abs(self.slip) <= LARGEST_SLIP), "slip {slip:g} m", f"up to {LARGEST_SLIP:g} m; check its unit"),
            (slips & known & ~((self.modulus > low) & (self.modulus < high)),
             "shear modulus {modulus:.4g} Pa, its moment divided by slip and area",
             f"{low:g} to {high:g} Pa; check the unit of the moment"),
            (~(np.abs(self.onset) <= LATEST), "onset {onset:g} s", f"-{LATEST:g} to {LATEST:g} s"),
            (slips & ~((self.rise >= 0).all(1) & (self.rise.sum(1) > 0) & (self.rise <= LATEST).all(1)),
             "slip {slip:g} m within a rise time of {rise} s", f"> 0, to {LATEST:g} s"),
        ):  # fmt: skip
            found = np.flatnonzero(wrong)
            if len(found):
                self._report(found, what, allowed, problems)
        problems.raise_errors()

    def _report(self, found: np.ndarray, what: str, allowed: str, problems: Problems) -> None:
        """Add an error on the subfaults ``found``, which names the first of them."""
        n = int(found[0])
        columns = ("longitude", "latitude", "depth", "strike", "dip", "rake", "area", "slip", "modulus", "onset")
        values: dict[str, object] = {name: float(getattr(self, name)[n]) for name in columns}
        values["rise"] = " + ".join(f"{r:g}" for r in self.rise[n])
        more = f"; so have {len(found) - 1} more subfaults" if len(found) > 1 else ""
        place = float(self.longitude[n]), float(self.latitude[n])
        advice = exchange_advice(*place) if "longitude" in what else ""
        where = f"{self.path}:{self.line[n]}"
        problems.error(where, f"subfault {n + 1} has {what.format(**values)}{more}", allowed, advice)


def read_text_lines(path: Path) -> list[str]:
    """Return the lines of a text file; raise InputError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None


def numbers_of_row(where: str, line: str, columns: Sequence[str]) -> list[float]:
    """Return the numbers of a row of a table; raise InputError at ``where`` if it does not fit its columns."""
    words = line.split()
    if len(words) != len(columns):
        what = f"has {len(words)} values, '{shown(line.strip())}', where a subfault has {len(columns)}"
        raise InputError(Problem(where, what, " ".join(columns), "Is the file truncated?"))
    found = list[float]()
    for word, name in zip(words, columns, strict=True):
        number = finite_number(word)
        if number is None:
            raise InputError(Problem(where, f"'{shown(word)}' is not a finite number ({name})"))
        found.append(number)
    return found
