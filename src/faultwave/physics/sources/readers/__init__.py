"""Source files, one format each, named by the file.

A module has ``read(path, setting, projection, warned) -> list[PointSource]``: ``projection`` is the case's, or None; ``warned`` takes
warnings. Those of other packages register by the entry point group ``faultwave.physics.sources.readers``.
"""
