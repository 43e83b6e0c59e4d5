"""Readers of files that describe an event: catalogues, finite sources, and rupture extents of ShakeMap."""
