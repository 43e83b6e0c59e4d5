"""Processes that work on one run: how many there are, messages between them, and how an error on one ends all."""

from faultwave.comm.world import World, world

__all__ = ["World", "world"]
