"""Files of rasters, one format each.

A module has ``ENDINGS``, the endings of names of such files, and ``read(path, variable) -> Raster``; those of other packages register by
the entry point group ``faultwave.media.rasters.formats``.
"""
