"""Ground elevations on rasters: files of elevation models and their position in a case."""

from faultwave.media.rasters.load import MISSING, RasterGround, load_ground
from faultwave.media.rasters.raster import Raster

__all__ = ["MISSING", "Raster", "RasterGround", "load_ground"]
