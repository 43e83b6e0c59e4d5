"""Samples of the wave field at points, on surfaces and in snapshots."""
