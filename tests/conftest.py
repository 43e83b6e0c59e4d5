"""What all tests share."""

from hypothesis import settings

# Machines differ and are shared: a slow example is no failure.
settings.register_profile("faultwave", deadline=None)
settings.load_profile("faultwave")
