"""Connectivity of meshes: common faces, overlaps, tags, checks and topology."""
