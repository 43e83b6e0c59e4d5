"""Checks of a run on a grid: precision, reflections, unused settings and instability."""
