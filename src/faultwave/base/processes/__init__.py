"""Processes of the machine: children, cores, signals, memory and multithreaded work."""
