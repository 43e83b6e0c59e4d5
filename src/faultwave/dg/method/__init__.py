"""Discontinuous Galerkin method: basis, weak forms, predictors in time and their face expansions."""
