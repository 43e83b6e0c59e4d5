"""ADER discontinuous Galerkin on tetrahedra, strong form with characteristic traces."""
