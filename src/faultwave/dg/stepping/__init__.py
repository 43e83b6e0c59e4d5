"""Advance of a run in time: clocks of the clusters, steps and their callbacks, messages, and replays on a device."""
