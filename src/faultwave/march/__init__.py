"""Local time stepping: clusters as actors that only know how to predict and correct."""

from faultwave.march.clusters import Actions, LocalTimeStepping

__all__ = ["Actions", "LocalTimeStepping"]
