"""Benchmarks with a fault that branches."""
