"""Inputs of SW4 on a grid, beside exact seismograms in SW4's own axes: x north, y east, z down."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from faultwave.run import simulate
from faultwave.verify.exact.full_space import FullSpace, Medium
from faultwave.verify.exact.half_space import vertical_displacement
from faultwave.verify.exact.time_functions import ricker

INPUT = """\
grid h=100 x=4000 y=4200 z=4400
time t=3.2
boundary_conditions lz=2
block vp=3464.1016151377544 vs=2000 rho=2700
{source}
rec x=3500 y=2700 z=2600 sta=A variables=velocity
rec x=1400 y=2510 z=650 sta=B variables=velocity
rec x=2000 y=3950 z=3300 sta=C variables=velocity
"""
PLACE, STATIONS = (
    (2030.0, 1980.0, 2150.0),
    [(3500.0, 2700.0, 2600.0), (1400.0, 2510.0, 650.0), (2000.0, 3950.0, 3300.0)],
)
S, D, R = np.radians([40.0, 60.0, -25.0])
M_XX = -(np.sin(D) * np.cos(R) * np.sin(2 * S) + np.sin(2 * D) * np.sin(R) * np.sin(S) ** 2)
M_YY = np.sin(D) * np.cos(R) * np.sin(2 * S) - np.sin(2 * D) * np.sin(R) * np.cos(S) ** 2
M_XY = np.sin(D) * np.cos(R) * np.cos(2 * S) + 0.5 * np.sin(2 * D) * np.sin(R) * np.sin(2 * S)
M_XZ = -(np.cos(D) * np.cos(R) * np.cos(S) + np.cos(2 * D) * np.sin(R) * np.sin(S))
M_YZ = -(np.cos(D) * np.cos(R) * np.sin(S) - np.cos(2 * D) * np.sin(R) * np.cos(S))
COUPLE = 1e16 * np.array([[M_XX, M_XY, M_XZ], [M_XY, M_YY, M_YZ], [M_XZ, M_YZ, -M_XX - M_YY]])
"""Tensor of Aki & Richards (2002, p. 112), as SW4's guide refers to."""

AT = "x=2030 y=1980 z=2150 freq=1 t0=1.5"


@pytest.mark.parametrize(
    ("source", "strength"),
    [
        # The rate of RickerInt is Ricker's wavelet with a negative peak.
        (f"source {AT} strike=40 dip=60 rake=-25 m0=1e16", {"moment": tuple(map(tuple, -COUPLE))}),
        (f"source {AT} fx=1 fy=-2 fz=3 f0=1e12 type=Ricker", {"force": (-1e12, 2e12, -3e12)}),
    ],
    ids=["double couple", "force"],
)
def test_seismograms_are_exact_in_the_axes_of_sw4(tmp_path, source, strength):
    path = tmp_path / "model.in"
    path.write_text(INPUT.format(source=source))
    data = simulate(str(path)).run(write=False).receivers
    assert data.attrs["stations"] == ["A", "B", "C"]
    rock = Medium(2700.0, 1.08e10, 1.08e10)
    expected = FullSpace(rock, ricker(1.0, 1.5), location=PLACE, **strength).velocity(STATIONS, data["time"])
    found = np.stack([data.quantity("v2"), data.quantity("v1"), -data.quantity("v3")], -1).transpose(1, 0, 2)
    error = np.sqrt(((found - expected) ** 2).sum((1, 2)) / (expected**2).sum((1, 2)))
    assert error.max() < 0.015, error


LAMB = """\
grid nx=61 x=4e3 y=4e3 z=2e3
time t=2.6
supergrid gp=60
block vp=1.7320508076e+03 vs=1000 rho=1500
source type=C6SmoothBump x=2e3 y=2e3 z=0 fz=1e13 freq=1 t0=0
rec x=2e3 y=3e3 z=0 file=v1 sacformat=0 usgsformat=1
"""
"""Input of Lamb's problem from the user's guide of SW4, with a smaller box."""


def test_lambs_problem_of_the_users_guide(tmp_path):
    """SW4's largest error at this spacing, 5 points per shortest wavelength, is 7.2 % of the largest displacement."""
    path = tmp_path / "lamb.in"
    path.write_text(LAMB)
    data = simulate(str(path)).run(write=False).receivers
    up = CubicSpline(data["time"], data.quantity("v3")[:, 0]).antiderivative()(data["time"])
    rock = Medium(1500.0, 1.5e9, 1.5e9)
    expected = -1e13 * vertical_displacement(rock, 1000.0, data["time"])  # the force points down
    assert np.abs(up - expected).max() < 0.07 * np.abs(expected).max()
