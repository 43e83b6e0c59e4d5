"""Loads of a fault: initial stress, nucleation, and their directions."""
