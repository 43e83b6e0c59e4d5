"""Benchmarks with one vertical strike-slip fault and slip weakening."""
