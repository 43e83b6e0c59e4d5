"""What the backends of graphics processors share: one lowering with three dialects, buffers, launches."""
