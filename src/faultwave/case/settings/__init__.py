"""Declarations of all settings of a case."""
