"""Processes that work on one run: who there is, what travels between them, and how one brings all down."""

from faultwave.comm.world import World, world

__all__ = ["World", "world"]
