"""The capabilities of the engine on grids, one file each.

A file registers by lying here, one of another package by the entry point group ``faultwave.fd.parts``. It has ``plan(planning) ->
GridPart | None``: the part, None where the case does not ask for it; what is wrong goes to ``planning.problems``. A file without it
has a part that is put into a plan by who needs it.
"""
