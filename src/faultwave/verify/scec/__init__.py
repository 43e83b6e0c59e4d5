"""Benchmarks of the SCEC/USGS dynamic rupture code comparison (Harris et al. 2009, 2018), one file each in ``benchmarks``."""
