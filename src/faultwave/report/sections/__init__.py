"""Sections of a report: each module has ``ORDER`` and ``sections(run, other)``, which gives those that the run has something for."""
