"""Benchmarks of the finite-difference engine."""
