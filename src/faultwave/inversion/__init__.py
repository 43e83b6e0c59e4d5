"""Linear source inversion from stored strain Green tensors: moment tensors and kinematic slip with their exact Gaussian posterior.

Read ``settings.py`` first, which declares the file of an inversion; ``data_plan.py`` and ``plan.py`` check everything before the
computation, ``forward.py`` predicts data from a model, ``prior.py`` and ``noise.py`` are its covariances, ``posterior.py`` the solution
in data space. ``moment_tensor`` contains the inversion for a point source.
"""
