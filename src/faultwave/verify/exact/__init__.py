"""Exact solutions: callables ``solution(points (n, 3), t) -> (n, nq)`` in NumPy.

Quantities follow the law: elastic s_xx s_yy s_zz s_xy s_yz s_xz v1 v2 v3 (stress positive in tension),
acoustic sigma v1 v2 v3 with sigma = -pressure.
"""

from faultwave.verify.exact.medium import Medium, Solution

__all__ = ["Medium", "Solution"]
