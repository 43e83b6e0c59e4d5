"""One file format a module: open, append, close; or write and read of a whole Dataset."""
