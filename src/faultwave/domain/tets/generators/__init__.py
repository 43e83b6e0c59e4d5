"""Generators of tetrahedral meshes, built in and by Gmsh."""
