"""Inputs of SW4: reading and conversion to a case."""
