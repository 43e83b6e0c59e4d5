"""Foundation of all packages: errors with context, units, registry, logging and timing."""
