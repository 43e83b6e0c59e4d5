"""Repeated reading of the values of some cells, in the form's own quantities and from the last prediction."""

from __future__ import annotations

import numpy as np

from faultwave.backends.base import Buffer, Store


def turned(values: np.ndarray, turn: np.ndarray | None) -> np.ndarray:
    """Return values (n, rows, Q) transformed by matrices (n, Q, Q), or unchanged if there are none."""
    return values if turn is None else np.matmul(values, turn.transpose(0, 2, 1)).astype(values.dtype, copy=False)


class Reader:
    """Reader of cells.

    Parameters
    ----------
    q : buffer
        Degrees of freedom.
    history : store
        Coefficients of predictions.
    position : ndarray (n,)
        Positions of the cells in ``q``.
    slots : ndarray (n,)
        Slots of their predictions in ``history``.
    turn : ndarray (n, Q, Q) or None
        Matrices to the law's quantities; None if the form has them.
    kept : (int, int)
        Rows and columns of a prediction.
    """

    def __init__(
        self,
        q: Buffer,
        history: Store,
        position: np.ndarray,
        slots: np.ndarray,
        turn: np.ndarray | None,
        kept: tuple[int, int],
    ):
        self.q, self.history, self.position, self.slots, self.turn, self.kept = q, history, position, slots, turn, kept

    def raw(self) -> np.ndarray:
        """Return the degrees of freedom (n, B3, Q) in the form's own quantities; ``turned`` by ``turn`` they are the law's."""
        return np.asarray(self.q.get(self.position))

    def series(self) -> np.ndarray:
        """Return the stacked coefficients (n, rows, Q) of the last prediction of cells that store them."""
        return turned(self.history.get(self.slots).reshape(len(self.slots), *self.kept), self.turn)


__all__ = ["Reader", "turned"]
