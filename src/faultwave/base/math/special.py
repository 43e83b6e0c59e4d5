"""Special functions of SciPy, which is imported on first use because it is slow and few runs need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def erf(x: ArrayLike) -> Any:
    """Return the error function, also of complex arguments."""
    from scipy import special

    return special.erf(x)


def erfc(x: ArrayLike) -> Any:
    """Return the complementary error function 1 - erf(x)."""
    from scipy import special

    return special.erfc(x)


def gamma(x: ArrayLike) -> Any:
    """Return the gamma function."""
    from scipy import special

    return special.gamma(x)


def log_gamma(x: ArrayLike) -> Any:
    """Return the logarithm of the absolute value of the gamma function."""
    from scipy import special

    return special.gammaln(x)
