"""Special functions of SciPy, which is imported when one is first called: it takes long, and few runs need one."""

from __future__ import annotations

from typing import Any


def erf(x: Any) -> Any:
    """Error function, of complex numbers too."""
    from scipy import special

    return special.erf(x)


def erfc(x: Any) -> Any:
    """1 - erf(x)."""
    from scipy import special

    return special.erfc(x)


def gamma(x: Any) -> Any:
    """Gamma function."""
    from scipy import special

    return special.gamma(x)


def log_gamma(x: Any) -> Any:
    """Logarithm of the gamma function's absolute value."""
    from scipy import special

    return special.gammaln(x)
