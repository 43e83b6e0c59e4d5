"""Command line: parses arguments, calls the packages that do the work, and shows their results."""
