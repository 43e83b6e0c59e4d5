"""One SCEC/USGS benchmark a file, each a module-level ``Benchmark``; found by scanning this folder."""
