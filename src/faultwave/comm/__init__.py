"""Processes of a run: their number, the messages between them, and the propagation of errors."""

from faultwave.comm.world import World, world

__all__ = ["World", "world"]
