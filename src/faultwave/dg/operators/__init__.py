"""Buffers, kernels and launches that advance the wave field by a time step."""
