"""Ground models on lattices, with one file per format, all read through ``open_models``."""

from faultwave.media.models.load import coverage, open_models

__all__ = ["coverage", "open_models"]
