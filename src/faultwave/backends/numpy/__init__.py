"""Reference backend: executes every kernel statement by statement with NumPy."""

from faultwave.backends.numpy.runtime import NumpyBackend as backend
from faultwave.backends.numpy.stencil import StencilRunner as make_stencils
from faultwave.backends.numpy.stencil import plane_product

CAPABILITIES = backend.capabilities


def rank() -> int:
    """Return the priority of this backend in the automatic choice: the lowest, as it is slow but always available."""
    return 1


__all__ = ["CAPABILITIES", "backend", "make_stencils", "plane_product", "rank"]
