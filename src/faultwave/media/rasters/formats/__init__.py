"""File formats of rasters, one module each.

A module has ``ENDINGS``, the endings of file names, and ``read(path, variable) -> Raster``; modules of other packages
register by the entry point group ``faultwave.media.rasters.formats``.
"""
