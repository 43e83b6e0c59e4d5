"""File formats, one per module: incremental writers (open, append, close) or write and read functions of a Dataset."""
