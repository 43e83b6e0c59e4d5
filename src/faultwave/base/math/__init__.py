"""Quadrature, special functions, unique rows, magnitudes and map projections."""
