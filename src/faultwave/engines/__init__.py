"""Numerical engines."""
