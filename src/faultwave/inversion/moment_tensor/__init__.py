"""Moment tensor of a point source, with the search of its centroid in space and time.

Read ``plan.py`` first, which determines the places and times; ``search.py`` computes the quadratic misfit of each, ``estimate.py`` its
minimum over tensors of a kind, and ``solution.py`` the result.
"""
