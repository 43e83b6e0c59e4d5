"""Point and finite sources: time functions, records, readers."""

from faultwave.sources.load import load_sources
from faultwave.sources.point import PointSource

__all__ = ["PointSource", "load_sources"]
