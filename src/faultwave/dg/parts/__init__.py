"""The capabilities of the engine on tetrahedra, one file each.

A file registers by lying here, one of another package by the entry point group ``faultwave.dg.parts``. It has

* ``plan(planning) -> Part | None``: the part, None where the case does not ask for it; what is wrong goes to ``planning.problems``;
* ``AFTER``, if it needs other parts: their names; they are planned and attached before it;
* ``needs_whole_mesh(case) -> bool``, if planning cannot be done on a piece of the mesh.
"""
