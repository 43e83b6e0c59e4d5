"""Time to accuracy: core-seconds that seismograms of a given error cost, over engines, orders, spacings and precisions."""
