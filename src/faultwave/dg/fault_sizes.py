"""What the kernel of friction is made for, beside the friction law: sizes, and what points are asked to follow or to remember."""

from __future__ import annotations

from dataclasses import dataclass

from faultwave.dg.fault_transforms import degree_of


@dataclass(frozen=True)
class Sizes:
    """``rows`` of the face traces of each coefficient in time, ``points`` of a face, sub-steps (``times``) of a step, ``episodes`` of
    nucleation; ``moved``: also remember what the velocity jump says; ``breakdown``: and what the breakdown work is; ``linear_normal``:
    strength follows the linear part of the normal traction; ``smooth_sliding``: weakened faces slip without their highest degree;
    ``narrow``: of the form; ``quadratic_slip``: the quadratic part of slip weakens; ``conical``: the points are those of the conical
    rule; ``uniform``: parameters of the law that are the same at all points of the fault, which no point has to read; ``whole_steps``:
    see ``Options``."""

    rows: tuple[int, ...]
    points: int
    times: int
    episodes: int
    moved: bool = False
    breakdown: bool = False
    linear_normal: bool = False
    smooth_sliding: bool = False
    narrow: bool = False
    quadratic_slip: bool = False
    conical: bool = False
    uniform: tuple[str, ...] = ()
    whole_steps: bool = False

    @property
    def degree(self) -> int:
        """Of the face modes."""
        return degree_of(self.rows[0])


__all__ = ["Sizes"]
