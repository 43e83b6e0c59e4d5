"""Meshes of places: faults from traces and surfaces, relief from rasters, a sea, sizes from wave speeds (docs/decisions/0025)."""

from faultwave.domain.build.make import Place, Waves, build, volumes
from faultwave.domain.build.region import Heights

__all__ = ["Heights", "Place", "Waves", "build", "volumes"]
