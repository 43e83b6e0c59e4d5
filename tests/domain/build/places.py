"""Random places: relief, coasts, and faults that cross, made from a seed."""

import dataclasses
from types import SimpleNamespace

import numpy as np

from faultwave.domain.build import Place


@dataclasses.dataclass
class Even:
    """Waves of one speed; water at 1.5 km/s in volume 2 and above."""

    speed: float = 3464.0
    frequency: float = 0.0
    water: int = 99

    def edges(self, points, groups):
        if not self.frequency:
            return np.full(len(points), np.inf)
        return np.where(groups >= self.water, 1500.0, self.speed) / self.frequency

    def fastest(self, points):
        return 6000.0


def fault(trace, **changed):
    """What the settings of a fault hold."""
    known = {
        "name": None, "trace": trace, "surface": None, "planes": None, "outside": "error", "dip": 90.0, "dip_direction": None,
        "top": 0.0, "depth": 8e3, "size": None,
        "stops_at": [],
    }  # fmt: skip
    return SimpleNamespace(**{**known, **changed})


def setting(**changed):
    """What the settings of a mesh hold: a box of 30 by 30 by 15 km with elements of 1 km on faults."""
    known = {
        "lower": (-15e3, -15e3), "upper": (15e3, 15e3), "depth": 15e3, "reflections_after": None, "far_size": 4e3, "fault_size": 1e3,
        "growth": 0.4, "sea": False, "sea_slope": 0.1, "sea_surface": "free-surface", "faults": [],
        "rounds": 1,
    }  # fmt: skip
    return SimpleNamespace(**{**known, **changed})


def relief(rng, height, shift):
    """Hills and valleys of many lengths: heights (n,) of places (n, 2)."""
    waves = rng.normal(size=(12, 2)) * (2 * np.pi / np.geomspace(3e3, 40e3, 12))[:, None]
    sizes, phases = np.geomspace(3e3, 40e3, 12) / 40e3, rng.uniform(0, 2 * np.pi, 12)

    def ground(xy, width=0.0):
        h = (sizes * np.sin(xy @ waves.T + phases)).sum(1)
        return shift + height * h / sizes.sum()

    return ground


def write_trace(path, xy):
    path.write_text("x,y\n" + "".join(f"{x:.3f},{y:.3f}\n" for x, y in xy))
    return path


def random_line(rng):
    """A bent line of 7 to 12 km about the middle."""
    angle, length = rng.uniform(0, 2 * np.pi), rng.uniform(7e3, 12e3)
    s = np.linspace(-0.5, 0.5, 9) * length
    bend = rng.uniform(-0.15, 0.15) * length * np.cos(np.pi * s / length)
    middle = rng.uniform(-2e3, 2e3, 2)
    along = np.array([np.cos(angle), np.sin(angle)])
    return middle + s[:, None] * along + bend[:, None] * np.array([-along[1], along[0]])


def random_place(seed, folder):
    """Setting and place: 1 to 3 faults which may cross, mountains, plains, coasts and islands."""
    rng = np.random.default_rng(seed)
    kind = ("mountains", "coast", "plain", "islands")[seed % 4]
    height = {"mountains": 6e3, "coast": 4e3, "plain": 100.0, "islands": 5e3}[kind]
    shift = {"mountains": 2500.0, "coast": 0.0, "plain": 50.0, "islands": -1500.0}[kind]
    faults = []
    for k in range(1 + seed % 3):
        path = write_trace(folder / f"fault-{k}.csv", random_line(rng))
        bottom = rng.uniform(4e3, 8e3)
        dip = 90.0 if rng.random() < 0.3 else float(rng.uniform(50, 89))
        faults.append(fault(path, name=f"f{k}", dip=dip, depth=bottom, size=float(rng.uniform(700, 1300))))
    asked = setting(faults=faults, sea=kind in ("coast", "islands"))
    return asked, Place(Even(water=2 if asked.sea else 99), relief(rng, height, shift))
