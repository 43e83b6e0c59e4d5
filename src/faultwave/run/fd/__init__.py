"""Cases on regular grids: plan, simulation and report of the engine fd."""
