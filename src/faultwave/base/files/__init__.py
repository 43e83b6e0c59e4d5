"""Safe access to external files, search by name, caches and temporary folders."""
