"""Output capabilities of the tetrahedral engine."""
