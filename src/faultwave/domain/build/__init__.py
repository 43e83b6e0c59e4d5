"""Mesh generation for a site: faults from traces and surfaces, topography, a sea, element sizes from wave speeds.

See docs/decisions/0025.
"""

from faultwave.domain.build.make import Place, Waves, build, volumes
from faultwave.domain.build.region import Heights

__all__ = ["Heights", "Place", "Waves", "build", "volumes"]
