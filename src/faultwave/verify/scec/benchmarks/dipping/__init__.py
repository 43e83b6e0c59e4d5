"""Benchmarks with one dipping fault."""
