"""Benchmarks: the kernel proxy, measured roofs of the machine, and roofline figures."""
