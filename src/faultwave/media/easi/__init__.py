"""easi model files in YAML: parsing, the function language and vectorised evaluation."""

from faultwave.media.easi.load import EasiField, load_easi

__all__ = ["EasiField", "load_easi"]
