"""What the attenuation of a grid cannot be, told before a run."""

from __future__ import annotations

from faultwave.base.errors import Problems
from faultwave.engines.fd.media import Medium
from faultwave.media.attenuation import LOWEST_Q, Spectrum


def check_quality(medium: Medium, spectrum: Spectrum | None, problems: Problems) -> None:
    """An error for quality factors below those that mechanisms are fitted to; a warning for speeds given outside the band."""
    if spectrum is None:
        return
    if medium.lossiest < LOWEST_Q:
        x, y, z = medium.lossy_place
        what = f"Qp or Qs is {medium.lossiest:g} at ({x:g}, {y:g}, {z:g})"
        problems.error("material", what, f"at least {LOWEST_Q:g}", "Raise it, or set a minimum for the model.")
    if not spectrum.low <= spectrum.reference <= spectrum.high:
        problems.warn(
            "attenuation.reference", f"{spectrum.reference:g} Hz lies outside the band from {spectrum.low:g} to {spectrum.high:g} Hz",
            advice="Q is as asked within the band only, so that speeds there differ from those meant: widen it.",
        )  # fmt: skip


__all__ = ["check_quality"]
