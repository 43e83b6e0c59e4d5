"""What TPV10, 11 and 12 share: a normal fault that dips at 60 degrees, stress proportional to the distance down dip."""

from typing import Any

from faultwave.verify.scec.benchmark import Fault, Start, square

DIP = 60.0
FAULT = Fault("main", (-15e3, 15e3), (0.0, 15e3), dip=DIP, patches=(square(0, 12e3),))
ROCK: dict[str, Any] = {"constant": {"rho": 2700.0, "vp": 5716.0, "vs": 3300.0}}
SPEEDS = (5716.0, 3300.0)
START = Start((0.0, 12e3), 1.5e3 * 2**0.5)
STATIONS = {"main": ((0, 12e3), (0, 7.5e3), (12e3, 7.5e3), (4.5e3, 7.5e3), (0, 4.5e3), (0, 1.5e3), (0, 0), (12e3, 0))}
UP_DIP = (0.0, 9e3), (0.0, 3e3)
"""A stretch over which rupture runs in plane, up towards the surface."""
