"""Ensembles: many runs of one case with varied settings, on any executor, with one result.

Read ``study.py`` first, which declares the file of a study; ``design.py`` chooses the values, ``members.py`` makes the cases,
``tasks.py`` runs one member, ``supervisor.py`` all of them, and ``store.py`` combines the results.
"""
