"""Gradients of misfits of seismograms with respect to the parameters of a case."""
