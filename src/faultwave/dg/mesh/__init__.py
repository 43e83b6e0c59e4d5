"""Mesh of a run: its source, the cells of one process, and the location of points in cells and on faces."""
