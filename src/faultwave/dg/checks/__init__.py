"""Checks before a run: resolution, precision, memory, costly cells and slivers."""
