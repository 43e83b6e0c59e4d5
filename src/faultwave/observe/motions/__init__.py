"""Ground motion processing, intensity measures and goodness-of-fit scores. Pure functions of arrays."""
