"""Benchmarks with rate and state friction."""
