"""Definitions of SCEC/USGS benchmarks, one module-level ``Benchmark`` per file, found by scanning this folder."""
