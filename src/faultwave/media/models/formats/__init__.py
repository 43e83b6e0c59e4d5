"""File formats of ground models, one module each, named like the kind of the model.

A module has ``read(path, setting, projection) -> Model``; modules of other packages register by the entry point group
``faultwave.media.models.formats``.
"""
