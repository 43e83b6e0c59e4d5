"""Exact solutions, benchmark cases and the comparison of runs."""
