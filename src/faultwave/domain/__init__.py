"""Domains of wave propagation: tetrahedral meshes and grids, without physics."""
