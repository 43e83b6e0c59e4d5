"""Gmsh files: readers of their sections and the child process that runs Gmsh."""
