"""Stations: codes, files of several formats, and the points that a case requests."""
