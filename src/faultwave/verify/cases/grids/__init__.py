"""Verification cases of the engine on grids."""
