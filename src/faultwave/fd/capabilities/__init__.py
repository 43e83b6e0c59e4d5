"""Capabilities of the engine on grids, one file each.

A file of this folder, or of another package by the entry point group ``faultwave.fd.parts``, is found automatically. It
has a function ``plan(planning) -> GridCapabilityPlan | None``, which returns the planned capability, or None if the case does not
request it, and reports errors to ``planning.problems``. A file without that function defines a capability that other
code adds to a plan.
"""
