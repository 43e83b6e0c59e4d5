"""The friction solve of fault faces as one kernel, for any friction law (de la Puente et al. 2009, Pelties et al. 2012;
docs/theory/friction.md, "Friction solve").

Per face: derivative traces [T, v] of both sides -> locked traction Theta and velocity jump in the fault frame (n, s1,
s2) as modes; per Gauss point in time: values at the face's points, friction, slip; at the end the mean traction goes
back to modes and each side receives 2 T* - w, the wave that makes its star state carry exactly T*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.dg.basis import triangle_size
from faultwave.dg.forms import face_rows
from faultwave.dg.kernels import series_sum
from faultwave.kernels import math as m
from faultwave.kernels.language import Kernel
from faultwave.physics.friction.law import COMMON_STATE, FrictionLaw, Load, Solved
from faultwave.physics.waves.law import dot

RUPTURE_RATE = 1e-3  # m/s, above which a point counts as ruptured

RECORD = ("ruptured", "weakened", "traction1", "traction2", "traction_n", "strength", "work")
"""What every fault point remembers beside the friction law's own state: rupture and dynamic stress times, the last
traction change and strength, frictional work [J/m^2]."""

MOVED = ("work_moved", "moved1", "moved2", "moved")
"""The same from the traces of both sides instead of the friction solve: work, slip along the tangents, path length of
the jump."""


def recorded(moved: bool) -> tuple[str, ...]:
    """Names of the columns of ``record``."""
    return RECORD + MOVED if moved else RECORD


def rupture(
    law: FrictionLaw, constants: dict[str, float], order: int, points: int, times: int, episodes: int, moved: bool = False
) -> Kernel:  # fmt: skip
    """Kernel over fault faces; see the module text. ``times`` sub-steps a step, ``episodes`` of nucleation, ``moved``:
    also remember what the velocity jump says."""
    k = Kernel("rupture", fixed=True)
    width, columns = 6 if moved else 3, recorded(moved)
    b2, rows = triangle_size(order - 1), face_rows(order)
    slots = k.index("slots", 4)  # traces +, -; waves +, -, where each side finds the reply
    traces = k.store("traces", sum(rows), 6)
    waves = k.store("waves", b2, 3, "inout")
    frame = k.batch("frame", 1, 9)  # n (plus to minus), s1, s2
    z = k.batch("impedance", 1, 4)  # Zp+, Zs+, Zp-, Zs-
    names, states = law.kernel_parameters, (*COMMON_STATE, *law.state)
    parameter = k.batch("parameter", points, max(1, len(names)))
    state = k.batch("state", points, len(states), "inout")
    stress = k.batch("stress", points, 3, "inout")
    nucleation = k.batch("nucleation", points, 3 * max(1, episodes))
    record = k.batch("record", points, len(columns), "inout")
    group = k.index("group")  # of the point rule
    at_points, back = k.matrix("phi", points, b2, group), k.matrix("back", b2, points, group)
    project = k.matrix("project", points, points)
    taylor, weight = k.scalar("taylor", times, order), k.scalar("weight", times)
    clock = k.scalar(
        "clock", times, 4, True
    )  # sub-step, its end, time to mark a rupture with, share of the sub-step to add
    ramp = k.scalar("ramp", times, max(1, episodes), True)
    damping = k.scalar("damping", changing=True)

    plus, minus = k.temp("plus", sum(rows), 6), k.temp("minus", sum(rows), 6)
    locked = k.temp("locked", sum(rows), width)  # Theta (n, 1, 2), velocity jump (n, 1, 2)
    now, here = k.temp("now", b2, width), k.temp("here", points, width)
    smooth = k.temp("smooth", points, 1)
    solved = k.temp("solved", points, 5 + len(law.state))  # rates along s1, s2, rate, strength, friction, own state
    mean, modes = k.temp("mean", points, 3), k.temp("modes", b2, 3)
    k.gather(plus, traces, slots, 0)
    k.gather(minus, traces, slots, 1)
    k.pointwise(lambda *a: [_locked(*a)[:width]], [plus, minus, frame, z, damping], [locked])
    k.pointwise(lambda x: [[0.0 * x[0]] * 3], [record.view(0, points, 0, 1)], [mean])

    def parts(p: Any, s: Any) -> tuple[dict, dict]:
        return dict(zip(names, p, strict=False)), dict(zip(states, s, strict=True))

    def load(h: Any, s0: Any, z: Any, t: Any) -> Load:
        eta = z[1] * z[3] / (z[1] + z[3])
        return Load(tau1=s0[1] + h[1], tau2=s0[2] + h[2], sigma=s0[0] + h[0], eta=eta, dt=t[0], t=t[1])

    def nucleate(s0: Any, extra: Any, g: Any) -> Any:
        return [[s0[c] + dot(extra[c::3], g) for c in range(3)]]

    def solve(p: Any, s: Any, h: Any, s0: Any, z: Any, t: Any) -> Any:
        x = law.solve(*_inputs(p, s), load(h, s0, z, t))
        own = [x.state.get(name, s[states.index(name)]) for name in law.state]
        return [[x.slip_rate1, x.slip_rate2, x.slip_rate, x.strength, x.friction, *own]]

    def _inputs(p: Any, s: Any) -> tuple[Any, Any, Any]:
        p, s = parts(p, s)
        return p, constants, s

    def advance(
        p: Any, s: Any, h: Any, s0: Any, z: Any, t: Any, w: Any, v: Any, smooth: Any, r: Any, mean: Any
    ) -> Any:  # fmt: skip
        """State and record at the end of the sub-step, and the traction's share of the mean."""
        x = Solved(v[0], v[1], v[2], v[3], v[4], dict(zip(law.state, v[5:], strict=True)))
        p, c, s = _inputs(p, s)
        new = s | law.advance(p, c, s, x, smooth[0], load(h, s0, z, t))
        eta = z[1] * z[3] / (z[1] + z[3])
        traction = [h[0], h[1] - eta * v[0], h[2] - eta * v[1]]
        notes = _note(dict(zip(columns, r, strict=True)), s["slip_rate"], x, traction, t, w)
        weak = (
            law.dynamic_stress_reached(p, c, new, x.friction) & (notes["weakened"] <= 0.0) & (notes["ruptured"] > 0.0)
        )
        notes["weakened"] = m.where(weak, t[2], notes["weakened"])
        if moved:
            averaged = [
                h[0] - z[0] * z[2] / (z[0] + z[2]) * h[3],
                h[1] - eta * h[4],
                h[2] - eta * h[5],
            ]  # eta (T+/Z+ + T-/Z-)
            notes |= _note_jump(notes, h[3:6], averaged, w)
        return [
            [new[name] for name in states],
            [notes[name] for name in columns],
            [x + w[0] * y for x, y in zip(mean, traction, strict=True)],
        ]

    def substep(o: Any) -> None:
        parts = [locked.view(sum(rows[:j]), rows[j]) for j in range(order)]
        series_sum(k, now, parts, lambda j: taylor.view(o, 1, j, 1))
        k.contract(here, at_points, now)
        t, w = clock.view(o, 1), weight.view(o, 1)
        if episodes:
            k.pointwise(nucleate, [stress, nucleation, ramp.view(o, 1)], [stress])
        k.pointwise(solve, [parameter, state, here, stress, z, t], [solved])
        rate = solved.view(0, points, 2, 1)
        if law.project:
            k.contract(smooth, project, rate)
        amount = smooth if law.project else rate
        k.pointwise(
            advance, [parameter, state, here, stress, z, t, w, solved, amount, record, mean], [state, record, mean]
        )

    k.repeat("sub", times, substep)
    k.contract(modes, back, mean)
    wave, reply = k.temp("wave", b2, 3), k.temp("reply", b2, 3)
    for side, sign in ((0, 2.0), (1, -2.0)):
        k.gather(wave, waves, slots, 2 + side)

        def answer(t: Any, w: Any, f: Any, sign: float = sign) -> Any:
            return [[sign * (t[0] * f[x] + t[1] * f[3 + x] + t[2] * f[6 + x]) - w[x] for x in range(3)]]

        k.pointwise(answer, [modes, wave, frame], [reply])
        k.scatter(reply, waves, slots, 2 + side)
    return k


FAULT_ENERGIES = ("total_frictional_work", "static_frictional_work", "seismic_moment", "potency")


def fault_energies(
    columns: Sequence[str], states: Sequence[str], weights: np.ndarray, plain_mean: bool, from_velocity: bool
) -> Kernel:
    """``FAULT_ENERGIES`` of every face from what its points, with ``weights`` (p,) that sum to a half, remember;
    ``scale``: area, rigidity times area. ``plain_mean``: of the slip over points alike; ``from_velocity``: by the jump's motion."""
    k, points = Kernel("fault_energies", fixed=True), len(weights)
    record, state = k.batch("record", points, len(columns)), k.batch("state", points, len(states))
    scale, out = k.batch("scale", 1, 2), k.batch("energies", 1, 4, "out")
    each, mean = k.temp("each", points, 3), k.temp("mean", 1, 3)

    def parts(r: Any, s: Any) -> Any:
        old = dict(zip(columns, r, strict=True)) | dict(zip(states, s, strict=True))
        names = (
            ("work_moved", "moved1", "moved2", "moved")
            if from_velocity
            else ("work", "slip1", "slip2", "accumulated_slip")
        )
        work, one, two, path = (old[name] for name in names)
        return [[work, old["traction1"] * one + old["traction2"] * two, path]]

    k.pointwise(parts, [record, state], [each])
    k.contract(mean, 2.0 * weights[None], each, [(0, 0), (1, 1)])
    k.contract(mean, np.full((1, points), 1.0 / points) if plain_mean else 2.0 * weights[None], each, [(2, 2)])
    k.pointwise(lambda m, a: [[a[0] * m[0], -0.5 * a[0] * m[1], a[1] * m[2], a[0] * m[2]]], [mean, scale], [out])
    return k


def _note(old: dict[str, Any], last: Any, x: Solved, traction: Any, t: Any, w: Any) -> dict[str, Any]:
    """Rupture time (interpolated where the clock says so), tractions, strength and frictional work."""
    starts = (x.slip_rate > RUPTURE_RATE) & (old["ruptured"] <= 0.0)
    share = (RUPTURE_RATE - last) / m.maximum(x.slip_rate - last, 1e-300)
    moment = t[2] + t[3] * t[0] * m.minimum(m.maximum(share, 0.0), 1.0)
    return old | {
        "ruptured": m.where(starts, moment, old["ruptured"]),
        "traction_n": traction[0],
        "traction1": traction[1],
        "traction2": traction[2],
        "strength": x.strength,
        "work": old["work"] - w[0] * (traction[1] * x.slip_rate1 + traction[2] * x.slip_rate2),
    }


def _note_jump(old: dict[str, Any], jump: Any, traction: Any, w: Any) -> dict[str, Any]:
    """Work, slip and its path length by the jump of the velocity traces."""
    return {
        "work_moved": old["work_moved"] - w[0] * dot(traction, jump),
        "moved1": old["moved1"] + w[0] * jump[1],
        "moved2": old["moved2"] + w[0] * jump[2],
        "moved": old["moved"] + w[0] * m.sqrt(dot(jump, jump)),
    }


def _locked(plus: Any, minus: Any, f: Any, z: Any, damping: Any) -> Any:
    """Theta and velocity jump v- - v+ from [T, v] in each side's own frame."""
    theta, jump = [], []
    for c in range(3):
        e = f[3 * c : 3 * c + 3]
        za, zb = (z[0], z[2]) if c == 0 else (z[1], z[3])
        va, vb = dot(plus[3:], e), dot(minus[3:], e)
        wa, wb = dot(plus[:3], e) - za * va, zb * vb - dot(minus[:3], e)
        value = (zb * wa + za * wb) / (za + zb)
        theta.append(damping[0] * value if c == 0 else value)
        jump.append(vb - va)
    return [*theta, *jump]
