"""Plasticity of rock and nonlinear soil on grids."""
