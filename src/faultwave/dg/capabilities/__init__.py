"""Capabilities of the tetrahedral engine, one module each.

A module of this package or of ``outputs`` registers by its presence, one of another package by the entry point group
``faultwave.dg.parts``. It defines

* ``plan(planning) -> CapabilityPlan | None``: the plan of the capability, None where the case does not use it; errors go to
  ``planning.problems``;
* ``AFTER``, optional: names of other capabilities that must be planned and attached before it;
* ``needs_whole_mesh(case) -> bool``, optional: True if planning is impossible on a part of the mesh.
"""
