"""Readers of source files, one module per format, named after it.

A module has ``read(path, setting, projection, warned) -> list[PointSource]``: ``projection`` is the one of the case, or
None; ``warned`` receives warnings. Other packages register readers by the entry point group
``faultwave.physics.sources.readers``.
"""
