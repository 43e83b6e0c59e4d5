"""Reading the numbers of some cells again and again, in the form's own quantities and as the predictor left them."""

from __future__ import annotations

from typing import Any

import numpy as np


def turned(values: np.ndarray, turn: np.ndarray | None) -> np.ndarray:
    """Values (n, rows, Q) through matrices (n, Q, Q); as they are without."""
    return values if turn is None else np.matmul(values, turn.transpose(0, 2, 1)).astype(values.dtype, copy=False)


class Reader:
    """Cells at these places of the dofs ``q``, whose predictions are kept in these ``slots`` of the store ``history``. ``turn``: matrices
    (n, Q, Q) to the law's quantities, None where the form has them; ``kept``: rows and columns of a prediction."""

    def __init__(
        self,
        q: Any,
        history: Any,
        position: np.ndarray,
        slots: np.ndarray,
        turn: np.ndarray | None,
        kept: tuple[int, int],
    ):
        self.q, self.history, self.position, self.slots, self.turn, self.kept = q, history, position, slots, turn, kept

    def raw(self) -> np.ndarray:
        """(n, B3, Q) in the form's own quantities; ``turned`` by ``turn`` they are the law's."""
        return np.asarray(self.q.get(self.position))

    def series(self) -> np.ndarray:
        """The predictor's coefficients (n, rows, Q) of kept cells, one below the other, as of their last prediction."""
        return turned(self.history.get(self.slots).reshape(len(self.slots), *self.kept), self.turn)


__all__ = ["Reader", "turned"]
