"""Output files: formats, one per module, run folder, manifest and converters, independent of a running simulation."""
