"""Mesh files: netCDF, PUML and meshes stored in parts."""
