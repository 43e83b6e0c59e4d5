"""Campaigns: ground motion and seismic hazard at many sites from stored strain Green tensors and many ruptures.

Read ``settings.py`` first, which declares the file of a campaign; ``tensors.py`` and ``sources.py`` read its inputs, ``synthesis.py``
computes seismograms, ``plan.py`` checks everything before the run, ``campaign.py`` computes the sites, ``hazard.py`` the hazard.
"""
