"""Point and finite sources: time functions, records, readers."""

from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.point import PointSource

__all__ = ["PointSource", "load_sources"]
