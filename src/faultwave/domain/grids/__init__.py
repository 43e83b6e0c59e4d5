"""Grids of points: where they lie, which point lies where, and how they are cut into boxes, one a process."""
