"""Initial stress from friction and geometry: `!OptimalStress`, `!AndersonianStress`, `!STRESS_STR_DIP_SLIP_AM`.

x east, y north, z up; angles in degrees; principal stresses s1 >= s2 >= s3 are magnitudes of compression, and the
tensors are returned with compression negative (the deprecated one: divided by s_zz).
Sources: Aochi & Madariaga (2003) eqs. A3-A5, Ulrich et al. (2019), Simpson (1997) for the Andersonian shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import suggest
from faultwave.media.easi.component import Batch, Builder, Component, Values, spread, tag
from faultwave.media.easi.source import Block
from faultwave.media.points import Floats

Vector = tuple[Floats, Floats, Floats]
COMPONENTS = {"b_xx": (0, 0), "b_yy": (1, 1), "b_zz": (2, 2), "b_xy": (0, 1), "b_yz": (1, 2), "b_xz": (0, 2)}


def _favourable(mu_s: Floats) -> Floats:
    """Return the angle [rad] between the most favourable plane and the largest compression."""
    return np.pi / 4 - np.arctan(mu_s) / 2


def _half_difference(p: Mapping[str, Floats], pressure: Floats, ratio: Floats, lean: Floats) -> Floats:
    """Return (s1-s3)/2 that loads the plane to the ratio R; ``lean`` relates the mean of s1 and s3 to ``pressure``."""
    drop = p["mu_s"] - p["mu_d"]
    loading = p["mu_d"] * pressure + ratio * (p["cohesion"] + drop * pressure)
    return loading / (np.sin(2 * _favourable(p["mu_s"])) + p["mu_d"] * lean + ratio * drop * lean)


def _principal(mean: Floats, half: Floats, shape: Floats) -> Vector:
    return mean + half, mean - half + 2 * half * shape, mean - half


def _tensor(stresses: Vector, axes: Sequence[Vector]) -> Values:
    """Return sum_k s_k e_k e_k in Cartesian components."""
    return {
        name: sum((s * e[i] * e[j] for s, e in zip(stresses, axes, strict=True)), start=np.zeros(()))
        for name, (i, j) in COMPONENTS.items()
    }


def _plane(strike: Floats, dip: Floats) -> tuple[Vector, Vector, Vector]:
    """Return the unit vectors of a plane along strike, up dip and along its upward normal; angles in radians."""
    zero = np.zeros_like(strike + dip)
    along = (np.sin(strike), np.cos(strike), zero)
    up = (-np.cos(strike) * np.cos(dip), np.sin(strike) * np.cos(dip), np.sin(dip))
    normal = (np.cos(strike) * np.sin(dip), -np.sin(strike) * np.sin(dip), np.cos(dip))
    return along, up, normal


def _mix(a: Floats, first: Vector, b: Floats, second: Vector) -> Vector:
    return tuple(a * f + b * s for f, s in zip(first, second, strict=True))  # type: ignore[return-value]


def optimal(p: Mapping[str, Floats]) -> Values:
    """Return the stress [Pa] in which the plane (strike, dip) is optimally oriented for slip along ``rake``."""
    angle = _favourable(p["mu_s"])
    pressure = np.abs(p["effectiveConfiningStress"])
    alpha = (2 * p["s2ratio"] - 1) / 3
    half = _half_difference(p, pressure, p["R"], alpha + np.cos(2 * angle))
    along, up, normal = _plane(np.radians(p["strike"]), np.radians(p["dip"]))
    rake = np.radians(p["rake"])
    slip = _mix(np.cos(rake), along, np.sin(rake), up)
    across = _mix(-np.sin(rake), along, np.cos(rake), up)
    axes = (
        _mix(np.cos(angle), slip, -np.sin(angle), normal),
        across,
        _mix(np.sin(angle), slip, np.cos(angle), normal),
    )
    return {n: -v for n, v in _tensor(_principal(pressure - alpha * half, half, p["s2ratio"]), axes).items()}


def andersonian(p: Mapping[str, Floats]) -> Values:
    """Return the stress [Pa] with one principal axis vertical, selected by S_v.

    SH_max is the azimuth of the larger horizontal.
    """
    pressure = np.abs(p["sig_zz"])
    alpha = (2 * p["s2ratio"] - 1) / 3
    lean = alpha + np.cos(2 * _favourable(p["mu_s"]))
    half = _half_difference(p, pressure, 1 / (1 + p["S"]), lean)
    s1, s2, s3 = _principal(pressure - alpha * half, half, p["s2ratio"])
    kind = np.rint(p["S_v"])
    vertical = np.select([kind == 1, kind == 2, kind == 3], [s1, s2, s3], np.nan)
    larger = np.where(kind == 1, s2, s1)
    smaller = np.where(kind == 3, s2, s3)
    azimuth, scale = np.radians(p["SH_max"]), pressure / vertical
    c, s = np.cos(azimuth), np.sin(azimuth)
    zero = np.zeros_like(scale)
    return {
        "b_xx": -(c * c * smaller + s * s * larger) * scale,
        "b_yy": -(s * s * smaller + c * c * larger) * scale,
        "b_zz": -pressure + zero,
        "b_xy": -c * s * (larger - smaller) * scale,
        "b_yz": zero,
        "b_xz": zero,
    }


def strike_or_dip_slip(p: Mapping[str, Floats]) -> Values:
    """Return the stress divided by s_zz (deprecated form): strike slip if DipSlipFaulting is 0, else dip slip."""
    angle = _favourable(p["mu_s"])
    strike, dip = np.radians(p["strike"]), np.radians(p["dip"])
    along, up, normal = _plane(strike, dip)
    half = _half_difference(p, p["s_zz"], p["R"], np.cos(2 * angle))
    axes = (_mix(np.cos(angle), along, np.sin(angle), normal), up, _mix(-np.sin(angle), along, np.cos(angle), normal))
    sliding = _tensor(_principal(p["s_zz"], half, p["s2ratio"]), axes)

    tilt = angle - dip
    half = _half_difference(p, p["s_zz"], p["R"], np.cos(2 * angle) - np.cos(2 * tilt))
    zero = np.zeros_like(strike)
    level, vertical = (np.cos(strike), -np.sin(strike), zero), (zero, zero, zero + 1)
    axes = (
        _mix(np.cos(tilt), level, np.sin(tilt), vertical),
        along,
        _mix(-np.sin(tilt), level, np.cos(tilt), vertical),
    )
    thrusting = _tensor(_principal(p["s_zz"] + half * np.cos(2 * tilt), half, p["s2ratio"]), axes)
    is_sliding = np.abs(p["DipSlipFaulting"]) <= np.finfo(np.float64).eps
    return {name: np.where(is_sliding, sliding[name], thrusting[name]) / p["s_zz"] for name in COMPONENTS}


Rule = Callable[[Mapping[str, Floats]], Values]
_RULES: dict[str, tuple[Rule, tuple[str, ...]]] = {
    "!OptimalStress": (
        optimal,
        ("mu_d", "mu_s", "strike", "dip", "rake", "effectiveConfiningStress", "cohesion", "R", "s2ratio"),
    ),
    "!AndersonianStress": (andersonian, ("mu_d", "mu_s", "SH_max", "sig_zz", "cohesion", "S", "s2ratio", "S_v")),
    "!STRESS_STR_DIP_SLIP_AM": (
        strike_or_dip_slip,
        ("mu_d", "mu_s", "strike", "dip", "s_zz", "cohesion", "R", "DipSlipFaulting", "s2ratio"),
    ),
}


@tag(*_RULES)
@dataclass(frozen=True, kw_only=True)
class Stress(Component):
    """Stress rule; inputs not given in `constants` are taken from the parent by name."""

    keys = frozenset({"constants", "components"})

    rule: Rule
    needs: tuple[str, ...]
    constants: Mapping[str, float]

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        rule, needs = _RULES[block.tag]
        constants: dict[str, float] = {}
        given = block.get("constants")
        if given is not None:
            for name, value in given.mapping("'constants'").items():
                if name not in needs:
                    raise value.error(f"{block.tag} has no input '{name}'", ", ".join(needs), suggest(name, needs))
                constants[name] = value.number(f"'{name}'")
        missing = [name for name in needs if name not in constants and name not in inputs]
        if missing:
            advice = "Define them in 'constants' or compute them in the parent"
            raise block.error(
                f"{block.tag} lacks {', '.join(missing)}", f"available inputs: {', '.join(inputs)}", advice
            )
        if "S_v" in constants and constants["S_v"] not in (1, 2, 3):
            raise block.error(f"'S_v' is {constants['S_v']:g}", "1, 2 or 3: the principal stress that is vertical")
        outputs = tuple(sorted(COMPONENTS))
        children = builder.children(block, outputs)
        return cls(where=block.where, outputs=outputs, children=children, rule=rule, needs=needs, constants=constants)

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        given = {
            name: spread(self.constants[name], len(batch)) if name in self.constants else batch.columns[name]
            for name in self.needs
        }
        with np.errstate(all="ignore"):
            return self.rule(given)
