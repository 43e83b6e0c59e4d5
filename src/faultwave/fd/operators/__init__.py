"""Arrays, launches and point operators that advance the wave field on a grid by a time step."""
