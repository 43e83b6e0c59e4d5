"""Small cases and studies of ensembles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROCK = {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}


def wave_case(end: float = 0.08, **more: Any) -> dict[str, Any]:
    """A force in a box of 27 cubes, which runs in a tenth of a second."""
    box = {
        "shape": "box",
        "cells": [3, 3, 3],
        "lower": [0, 0, 0],
        "upper": [1, 1, 1],
        "boundaries": {"z+": "free-surface"},
    }
    source = {"kind": "force", "location": [0.4, 0.5, 0.6], "force": [1.0, 0.0, 0.5],
              "time_function": {"kind": "triangle", "duration": 0.1}}  # fmt: skip
    return {
        "mesh": {"generate": box}, "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}}, "end_time": end,
        "numerics": {"order": 2}, "sources": [source],
        "output": {"receivers": {"points": [[0.3, 0.4, 0.5], [0.7, 0.4, 0.5]], "interval": 0.02}}, **more,
    }  # fmt: skip


def rupture_case(end: float = 0.3) -> dict[str, Any]:
    """A patch of a fault on a grid that breaks."""
    rupture = "return 70000000 + 13000000 * exp(-(x*x + (z + 1500)*(z + 1500)) / 1500000);"
    parameters = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_d": 0.0}
    return {
        "engine": "fd", "end_time": end,
        "grid": {"lower": [-6000.0, -3100.0, -6200.0], "upper": [6000.0, 3100.0, 0.0], "spacing": 200.0,
                 "fault": {"lower": [-3000.0, 0.0, -3000.0], "upper": [3000.0, 0.0, 0.0]}},
        "material": {"constant": ROCK},
        "fault": {"friction": "linear-slip-weakening", "reference": [0, 1, 0], "reference_method": "direction",
                  "parameters": {"constant": parameters, "expression": {"T_s": rupture}}},
        "output": {"rupture": {"interval": 0.02}, "receivers": {"interval": 0.02, "points": [[-2000.0, 1000.0, 0.0]]}},
    }  # fmt: skip


def study(folder: Path, **more: Any) -> dict[str, Any]:
    """Four members with different forces."""
    found = {
        "case": wave_case(), "design": {"kind": "list"}, "folder": str(folder),
        "vary": {"push": {"setting": "sources[0].force[0]", "values": [1.0, 2.0, 3.0, 4.0]}},
        "execution": {"workers": 2},
    }  # fmt: skip
    return found | more
