"""What was asked: one declaration per setting, and loaders that fill them."""

from faultwave.case.model import Case

__all__ = ["Case"]
