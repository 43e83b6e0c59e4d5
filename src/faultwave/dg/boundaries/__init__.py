"""Boundary conditions: kinds of faces, ghost states, prescribed motion and the sea surface."""
