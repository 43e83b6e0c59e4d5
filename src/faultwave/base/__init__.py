"""What every room may use: errors with context, units, the registry, timing."""
