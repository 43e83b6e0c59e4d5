"""easi YAML model files: parsing, the function language and vectorised evaluation."""

from faultwave.media.easi.load import EasiField, load_easi

__all__ = ["EasiField", "load_easi"]
