"""Files of models of the ground, one format each, named by the file.

A module has ``read(path, setting, projection) -> Model``; those of other packages register by the entry point group
``faultwave.media.models.formats``.
"""
