"""Observables of a run: receivers, fault, surface, volume and energies as named arrays."""
