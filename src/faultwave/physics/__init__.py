"""Physics as data and pure functions: waves, friction, sources."""
