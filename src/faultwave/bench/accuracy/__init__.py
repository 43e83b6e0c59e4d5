"""Time to accuracy: core-seconds for seismograms of a given error, over engines, orders, spacings and precisions."""
