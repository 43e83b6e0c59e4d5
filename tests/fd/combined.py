"""Small grids with any features together: which go together, and the cases that try every two of them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

H, STEPS = 100.0, 22
ORIGIN = (-117.3, 34.2)

FEATURES = (
    "topography", "ratio 2", "ratio 3", "order 8", "attenuation", "sponge", "periodic sides", "fluids", "box record", "injection",
    "injected plane wave", "rising plane wave", "initial plane wave", "finite source", "time dispersion removed", "volume snapshots",
    "plasticity", "soil", "fault",
)  # fmt: skip

ALTERNATIVES = ({"ratio 2", "ratio 3"}, {"injection", "injected plane wave"})
"""Of which a case has one at most."""

TOGETHER = "cannot be combined on a grid yet"
REFUSED = {
    ("topography", "volume snapshots"): "snapshots of the volume need a regular lattice",
    ("topography", "fault"): f"topography and a fault {TOGETHER}",
    ("ratio 2", "fault"): f"blocks of different spacing and a fault {TOGETHER}",
    ("ratio 3", "fault"): f"blocks of different spacing and a fault {TOGETHER}",
    ("order 8", "fault"): f"order 8 and a fault {TOGETHER}",
    ("attenuation", "injected plane wave"): "is not supported in attenuating rock",
    ("periodic sides", "fault"): f"periodic sides and a fault {TOGETHER}",
    ("fluids", "plasticity"): "water cannot be combined with yielding rock on a grid yet",
    ("fluids", "soil"): "next to or below water is not supported yet",
    ("fluids", "fault"): f"fluids in the box and a fault {TOGETHER}",
    ("fluids", "initial plane wave"): "plane waves need a uniform medium",
    ("box record", "initial plane wave"): "a record must start at rest, but the case has an initial state",
    ("box record", "time dispersion removed"): "waves at the box include the time dispersion of the grid",
    ("injection", "initial plane wave"): "needs a box at rest",
    ("injected plane wave", "initial plane wave"): "needs a box at rest",
    ("injection", "time dispersion removed"): "waves at the box include the time dispersion of the grid",
    ("injected plane wave", "time dispersion removed"): "waves at the box include the time dispersion of the grid",
    ("injection", "rising plane wave"): "crosses the injection box",
    ("injected plane wave", "rising plane wave"): "crosses the injection box",
    ("injection", "plasticity"): f"an injection and plasticity {TOGETHER}",
    ("injected plane wave", "plasticity"): f"an injection and plasticity {TOGETHER}",
    ("injection", "soil"): f"an injection and soil {TOGETHER}",
    ("injected plane wave", "soil"): f"an injection and soil {TOGETHER}",
    ("injection", "fault"): f"an injection and a fault {TOGETHER}",
    ("injected plane wave", "fault"): f"an injection and a fault {TOGETHER}",
    ("rising plane wave", "plasticity"): f"rising plane waves and plasticity {TOGETHER}",
    ("rising plane wave", "fault"): f"rising plane waves and a fault {TOGETHER}",
    ("initial plane wave", "time dispersion removed"): "not from initial motion",
    ("time dispersion removed", "plasticity"): f"removing time dispersion and plasticity {TOGETHER}",
    ("time dispersion removed", "soil"): f"removing time dispersion and soil {TOGETHER}",
    ("time dispersion removed", "fault"): f"removing time dispersion and a fault {TOGETHER}",
    ("plasticity", "soil"): f"rock that yields and soil {TOGETHER}",
    ("plasticity", "fault"): f"rock that yields and a fault {TOGETHER}",
    ("soil", "fault"): f"a fault and soil {TOGETHER}",
}  # fmt: skip
"""Pairs that are told before the run, and what is told."""


def possible(one: str, other: str) -> bool:
    """Whether a case may have both."""
    return {one, other} not in ALTERNATIVES and not {(one, other), (other, one)} & REFUSED.keys()


def allowed() -> set[tuple[str, str]]:
    """All pairs that a case may have."""
    return {pair for pair in combinations(FEATURES, 2) if possible(*pair)}


def covered(features: tuple[str, ...]) -> set[tuple[str, str]]:
    """Pairs that a case tries."""
    return set(combinations([f for f in FEATURES if f in features], 2))


CASES: dict[str, tuple[str, ...]] = {
    "waves let into blocks below a sea": ("ratio 3", "order 8", "attenuation", "sponge", "periodic sides", "fluids",
        "box record", "injection", "finite source", "volume snapshots"),
    "a sea on a hill": ("topography", "ratio 2", "order 8", "attenuation", "sponge", "periodic sides",
        "fluids", "rising plane wave", "finite source", "time dispersion removed"),
    "a plane wave in yielding blocks": ("ratio 2", "order 8", "attenuation", "sponge", "periodic sides",
        "initial plane wave", "finite source", "volume snapshots", "plasticity"),
    "a plane wave let in below a hill": ("topography", "ratio 3", "order 8", "sponge", "periodic sides",
        "fluids", "box record", "injected plane wave", "finite source"),
    "soil": ("ratio 2", "attenuation", "sponge", "periodic sides", "rising plane wave",
        "initial plane wave", "finite source", "volume snapshots", "soil"),
    "a fault": ("attenuation", "sponge", "box record", "finite source", "volume snapshots", "fault"),
    "a yielding hill": ("topography", "ratio 3", "initial plane wave", "plasticity"),
    "waves let in below a hill": ("topography", "ratio 2", "order 8", "attenuation", "box record", "injection"),
    "plane waves through blocks": ("ratio 3", "rising plane wave", "time dispersion removed", "volume snapshots"),
    "a plane wave let into a block": ("ratio 2", "injected plane wave", "volume snapshots"),
    "a plane wave into soil": ("topography", "ratio 3", "order 8", "attenuation", "box record", "rising plane wave", "soil"),
    "a record in yielding rock": ("box record", "plasticity"),
    "a plane wave at a fault": ("initial plane wave", "fault"),
}  # fmt: skip
"""Found by a greedy search for few cases that have every allowed pair."""


# ---- one case ---------------------------------------------------------------------------------------------------------


class Layout:
    """Where all lies in a case with such features; lengths are numbers of spacings of the uppermost block, down from the surface."""

    def __init__(self, features: tuple[str, ...]):
        has = set(features).__contains__
        self.ratio = 3 if has("ratio 3") else 2 if has("ratio 2") else 1
        self.blocks = self.ratio > 1
        if has("order 8") and has("topography"):
            self.blocks = True  # which bent planes need
        self.orders = (4 if has("topography") else 8, 8) if has("order 8") else (4, 4)
        self.boxed = any(map(has, ("box record", "injection", "injected plane wave")))
        wide = self.orders[1] == 8
        self.cells = (
            (22 if self.boxed else 20) if wide else (14 if self.boxed else 12)
        )  # of the lowest block along x and y
        if not self.blocks:
            self.cells = max(self.cells, 30 if wide else 20)  # so that four processes may share it
        if has("fault"):
            self.cells = 24
        self.floor = 11 if has("fluids") else 0
        bent = 8 + 20 if has("topography") else 0
        rim = 20 if self.orders[0] == 8 else 10
        self.upper = max(21 if self.orders[0] == 8 else 15, bent, self.floor + rim * has("fluids"))
        self.reach = reach = 8 if wide else 4
        self.lower = 2 * reach + 8 if wide else 12
        if self.boxed:  # a box of five cells, deep enough below a face
            self.lower = 4 * reach + 5 if self.blocks else 2 * reach + 5
        self.box = (self.upper + self.ratio * (2 * reach if self.blocks else reach), self.ratio * 5)
        self.side = self.cells * self.ratio
        self.along = (
            44 if has("fault") else self.side
        )  # layers along x are computed to whole vectors, faults keep away from these
        self.depth = self.upper + self.ratio * self.lower

    @property
    def corners(self) -> tuple[list[float], list[float]]:
        """Of the box of records and of injection [m]."""
        top, high = self.box
        low = (self.cells - 5) // 2 * self.ratio
        a, b = H * low, H * (low + high)
        return [a, a - 0.5 * H, -H * (top + high)], [b, b - 0.5 * H, -H * top]


def settings(features: tuple[str, ...], folder: Path, record: Path | None = None, **numerics: str) -> dict[str, Any]:
    """A case with these features, whose ``record`` is injected."""
    has, lay = set(features).__contains__, Layout(features)
    grid: dict[str, Any] = {
        "lower": [0.0, -0.5 * H, -H * lay.depth], "upper": [H * lay.along, H * (lay.side - 0.5), 400.0 * has("topography")],
        "spacing": H, "order": lay.orders[1], "absorbing": {"width": 4, "kind": "sponge" if has("sponge") else "cpml"},
        "time_dispersion": "remove" if has("time dispersion removed") else "keep",
        "boundaries": {"x": "periodic" if has("periodic sides") else "absorbing", "z+": "free-surface"},
    }  # fmt: skip
    if lay.blocks:
        grid["blocks"] = [{"below": H * lay.upper, "spacing": H * lay.ratio}]
    if has("topography"):
        middle = 0.5 * H * lay.side
        ground = f"70*exp(-((x-{middle})*(x-{middle})+(y-{middle})*(y-{middle}))/60000)"
        grid["topography"] = {"expression": ground, "thickness": 8 * H, "sources": "elevation", "receivers": "depth"}
    made: dict[str, Any] = {
        "engine": "fd", "end_time": 0.25, "grid": grid, "material": material(features, lay),
        "projection": {"crs": "EPSG:32611", "origin": list(ORIGIN)}, "sources": sources(features, lay, folder),
        "numerics": {"threads": 1, **numerics},
        "output": output(features, lay, folder),
    }  # fmt: skip
    if has("topography") and not made["sources"]:
        del grid["topography"]["sources"]
    if has("attenuation"):
        made["attenuation"] = {"high": 3.0}
    if has("injection"):
        made["injection"] = {"file": str(record)}
    if has("injected plane wave"):
        lower, upper = lay.corners
        wave = {"mode": "S", "direction": [0.3, 0.1, 1.0], "polarisation": [1.0, 0.4, 0.0], "velocity": 0.01, "reference": lower,
                "onset": 0.15, "time_function": {"kind": "gaussian", "duration": 0.02}}  # fmt: skip
        made["injection"] = {"lower": lower, "upper": upper, "plane_wave": wave}
    if has("initial plane wave"):
        k = 6.283185307179586 / (H * lay.side)
        wave = {"mode": "S", "k": [2 * k, 0.0, 0.0], "polarisation": [0, 0, 1], "amplitude": 0.1}
        made["initial"] = {"kind": "plane-wave", "wave": [wave]}
    if has("plasticity"):
        rest = {"s_xx": 1100, "s_yy": 600, "s_zz": 1600, "s_xy": 0, "s_yz": 0, "s_xz": 0}
        parameters: dict[str, Any] = {"constant": {"bulk_friction": 0.5, "plastic_cohesion": 2e4}}
        made["plasticity"] = {"parameters": parameters, "constants": {"relaxation_time": 0.05}}
        if has("topography"):
            made["plasticity"]["overburden"] = {"largest": 1.2, "smallest": 0.8}
        else:
            parameters["expression"] = {name: f"return {value} * z;" for name, value in rest.items()}
    if has("soil"):
        made["soil"] = {
            "slower_than": 2100.0 if has("initial plane wave") else 1900.0,
            "surfaces": 5,
            "parameters": {"constant": {"reference_strain": 1e-6}},
        }
    if has("fault"):
        made["fault"] = friction()
        grid["fault"] = {"lower": [1800.0, 1200.0, -900.0], "upper": [2400.0, 1200.0, 0.0]}
    return made


def material(features: tuple[str, ...], lay: Layout) -> dict[str, Any]:
    """Rock that varies and is faster in the lower block, slow ground on top where there is soil, water above a floor of stairs; one rock
    where waves ask for it."""
    even = {"initial plane wave", "injected plane wave"} & set(features)
    deep = f"if (z < {-H * lay.upper}) {{ return {{0}}; }} " if lay.ratio > 1 and not even else ""
    rock = {"rho": "2700", "vp": "3464", "vs": "2000"}
    if not even:
        rock = {"rho": "2700 + 0.02*x", "vp": "3464 + 0.03*y", "vs": "2000 - 0.03*z"}
    faster = {"rho": "2800", "vp": f"{3464 * lay.ratio}", "vs": f"{2000 * lay.ratio} - 0.03*x"}
    rock = {name: deep.replace("{0}", faster[name]) + f"return {of};" for name, of in rock.items()}
    found = dict(rock)
    if "soil" in features and not even:
        found["vs"] = f"if (z > -320) {{ return 1700; }} {rock['vs']}"
    if "fluids" in features:
        water = {"rho": 1000, "vp": 1500, "vs": 0}
        floor = f"{-H * lay.floor + 60} + 90*sin(0.004*x)*cos(0.005*y)"
        found = {name: f"if (z > {floor}) {{ return {of}; }} {rock[name]}" for name, of in water.items()}
    if "injection" in features:  # what comes in is scattered
        (a, b), z = (
            [0.5 * (lay.corners[0][k] + lay.corners[1][k]) for k in (0, 1)],
            0.5 * (lay.corners[0][2] + lay.corners[1][2]),
        )
        near = " && ".join(f"abs({name} - {at}) < {H * lay.ratio}" for name, at in zip("xyz", (a, b, z), strict=True))
        found["vs"] = f"if ({near}) {{ return {1500 * lay.ratio}; }} " + found["vs"]
    return {"constant": {"Qp": 45.0, "Qs": 30.0} if "attenuation" in features else {}, "expression": found}


def sources(features: tuple[str, ...], lay: Layout, folder: Path) -> list[dict[str, Any]]:
    """Moments below the floor and in the lowest block, a force above, a finite source through both, a plane wave."""
    middle, has = 0.5 * H * lay.side, set(features).__contains__
    pulse = {"kind": "gaussian", "duration": 0.02}
    shallow = H * (lay.floor + 4.7 if lay.floor else 5.3)
    deep = H * (lay.upper + 2.3 * lay.ratio if lay.blocks else shallow / H + 3)
    if lay.boxed:
        deep = H * (lay.box[0] - lay.ratio * (lay.reach + 0.6))
    tensor = {"xy": 3e14, "xx": 1e14, "zz": -1.4e14}
    found: list[dict[str, Any]] = []
    if has("injection") or has("injected plane wave"):
        found = []
    elif has("fault"):
        found = [
            {"kind": "moment-tensor", "location": [2130.0, 820.0, -530.0], "tensor": tensor, "time_function": pulse}
        ]
    else:
        found = [
            {
                "kind": "moment-tensor",
                "location": [middle + 30.0, middle - 40.0, -z],
                "tensor": tensor,
                "time_function": pulse,
            }
            for z in (shallow, deep)
        ]
        force = {"kind": "force", "location": [middle - 130.0, middle + 60.0, -220.0], "force": [1e11, 2e11, -1e11]}
        found.append(force | {"time_function": pulse})
    if has("rising plane wave"):
        z = -H * (lay.upper + 0.5 * lay.ratio * lay.lower)
        found.append({"kind": "plane-wave", "z": z, "velocity": [0.1, 0.2, 0.3], "time_function": pulse})
    if has("finite source"):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder.parent / f"{folder.name}.srf"
        x, y = (1830.0, 1650.0) if has("fault") else (middle - 200.0, middle + 150.0)
        path.write_text(finite(x, y, shallow, deep))
        found.append({"kind": "srf", "file": str(path)})
    return found


def made_here(features: tuple[str, ...]) -> bool:
    """Whether waves begin outside of a box, and not at its faces alone."""
    return not {"injection", "injected plane wave"} & set(features) or "finite source" in features


def finite(x: float, y: float, top: float, bottom: float) -> str:
    """Three subfaults of a vertical plane in Standard Rupture Format, from one depth to another [m]."""
    lon, lat = ORIGIN[0] + x / 91_970.0, ORIGIN[1] + y / 110_920.0
    lines = ["1.0", "POINTS 3"]
    for n in range(3):
        depth = (top + 0.5 * n * (bottom - top)) / 1000
        lines += [
            f"{lon + 0.0004 * n:.6f} {lat:.6f} {depth:.4f} 20 80 2.5e8 {0.02 * n:.3f} 0.02",
            "30 40 4 0 0 0 0",
            "0 600 1200 200",
        ]
    return "\n".join(lines) + "\n"


def output(features: tuple[str, ...], lay: Layout, folder: Path) -> dict[str, Any]:
    """Everything that can be written."""
    middle, has = 0.5 * H * lay.side, set(features).__contains__
    points = [[middle + 60.0, middle - 10.0, 0.0], [middle - 210.0, middle + 40.0, -H * (lay.floor + 3.2)],
              [H * lay.side / 3 + 20.0, middle, -430.0], [middle, middle + 130.0, -H * (lay.upper + lay.ratio * 3.4)]]  # fmt: skip
    if has("fault"):
        points = [[2130.0, 830.0, 0.0], [1900.0, 1500.0, -430.0], [1700.0, 1000.0, -700.0]]
    if lay.boxed:
        lower, upper = lay.corners
        inside = [0.5 * (a + b) for a, b in zip(lower, upper, strict=True)]
        beside = [[*inside[:2], upper[2] + 1.3 * H], [lower[0] - 1.4 * H, *inside[1:]]]
        points = [inside, *beside] if not made_here(features) else [*points, inside, *beside]
    made: dict[str, Any] = {
        "folder": str(folder), "receivers": {"points": points, "interval": 0.011, "rotation": True}, "surface": {"interval": 0.1},
        "intensity": {"periods": [0.3]}, "energies": {"interval": 0.1}, "checkpoint": {"interval": 0.06},
    }  # fmt: skip
    if has("volume snapshots"):
        made["volume"] = {
            "interval": 0.1,
            "every": 2,
            "fields": ["v1", "v3", "s_xx", "s_xz"] + ["eta"] * has("plasticity"),
        }
    if has("box record"):
        lower, upper = lay.corners
        made["box"] = {"lower": lower, "upper": upper}
    if has("soil"):
        made["soil"] = {"points": [[middle + 60.0, middle - 10.0, -120.0], [middle, middle, -60.0]], "interval": 0.02}
    if has("fault"):
        made |= {
            "rupture": {"interval": 0.05, "slip_interval": 0.1},
            "fault_receivers": {"points": [[2100.0, 1200.0, -430.0], [2000.0, 1200.0, 0.0]]},
        }
    return made


def friction() -> dict[str, Any]:
    """A patch that breaks at once."""
    constant = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.02, "cohesion": 0.0, "T_n": -120e6, "T_d": 0.0}
    pushed = "if (abs(x - 2100) < 160) { if (abs(z + 400) < 160) { return 81600000.0; } } return 75000000.0;"
    return {
        "friction": "linear-slip-weakening", "reference_method": "direction", "reference": [0.0, 1.0, 0.0],
        "parameters": {"constant": constant, "expression": {"T_s": pushed}},
    }  # fmt: skip
