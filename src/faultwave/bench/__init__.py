"""How fast: the kernel proxy, the machine's roofs, and the picture of one under the other."""
