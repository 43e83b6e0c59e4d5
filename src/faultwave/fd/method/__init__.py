"""Finite-difference method: closures, stencils, material, faults in the stencils, and the program of a step."""
