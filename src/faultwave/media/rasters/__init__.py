"""Heights of the ground on rasters: files of elevation models, and where they lie in a case."""

from faultwave.media.rasters.load import load_ground
from faultwave.media.rasters.raster import Raster

__all__ = ["Raster", "load_ground"]
