"""Models of the ground on lattices: one file a format, all read through ``open_models``."""

from faultwave.media.models.load import coverage, open_models

__all__ = ["coverage", "open_models"]
