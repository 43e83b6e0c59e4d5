"""Faultwave: earthquakes, rupture and waves, from a laptop to many nodes."""

__version__ = "0.1.0"
