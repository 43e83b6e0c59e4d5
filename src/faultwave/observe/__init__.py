"""What a run leaves to look at: receivers, fault, surface, volume and energies as named arrays."""
