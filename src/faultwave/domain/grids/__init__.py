"""Grids of points: positions, indices, and their partition into boxes, one per process."""
