"""Tables: energies, errors, far fields, resonances and scattering parameters."""
