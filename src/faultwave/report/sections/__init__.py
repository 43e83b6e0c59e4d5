"""Sections of a report: each module has ``ORDER`` and ``sections(run, other)``, which yields sections for the available results."""
