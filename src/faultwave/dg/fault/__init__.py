"""Dynamic rupture on faces of the mesh: friction points, coupling of the two sides, records and values."""
