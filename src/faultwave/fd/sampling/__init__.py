"""Snapshots, surface maxima and recorded points on grids."""
