"""Point sources of ruptures in compact form, read from SRF files once and cached."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection
from faultwave.campaign.ruptures import Hypocentre, Variation
from faultwave.output.atomic import atomic_path
from faultwave.output.manifest import digest, hash_file
from faultwave.physics.sources.point import Sources
from faultwave.physics.sources.readers.srf import read_srf_with_leads
from faultwave.physics.sources.time_functions import SampledFunctions

FORMAT = 3
"""Version of the cached files."""


@dataclass(frozen=True)
class RuptureSources:
    """Point sources of one rupture with piecewise linear slip rates that begin and end at zero.

    Attributes
    ----------
    location : ndarray (n, 3)
        Places [m].
    potency : ndarray (n, 6)
        Tensors area (slip normal + normal slip) / 2 [m^2], xx yy zz xy yz xz.
    modulus : ndarray (n,)
        Shear modulus of the file [Pa], NaN where the material applies.
    onset : ndarray (n,)
        Time of the first sample [s].
    lead : ndarray (n,)
        Time from the first sample to the onset of the file [s]: an interval where a zero precedes the rates of the file, else none.
    interval : ndarray (n,)
        Sampling interval of the slip rates [s].
    samples : ndarray (m,)
        Slip rates [m/s] of all sources, one after the other.
    first : ndarray (n + 1,)
        Index of the first sample of each source.
    """

    location: np.ndarray
    potency: np.ndarray
    modulus: np.ndarray
    onset: np.ndarray
    lead: np.ndarray
    interval: np.ndarray
    samples: np.ndarray
    first: np.ndarray

    def __len__(self) -> int:
        return len(self.onset)

    @classmethod
    def of(cls, sources: Sources, lead: np.ndarray) -> RuptureSources:
        """Return the sources of an SRF file with the times by which they begin before its onsets."""
        (group,) = sources.functions.groups
        assert isinstance(group, SampledFunctions)
        return cls(
            sources.location, sources.potency, sources.shear_modulus, sources.onset, lead, group.interval,
            np.asarray(group.samples, np.float32), group.first,
        )  # fmt: skip

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of samples (n,) of each source."""
        return np.diff(self.first)

    @property
    def end(self) -> float:
        """Time at which the last source ends [s]."""
        return float((self.onset + (self.counts - 1) * self.interval).max())

    @cached_property
    def slip(self) -> np.ndarray:
        """Integral of the slip rate (n,) of each source [m]."""
        return self.interval * np.add.reduceat(self.samples.astype(float), self.first[:-1])

    @property
    def needs_material(self) -> bool:
        """True if moments depend on the material of the tensors: without a modulus, or with opening."""
        trace = np.abs(self.potency[:, :3].sum(1)) > 1e-6 * np.abs(self.potency).max(1)
        return bool(np.isnan(self.modulus).any() or trace.any())

    def moments(self, lame: np.ndarray | None) -> np.ndarray:
        """Return moment tensors (n, 6) per unit slip [N], for lambda and mu (n, 2) [Pa] of the material, None if unknown."""
        known = np.zeros((len(self), 2)) if lame is None else lame
        mu = np.where(np.isnan(self.modulus), known[:, 1], self.modulus)
        volume = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]) * self.potency[:, :3].sum(1)[:, None]
        return np.asarray(known[:, :1] * volume + 2.0 * mu[:, None] * self.potency)

    def seismic_moment(self, lame: np.ndarray | None) -> float:
        """Return the sum of the scalar moments of all places [N m]; sources at the same place add as tensors."""
        tensors = self.moments(lame) * self.slip[:, None]
        _, place = np.unique(self.location, axis=0, return_inverse=True)
        summed = np.zeros((int(place.max()) + 1, 6))
        np.add.at(summed, place.reshape(-1), tensors)
        return float(np.sqrt(0.5 * (summed**2 * [1, 1, 1, 2, 2, 2]).sum(1)).sum())


def moment_magnitude(moment: float) -> float:
    """Return the moment magnitude of a seismic moment [N m]."""
    return float((np.log10(max(moment, 1e-300)) - 9.1) / 1.5)


class SourceReader:
    """Reader of ruptures with a cache in a folder, which exists after the first run only.

    Parameters
    ----------
    projection : Projection
        Projection from longitude and latitude to local coordinates.
    identity : str
        Text that identifies the projection.
    cache : Path
        Folder of the cache.
    write : bool
        If True, ruptures that were read are added to the cache.
    """

    def __init__(self, projection: Projection, identity: str, cache: Path, write: bool = False):
        self.projection, self.identity, self.cache, self.write = projection, identity, cache, write
        self._keys: dict[tuple[str, int, int], str] = {}

    def key(self, path: Path) -> str:
        """Return the identity of a rupture: contents of its file and projection."""
        state = path.stat()
        known = str(path), state.st_size, state.st_mtime_ns
        if known not in self._keys:
            about = {"format": FORMAT, "file": hash_file(path), "projection": self.identity}
            self._keys[known] = digest(about)[:32]
        return self._keys[known]

    def variation(self, variation: Variation, warned: Problems | None = None) -> RuptureSources:
        """Return the sources of a variation, with the onsets of its hypocentre if it has one.

        Raises
        ------
        InputError
            If the file is invalid, or the hypocentre has no place on the map.
        """
        found = self.read(variation.path, warned)
        if variation.hypocentre is None:
            return found
        moved = with_hypocentre(found, variation.hypocentre, self.projection)
        if not np.isfinite(moved.onset).all():
            h = variation.hypocentre
            what = f"the hypocentre at {h.longitude:g}, {h.latitude:g} lies outside of the map projection"
            advice = "Are hypocentre_lon and hypocentre_lat exchanged, or is a sign wrong?"
            raise InputError(Problem(variation.where, what, "a place near the rupture", advice))
        return moved

    def read(self, path: Path, warned: Problems | None = None) -> RuptureSources:
        """Return the sources of an SRF file.

        Raises
        ------
        InputError
            If the file is invalid.
        """
        cached = self.cache / f"{self.key(path)}.npz"
        stored = _read_cached(cached, path)
        if stored is None:
            said = Problems()
            found = RuptureSources.of(*read_srf_with_leads(path, self.projection, said))
            if not len(found):
                raise InputError(Problem(str(path), "contains no slip", "subfaults with slip rates"))
            stored = found, tuple(said.warnings)
            if self.write:
                self.cache.mkdir(parents=True, exist_ok=True)
                with atomic_path(cached) as temporary, temporary.open("wb") as file:
                    np.savez(file, *(getattr(found, name) for name in FIELDS), _as_text(stored[1], path))
        found, warnings = stored
        if warned is not None:
            warned.extend(warnings)
        return found


def place_of(hypocentre: Hypocentre, projection: Projection) -> np.ndarray:
    """Return the place (3,) [m] of a hypocentre, not finite beyond the map."""
    with np.errstate(invalid="ignore"):  # beyond the map, it is not finite
        return np.append(projection.to_local(hypocentre.longitude, hypocentre.latitude)[0], -hypocentre.depth)


def with_hypocentre(sources: RuptureSources, hypocentre: Hypocentre, projection: Projection) -> RuptureSources:
    """Return the sources with the onsets of a rupture that spreads from a hypocentre at a constant speed.

    As in a file, the onset is the time of the first rate of the file, whether this is zero or not.
    """
    arrival = np.linalg.norm(sources.location - place_of(hypocentre, projection), axis=1) / hypocentre.speed
    return replace(sources, onset=arrival - sources.lead)


FIELDS = tuple(RuptureSources.__dataclass_fields__)
"""Names of the arrays of a rupture in the order of the cached files."""


def _as_text(warnings: Sequence[Problem], path: Path) -> np.ndarray:
    """Return warnings as JSON; places in the file have no path, since files with equal contents share an entry."""
    rows = [(w.where.removeprefix(str(path)), w.what, w.allowed, w.advice) for w in warnings]
    return np.array(json.dumps(rows))


def _read_cached(cached: Path, path: Path) -> tuple[RuptureSources, tuple[Problem, ...]] | None:
    """Return a cached rupture with the warnings of its file ``path``, None if it is missing or damaged."""
    try:
        with np.load(cached, allow_pickle=False) as file:
            found = RuptureSources(*(file[f"arr_{i}"] for i in range(len(FIELDS))))
            rows = json.loads(str(file[f"arr_{len(FIELDS)}"]))
        return found, tuple(
            Problem(f"{path}{where}", what, allowed, advice, "warning") for where, what, allowed, advice in rows
        )
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
        return None
