"""Injection of incident waves into a box of the engine fd, from records and as a plane wave.

A record of the same grid must be exact to rounding; a record of points twice as far apart and a plane wave must leave no more than the
reported error. A source outside a box that reaches the free surface excites a grid with attenuation. Its waves, recorded around the
box, are injected into the same grid without the source: the motion inside must be reproduced, outside must be zero. With a soft block in
the box, the field outside is the difference of two complete runs, with the block and without (double precision). Waves of a source in
the box that are injected outward must reproduce the motion outside, and inside must be zero.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from faultwave.base.types import Settings
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, VerificationCase, at_most
from faultwave.verify.exact import Array

ROCK: dict[str, float] = {"rho": 2700.0, "vp": 3464.0, "Qp": 80, "Qs": 40}
SOFT = "if (abs(x-800)<150 && abs(y-760)<150 && z > -400) { return 1200; } return 2000;"
BOX = {"lower": [480, 480, -960], "upper": [1120, 1120, 0]}
INSIDE = [[800.0, 790.0, -600.0], [810.0, 720.0, 0.0]]
OUTSIDE = [[1360.0, 800.0, -310.0], [170.0, 1280.0, -1450.0], [1290.0, 1310.0, 0.0]]
ROUNDING, LATTICE, PLANE = 1e-12, 0.05, 0.02


def settings(folder: Path, record: Path | None = None, soft: bool = False, attenuation: bool = True) -> Settings:
    """Return the case with the source, or with a ``record`` injected in its place."""
    rock = {name: v for name, v in ROCK.items() if attenuation or not name.startswith("Q")}
    made: Settings = {
        "engine": "fd", "end_time": 1.8,
        "grid": {"lower": [-480, 0, -1600], "upper": [1600, 1600, 0], "spacing": 80.0, "frequency": 2.5, "step": 0.01,
                 "absorbing": {"frequency": 1.5}},
        "material": {"constant": rock, "expression": {"vs": SOFT if soft else "return 2000;"}},
        "numerics": {"precision": "double"},
        "output": {"folder": str(folder), "receivers": {"points": INSIDE + OUTSIDE, "interval": 0.02}},
    }  # fmt: skip
    if attenuation:
        made["attenuation"] = {}
    if record is None:
        function = {"kind": "ricker", "duration": 0.7}
        tensor = {"xy": 1e15, "xx": 4e14, "zz": -4e14}
        made["sources"] = [
            {"kind": "moment-tensor", "location": [-320, 200, -700], "tensor": tensor, "time_function": function}
        ]
        made["output"]["box"] = BOX
    else:
        made["injection"] = {"file": str(record)}
    return made


def velocities(made: Settings) -> tuple[Array, Array]:
    """Run a case and return its velocities (samples, receivers, 3) inside and outside the box."""
    data = simulate(made).run().receivers
    assert data is not None
    values = data["values"][..., 6:]
    return values[:, : len(INSIDE)], values[:, len(INSIDE) :]


def run(progress: Progress) -> Result:
    """Judge exact records, a coarser one, and a plane wave."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        progress("whole runs")
        plain, block = velocities(settings(folder / "plain")), velocities(settings(folder / "block", soft=True))
        record, scale = folder / "plain/run-box.h5", float(np.abs(plain[0]).max())
        progress("waves let in again")
        again, scattered = (
            velocities(settings(folder / "again", record)),
            velocities(settings(folder / "soft", record, soft=True)),
        )
        rows = [
            at_most("same grid: difference inside", _most(again[0] - plain[0]) / scale, ROUNDING),
            at_most("same grid: motion outside", _most(again[1]) / scale, ROUNDING),
            at_most("soft block: difference inside", _most(scattered[0] - block[0]) / scale, ROUNDING),
            at_most(
                "soft block: scattered field less the difference",
                _most(scattered[1] - block[1] + plain[1]) / scale,
                ROUNDING,
            ),
        ]
        progress("waves let out of the box")
        left = velocities(_outward(folder / "source inside"))
        found = velocities(_outward(folder / "outward", folder / "source inside/run-box.h5"))
        rows += [
            at_most("outward, same grid: difference outside", _most(found[1] - left[1]) / _most(left[1]), ROUNDING),
            at_most("outward, same grid: motion inside", _most(found[0]) / _most(left[0]), ROUNDING),
        ]
        progress("a record of points twice as far apart, and a plane wave")
        coarse = settings(folder / "lattice", attenuation=False)
        coarse["output"]["box"] = {**BOX, "spacing": 160.0, "interval": 0.02}
        whole = velocities(coarse)
        found = velocities(settings(folder / "from lattice", folder / "lattice/run-box.h5", attenuation=False))
        rows.append(
            at_most("spacing doubled: rms difference inside", _rms(found[0] - whole[0]) / _rms(whole[0]), LATTICE)
        )
        rows.append(at_most("spacing doubled: rms outside", _rms(found[1]) / _rms(whole[0]), LATTICE))
        inside, outside = velocities(_plane(folder / "plane"))
        rows.append(at_most("plane S wave, free surface: motion outside", _most(outside) / _most(inside), PLANE))
    reported = f"the soft block scatters {100 * _most(scattered[1]) / scale:.2g} % of the largest velocity"
    return Result(tuple(rows), (reported,))


def _outward(folder: Path, record: Path | None = None) -> Settings:
    """Return the case with the source in the box, or with the waves of a ``record`` that leave the box."""
    made = settings(folder, record)
    if record is None:
        made["sources"][0]["location"] = [800, 800, -480]
    else:
        made["injection"]["total_field"] = "outside"
    return made


def _plane(folder: Path) -> Settings:
    made = settings(folder, folder, attenuation=False)
    wave = {
        "mode": "S", "direction": [0.3, 0.1, 1.0], "polarisation": [1, 0.4, 0], "reference": [480, 480, -960], "onset": 0.2,
        "time_function": {"kind": "ricker", "duration": 0.6},
    }  # fmt: skip
    return made | {"injection": {**BOX, "plane_wave": wave}}


def _most(values: Array) -> float:
    return float(np.abs(values).max())


def _rms(values: Array) -> float:
    return float(np.sqrt(np.square(values).mean()))


FD_INJECTION = VerificationCase("fd-injection", "grids: waves let into a box, total and scattered field", run, 3.0)
