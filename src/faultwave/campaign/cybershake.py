"""Seismograms of a campaign in CyberShake's files, one for each site and rupture, which ObsPy reads.

A file holds all variations of a rupture: for each a header of 56 bytes, then the velocities towards north and towards east
in cm/s as 32-bit numbers. CyberShake calls them X and Y.
"""

from __future__ import annotations

import csv
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.projection import Projection
from faultwave.campaign.ruptures import Variation
from faultwave.campaign.site_files import SiteResults
from faultwave.output.atomic import atomic_path, atomic_text, remove, translate_os_errors

FOLDER = "cybershake"
"""Folder of the files in the folder of a campaign."""
HEADER = struct.Struct("<8s8s8siiifiiff")
"""Version, site, padding, source, rupture, variation, interval [s], samples, components, and two frequencies [Hz]."""
VERSION, NAME_LENGTH, X_AND_Y, NO_STOCHASTIC = b"12.10", 7, 3, -1.0
CM_PER_M = 100.0
NUMBERED = re.compile(r"(\d{1,9})_(\d{1,9})")
"""Name of a rupture that consists of the numbers of its source and of itself, as in CyberShake."""


def check_names(names: Sequence[str], where: str, problems: Problems) -> None:
    """Add an error if names of sites do not fit into the header."""
    wrong = [n for n in names if len(n) > NAME_LENGTH or not n.isascii()]
    if wrong:
        more = f" and {len(wrong) - 1} more" if wrong[1:] else ""
        advice = f"Give the receivers of the tensors shorter station codes, or remove {FOLDER}."
        problems.error(where, f"site {wrong[0]}{more}", f"names of at most {NAME_LENGTH} ASCII characters", advice)


def number_ruptures(names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the numbers of source and rupture by the name of each rupture.

    Names of the form ``SOURCE_RUPTURE`` state both numbers if those of all ruptures do; otherwise each rupture is the only one, 0,
    of the source with its place in the table.
    """
    distinct = tuple(dict.fromkeys(names))
    stated = [NUMBERED.fullmatch(name) for name in distinct]
    numbers = [(int(m[1]), int(m[2])) for m in stated if m is not None]
    if len(set(numbers)) < len(distinct):
        numbers = [(source, 0) for source in range(len(distinct))]
    return dict(zip(distinct, numbers, strict=True))


def number_variations(variations: Sequence[Variation]) -> list[tuple[int, int, int]]:
    """Return the numbers of source, rupture and variation of each variation; variations of a rupture are numbered from zero."""
    ruptures, count = number_ruptures([v.rupture for v in variations]), dict[str, int]()
    found = list[tuple[int, int, int]]()
    for v in variations:
        number = count[v.rupture] = count.get(v.rupture, -1) + 1
        found.append((*ruptures[v.rupture], number))
    return found


def write_seismograms(
    folder: Path,
    variations: Sequence[Variation],
    projection: Projection,
    frequency: float,
    sites: Iterator[SiteResults],
) -> list[Path]:
    """Write the seismograms of all sites, remove files of earlier runs, and return the paths.

    Parameters
    ----------
    folder : Path
        Folder of the campaign.
    variations : sequence of Variation
        Variations in the order of the seismograms.
    projection : Projection
        Projection of the sites.
    frequency : float
        Largest frequency of the seismograms [Hz].
    sites : iterator of SiteResults
        Results with seismograms.
    """
    target, numbers = folder / FOLDER, number_variations(variations)
    with translate_os_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    paths = [_write_numbers(target, variations, numbers)]
    for site in sites:
        north = projection.norths(site.geographic[None, 0], site.geographic[None, 1])[0]
        assert site.seismograms is not None
        velocity = _north_and_east(site.seismograms, north)
        for source, rupture in dict.fromkeys(n[:2] for n in numbers):
            path = target / f"Seismogram_{site.name}_{source}_{rupture}.grm"
            with atomic_path(path) as temporary, temporary.open("wb") as file:
                for event, number in enumerate(numbers):
                    if number[:2] == (source, rupture):
                        file.write(_header(site, number, velocity.shape[2], frequency))
                        file.write(velocity[event].tobytes())
            paths.append(path)
    remove_seismograms(folder, paths)
    return paths


def remove_seismograms(folder: Path, keep: Sequence[Path] = ()) -> None:
    """Remove the seismograms of earlier runs from the folder of a campaign."""
    for path in set((folder / FOLDER).glob("Seismogram_*.grm")).difference(keep):
        remove(path)


def _north_and_east(velocity: np.ndarray, north: np.ndarray) -> np.ndarray:
    """Return the velocities (n, 2, nt) towards north and east [cm/s] from those along x, y, z [m/s] and the direction of north."""
    rotation = CM_PER_M * np.array([[north[0], north[1]], [north[1], -north[0]]])
    return np.einsum("ij,njt->nit", rotation, velocity[:, :2]).astype("<f4")


def _header(site: SiteResults, number: tuple[int, int, int], samples: int, frequency: float) -> bytes:
    return HEADER.pack(
        VERSION, site.name.encode("ascii"), b"", *number, site.interval, samples, X_AND_Y, frequency, NO_STOCHASTIC
    )


def _write_numbers(folder: Path, variations: Sequence[Variation], numbers: Sequence[tuple[int, int, int]]) -> Path:
    """Write the table of the numbers of all events."""
    path = folder / "variations.csv"
    with atomic_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["event_id", "rupture", "source_id", "rupture_id", "rup_var_id"])
        writer.writerows([v.event, v.rupture, *number] for v, number in zip(variations, numbers, strict=True))
    return path
