"""Finite sources from the ruptures of runs: stored slip histories, and one file for each exchange format."""
