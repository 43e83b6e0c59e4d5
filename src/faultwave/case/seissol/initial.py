"""Initial state and gravity of a SeisSol deck, and its error norms against exact solutions."""

from __future__ import annotations

from math import pi

from faultwave.base.types import Settings
from faultwave.case.seissol.reader import Reader
from faultwave.case.seissol.syntax import real

BLOCK = "inicondition"

_SUPERPOSED = ([pi, 0.0, 0.0], [0.0, pi, 0.0], [0.0, 0.0, pi])
_SCHOLTE = 0.98901344820674908 * 0.35944997730200889 * (2 * pi) ** 2
"""Vertical velocity [m/s] of SeisSol's Scholte wave at the interface: gf a W^2."""

_OCEAN_GRAVITY = 9.81e-3


def read_gravity(r: Reader) -> None:
    """Read gravity if the deck gives it, and warn if an ocean mode relies on SeisSol's built-in value."""
    block, key = "equations", "GravitationalAcceleration"
    if r.given(block, key):
        r.put(("gravity",), r.get(block, key), block, key)
    elif r.get(BLOCK, "cICType", "").lower().startswith("ocean_"):
        r.warn(
            BLOCK,
            "cICType",
            f"SeisSol's modes are those of a gravity of {_OCEAN_GRAVITY} m/s^2, and this deck has 9.81",
        )


def read_initial(r: Reader) -> None:
    """Read the initial state; exact solutions are also compared with at the end, as in SeisSol."""
    kind = r.get(BLOCK, "cICType", "zero").lower()
    made = {
        "zero": _nothing, "planarwave": _plane_waves, "superimposedplanarwave": _superposed, "travelling": _travelling,
        "scholte": _scholte, "snell": _snell, "ocean_0": _ocean, "ocean_1": _ocean, "ocean_2": _ocean, "easi": _easi,
        "pressureinjection": _pressure_injection,
    }  # fmt: skip
    if kind not in made:
        r.report_unsupported(BLOCK, "cICType", "this initial condition", ", ".join(made))
        return
    made[kind](r)
    if kind == "zero":
        return
    if r.get(BLOCK, "avoidic"):
        r.put(("initial", "boundaries_only"), True, BLOCK, "avoidic")
    if kind not in ("travelling", "pressureinjection"):
        r.put(("output", "error_norms"), True, BLOCK, "cICType")


def _nothing(r: Reader) -> None:
    """Leave the medium at rest."""


def _put(r: Reader, kind: str, **settings: object) -> None:
    r.put(("initial", "kind"), kind, BLOCK, "cICType")
    for name, value in settings.items():
        r.put(("initial", name), value, BLOCK, "cICType")


def _pair(k: list[float], across: list[float]) -> list[Settings]:
    """Return a P wave along ``k`` and an S wave against it.

    SeisSol's eigensolver determines their amplitudes and the polarisation of S.
    """
    back = [-x for x in k]
    return [{"mode": "P", "k": k}, {"mode": "S", "k": back, "polarisation": across, "solid_only": True}]


def _plane_waves(r: Reader) -> None:
    _put(r, "plane-wave", wave=_pair([pi, pi, pi], [1.0, -1.0, 0.0]))


def _superposed(r: Reader) -> None:
    waves = [wave for i, k in enumerate(_SUPERPOSED) for wave in _pair(k, [float(j == (i + 1) % 3) for j in range(3)])]
    _put(r, "plane-wave", wave=waves)


def _travelling(r: Reader) -> None:
    """Read one period of each plane-wave mode with a nonzero amplitude.

    The order is -P -S2 -S1 N N N S1 S2 P, by ascending frequency.
    """
    lacking = [key for key in ("origin", "kVec", "ampField") if not r.given(BLOCK, key)]
    for key in lacking:
        r.missing(BLOCK, key, "of the travelling wave")
    if lacking:
        return
    origin, k, waves = r.get(BLOCK, "origin"), r.get(BLOCK, "kVec"), []
    sideways = (_across(k), _cross(k, _across(k)))
    try:
        amplitudes = [real(x) for x in r.get(BLOCK, "ampField").replace(",", " ").split()]
    except ValueError:
        r.wrong(BLOCK, "ampField", "nine numbers")
        return
    for i, amplitude in enumerate(amplitudes):
        if amplitude == 0.0:
            continue
        if len(amplitudes) != 9 or i in (3, 4, 5):
            r.wrong(BLOCK, "ampField", "nine amplitudes, with zeros at positions 4 to 6 (modes that do not propagate)")
            return
        forward = i > 5
        wave = {
            "mode": "P" if i in (0, 8) else "S",
            "k": k if forward else [-x for x in k],
            "amplitude": amplitude,
            "origin": origin,
        }
        # SeisSol's argument w t - k.(x - origin) + pi/2, from -pi/2 to 3 pi/2, with w < 0 for waves in the opposite direction
        wave |= {
            "phase": -0.5 * pi if forward else 0.5 * pi,
            "window": [-1.5 * pi, 0.5 * pi] if forward else [-0.5 * pi, 1.5 * pi],
        }
        if wave["mode"] == "S":
            wave["polarisation"] = sideways[0 if i in (2, 6) else 1]
        waves.append(wave)
    if not waves:
        r.wrong(BLOCK, "ampField", "an amplitude that is not zero")
        return
    _put(r, "plane-wave", wave=waves)


def _across(k: list[float]) -> list[float]:
    """Return a direction orthogonal to ``k``."""
    axis = min(range(3), key=lambda i: abs(k[i]))
    return _cross(k, [float(i == axis) for i in range(3)])


def _cross(a: list[float], b: list[float]) -> list[float]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _scholte(r: Reader) -> None:
    _put(r, "scholte", frequency=1.0, amplitude=_SCHOLTE)


def _snell(r: Reader) -> None:
    _put(r, "snell", frequency=1.0, angle=0.2 * 180.0 / pi, amplitude=2.0 * pi, phase=-0.5 * pi)


def _ocean(r: Reader) -> None:
    """Read an ocean mode of water of depth 1 and width 10 (km in existing decks)."""
    _put(r, "ocean", mode=int(r.get(BLOCK, "cICType")[-1]), wavenumbers=[pi / 10.0, pi / 10.0], depth=1.0)


def _pressure_injection(r: Reader) -> None:
    lacking = [key for key in ("origin", "magnitude", "width") if not r.given(BLOCK, key)]
    for key in lacking:
        r.missing(BLOCK, key, "of the injected fluid")
    if not lacking:
        r.put(("initial", "kind"), "pressure-injection", BLOCK, "cICType")
        for name, key in (("center", "origin"), ("pressure", "magnitude"), ("width", "width")):
            r.copy(("initial", name), BLOCK, key)


def _easi(r: Reader) -> None:
    if not r.given(BLOCK, "filename"):
        r.missing(BLOCK, "filename", "an easi file with the initial quantities")
        return
    r.put(("initial", "kind"), "easi", BLOCK, "cICType")
    r.put(("initial", "field", "easi"), r.get(BLOCK, "filename"), BLOCK, "filename")
