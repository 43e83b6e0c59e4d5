"""Source files: each reader turns a path into a list of PointSource."""
