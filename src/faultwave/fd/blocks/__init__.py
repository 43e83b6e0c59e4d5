"""Grids of several blocks with different spacing, and their interfaces."""
