"""Plan of a run on tetrahedra, and its partition among processes."""
