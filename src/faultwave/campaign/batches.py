"""Batches of ruptures with common rows, so that one product serves all variations of a rupture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.campaign.ruptures import Variation
from faultwave.campaign.sources import RuptureSources, SourceReader
from faultwave.campaign.synthesis import Batch
from faultwave.campaign.tensors import TensorFile

TOGETHER = 16
"""Largest number of ruptures in a batch."""
WASTE = 1.5
"""Number of rows of a batch over the mean number of sources of its ruptures, above which each rupture is computed alone."""
BATCH_BYTES = 1 << 28
"""Largest size of the slip rates of a batch [bytes]."""


class PointFinder:
    """Search of the points of a file of tensors that are nearest to subfaults."""

    def __init__(self, file: TensorFile):
        from scipy.spatial import cKDTree

        self.file, self._tree = file, cKDTree(file.points)

    def nearest(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the number (n,) of the point nearest to each of ``places`` (n, 3), and its distance (n,) [m]."""
        distance, number = self._tree.query(places)
        return np.asarray(number, np.int64), np.asarray(distance)

    def lame(self, points: np.ndarray) -> np.ndarray | None:
        """Return lambda and mu (n, 2) [Pa] at points by number, None if the file does not contain them."""
        return None if self.file.lame is None else self.file.lame[points]


@dataclass(frozen=True)
class Located:
    """Rupture whose sources have found their points.

    Attributes
    ----------
    sources : RuptureSources
        Sources.
    point : ndarray (n,)
        Number of the point of each source in the file of tensors.
    moment : ndarray (n, 6)
        Moment tensors per unit slip [N].
    """

    sources: RuptureSources
    point: np.ndarray
    moment: np.ndarray


def locate(sources: RuptureSources, finder: PointFinder) -> Located:
    """Return the sources of a rupture with their points and moments."""
    point, _ = finder.nearest(sources.location)
    return Located(sources, point, sources.moments(finder.lame(point)))


def batches(
    variations: Sequence[Variation], reader: SourceReader, finder: PointFinder, used: np.ndarray
) -> Iterator[tuple[list[int], Batch]]:
    """Yield the numbers of the events of each batch and their sources.

    Parameters
    ----------
    variations : sequence of Variation
        Events; neighbours of the same rupture share batches.
    reader : SourceReader
        Reader of their files.
    finder : PointFinder
        Search of points.
    used : ndarray (p,)
        Numbers of the points whose spectra are loaded, ascending.
    """
    group, members = list[int](), list[Located]()
    for variation in variations:
        found = locate(reader.variation(variation), finder)
        size = sum(m.sources.samples.nbytes for m in members)
        same = not group or variations[group[-1]].rupture == variation.rupture
        if group and (not same or len(group) == TOGETHER or size > BATCH_BYTES):
            yield from _batches_of(group, members, used)
            group, members = [], []
        group.append(variation.event)
        members.append(found)
    if group:
        yield from _batches_of(group, members, used)


def _batches_of(events: list[int], members: list[Located], used: np.ndarray) -> Iterator[tuple[list[int], Batch]]:
    """Yield one batch, or one for each rupture if they have few points in common."""
    made = make_batch(members, used)
    if len(made.point) <= WASTE * np.mean([len(m.sources) for m in members]):
        yield events, made
        return
    for event, member in zip(events, members, strict=True):
        yield [event], make_batch([member], used)


def make_batch(members: Sequence[Located], used: np.ndarray) -> Batch:
    """Return ruptures with common rows, one for each point and ordinal number of a source at this point."""
    keys = [_keys(np.searchsorted(used, m.point)) for m in members]
    rows = np.unique(np.concatenate(keys))
    longest = max(int(m.sources.counts.max()) for m in members)
    shape = (len(rows), len(members))
    moment, samples = np.zeros((*shape, 6)), np.zeros((*shape, longest), np.float32)
    onset, interval = np.zeros(shape), np.full(shape, members[0].sources.interval[0])
    for column, (key, member) in enumerate(zip(keys, members, strict=True)):
        row, s = np.searchsorted(rows, key), member.sources
        padded = np.zeros((len(s), longest), np.float32)
        padded[np.arange(longest) < s.counts[:, None]] = s.samples
        samples[row, column], moment[row, column] = padded, member.moment
        onset[row, column], interval[row, column] = s.onset, s.interval
    return Batch(rows // MOST_AT_A_POINT, moment, samples, onset, interval)


MOST_AT_A_POINT = 1 << 20
"""Number above the number of sources at one point."""


def _keys(row: np.ndarray) -> np.ndarray:
    """Return a number for each source that combines its row with its ordinal number among the sources of the same row."""
    order = np.argsort(row, kind="stable")
    ordered = row[order]
    ordinal = np.arange(len(row)) - np.searchsorted(ordered, ordered)
    keys = np.empty(len(row), np.int64)
    keys[order] = ordered * MOST_AT_A_POINT + ordinal
    return keys
