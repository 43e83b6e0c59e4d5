"""Settings of a case: one declaration for each setting, and loaders that fill them."""

from faultwave.case.settings.model import Case

__all__ = ["Case"]
