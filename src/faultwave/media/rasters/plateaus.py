"""Detection of undeclared missing values in rasters: plateaus of one exact height with a wall all around."""

from __future__ import annotations

import numpy as np

VALUES = 5
"""Number of heights examined, of the most frequent ones and of the ones that differ most from their neighbours."""
USUAL = 99.0
"""Percentile of the steps between neighbours that every step of the wall must exceed."""


def walled_plateaus(heights: np.ndarray) -> list[tuple[float, int, tuple[int, int]]]:
    """Return plateaus in ``heights`` (ny, nx), the largest first: height, number of points, and row and column of one point.

    A plateau is 2 x 2 points or more of exactly one height. All points around it are higher, or all are lower, by more
    than neighbours differ elsewhere. Shores of lakes and seas, in contrast, rise gradually somewhere. Plateaus at the
    edge are ignored, because what is beyond is not known.
    """
    from scipy import ndimage  # takes long to import, and few runs need it

    found: list[tuple[float, int, tuple[int, int]]] = []
    heights = np.asarray(heights, float)  # differences of integers may overflow their type
    for height in _even_heights(heights):
        usual = _usual_step(heights, height)
        labels, count = ndimage.label(heights == height, np.ones((3, 3)))
        boxes = ndimage.find_objects(labels, count)
        wide_enough = np.unique(labels[:-1, :-1][_squares(labels)])  # few, because most components are points and lines
        for number in wide_enough[wide_enough > 0]:
            rows, columns = boxes[number - 1]
            if min(rows.start, columns.start) == 0 or rows.stop == len(heights) or columns.stop == heights.shape[1]:
                continue
            wide = np.s_[rows.start - 1 : rows.stop + 1, columns.start - 1 : columns.stop + 1]
            inside = labels[wide] == number
            steps = (heights[wide] - height)[ndimage.binary_dilation(inside, np.ones((3, 3))) & ~inside]
            steps = steps[np.isfinite(steps)]
            if len(steps) and max(steps.min(), -steps.max()) > usual:
                row, column = np.argwhere(inside)[inside.sum() // 2]
                found.append(
                    (float(height), int(inside.sum()), (int(row) + rows.start - 1, int(column) + columns.start - 1))
                )
    return sorted(found, key=lambda plateau: -plateau[1])


def _even_heights(heights: np.ndarray) -> np.ndarray:
    """Return the heights of squares of four equal points: the most frequent ones and those with the largest steps to others.

    In rasters of whole metres every height has such squares, and a hole has few.
    """
    values, counts = np.unique(heights[:-1, :-1][_squares(heights)], return_counts=True)
    if not len(values):
        return values
    steps, found = np.zeros(len(values)), np.zeros(len(values))
    for one, other in ((heights[1:], heights[:-1]), (heights[:, 1:], heights[:, :-1])):
        differ = np.isfinite(one - other) & (one != other)
        size = np.abs(one - other)[differ]
        for side in (one[differ], other[differ]):
            at = np.searchsorted(values, side).clip(max=len(values) - 1)
            even = values[at] == side
            steps += np.bincount(at[even], size[even], len(values))
            found += np.bincount(at[even], minlength=len(values))
    largest = np.argsort(-steps / np.maximum(found, 1.0), kind="stable")
    return np.unique(values[np.concatenate([np.argsort(-counts, kind="stable")[:VALUES], largest[:VALUES]])])


def _squares(values: np.ndarray) -> np.ndarray:
    """Return a mask (ny - 1, nx - 1) of the points where a square of four equal ``values`` (ny, nx) begins."""
    first = values[:-1, :-1]
    return np.asarray((first == values[1:, :-1]) & (first == values[:-1, 1:]) & (first == values[1:, 1:]))


def _usual_step(heights: np.ndarray, height: float) -> float:
    """Return the step between neighbours that few exceed, among steps other than zero that do not involve ``height``."""
    other = np.where(heights == height, np.nan, heights)
    steps = np.abs(np.concatenate([np.diff(other, axis=axis).ravel() for axis in (0, 1)]))
    steps = steps[np.isfinite(steps) & (steps > 0)]
    return float(np.percentile(steps, USUAL)) if len(steps) else 0.0


__all__ = ["walled_plateaus"]
