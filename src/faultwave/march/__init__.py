"""Time: clusters as actors that only know predict and correct."""

from faultwave.march.clusters import Actions, March

__all__ = ["Actions", "March"]
