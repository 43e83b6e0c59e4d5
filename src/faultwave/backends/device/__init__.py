"""Common part of the backends of graphics processors: code generation in three dialects, buffers and launches."""
