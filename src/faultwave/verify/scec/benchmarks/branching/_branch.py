"""Common definition of TPV14, 15, 24 and 25: a vertical fault 28 km long with a branch at 30 degrees."""

from faultwave.verify.scec.benchmark import Fault

BRANCH = Fault("branch", (0.0, 12e3), (0.0, 15e3), strike=-30.0)
STATIONS = {
    "main": ((-8e3, 7.5e3), (-2e3, 7.5e3), (2e3, 7.5e3), (9e3, 7.5e3), (-8e3, 0), (-2e3, 0), (9e3, 0)),
    "branch": ((2e3, 7.5e3), (9e3, 7.5e3), (2e3, 0), (9e3, 0)),
}


def main(*patches: tuple[float, float, float, float]) -> Fault:
    """Return the main fault; the branch leaves it at s = 0, 12 km from its end, towards -y."""
    return Fault("main", (-16e3, 12e3), (0.0, 15e3), patches=patches)
