"""Random fields: stationary Gaussian fields as functions of position, which perturb parameters."""

from faultwave.media.random_fields.von_karman import Taper, VonKarman

__all__ = ["Taper", "VonKarman"]
