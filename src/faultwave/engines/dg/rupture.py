"""The friction solve of fault faces as one kernel, for any friction law (NUMERICS 5.2; de la Puente et al. 2009, Pelties et al. 2012).

Per face: derivative traces [T, v] of both sides -> locked traction Theta and velocity jump in the fault frame (n, s1, s2) as modes;
per Gauss point in time: values at the face's points, friction, slip; at the end the mean traction goes back to modes and each
side receives 2 T* - w, the wave that makes its star state carry exactly T*.
"""

from __future__ import annotations

from typing import Any

from faultwave.engines.dg.basis import triangle_size
from faultwave.engines.dg.kernels import face_rows
from faultwave.faults.law import COMMON_STATE, FrictionLaw, Load, Solved
from faultwave.kernels import math as m
from faultwave.kernels.language import Kernel
from faultwave.laws.law import dot

RUPTURE_RATE = 1e-3  # m/s, above which a point counts as ruptured (FORMATS 4.2)

RECORD = (
    "ruptured", "weakened", "traction1", "traction2", "traction_n", "jump1", "jump2", "normal_velocity", "strength", "work",
    "work_moved", "moved_n", "moved1", "moved2", "moved",
)  # fmt: skip
"""What every fault point remembers beside the friction law's own state: rupture and dynamic stress times, the last traction change,
velocity jump, common normal velocity and strength, frictional work [J/m^2], and from the traces of both sides
instead of the friction solve ("moved"): work, slip vector and path length."""


def rupture(law: FrictionLaw, constants: dict[str, float], order: int, points: int, times: int, episodes: int) -> Kernel:
    """Kernel over fault faces; see the module text. ``times`` sub-steps a step, ``episodes`` of nucleation."""
    k = Kernel("rupture", fixed=True)
    b2, rows = triangle_size(order - 1), face_rows(order)
    slots = k.index("slots", 6)  # traces +, -; own waves +, -; incoming waves +, -
    traces = k.store("traces", sum(rows), 6)
    waves = k.store("waves", b2, 3, "inout")
    frame = k.batch("frame", 1, 9)  # n (plus to minus), s1, s2
    z = k.batch("impedance", 1, 4)  # Zp+, Zs+, Zp-, Zs-
    names, states = law.kernel_parameters, (*COMMON_STATE, *law.state)
    parameter = k.batch("parameter", points, max(1, len(names)))
    state = k.batch("state", points, len(states), "inout")
    stress = k.batch("stress", points, 3, "inout")
    nucleation = k.batch("nucleation", points, 3 * max(1, episodes))
    record = k.batch("record", points, len(RECORD), "inout")
    at_points, back, project = k.matrix("phi", points, b2), k.matrix("back", b2, points), k.matrix("project", points, points)
    taylor, weight = k.scalar("taylor", times, order), k.scalar("weight", times)
    clock = k.scalar("clock", times, 4)  # sub-step, its end, time to mark a rupture with, share of the sub-step to add
    ramp = k.scalar("ramp", times, max(1, episodes))
    damping = k.scalar("damping")

    plus, minus = k.temp("plus", sum(rows), 6), k.temp("minus", sum(rows), 6)
    locked = k.temp("locked", sum(rows), 7)  # Theta (n, 1, 2), velocity jump (n, 1, 2), common normal velocity
    now, here = k.temp("now", b2, 7), k.temp("here", points, 7)
    smooth = k.temp("smooth", points, 1)
    solved = k.temp("solved", points, 5 + len(law.state))  # rates along s1, s2, rate, strength, friction, own state
    previous = k.temp("previous", points, 1)
    mean, modes = k.temp("mean", points, 3), k.temp("modes", b2, 3)
    k.gather(plus, traces, slots, 0)
    k.gather(minus, traces, slots, 1)
    k.pointwise(_locked, [plus, minus, frame, z, damping], [locked])
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

    def advance(p: Any, s: Any, h: Any, s0: Any, z: Any, t: Any, v: Any, smooth: Any) -> Any:
        x = Solved(*v[:5], state=dict(zip(law.state, v[5:], strict=True)))
        old = _inputs(p, s)
        new = old[2] | law.advance(*old, x, smooth[0], load(h, s0, z, t))
        return [[new[name] for name in states]]

    def note(p: Any, s: Any, last: Any, h: Any, z: Any, t: Any, w: Any, v: Any, r: Any, mean: Any) -> Any:
        p, c, s = _inputs(p, s)
        old = dict(zip(RECORD, r, strict=True))
        eta = z[1] * z[3] / (z[1] + z[3])
        amount = v[2]
        traction = [h[0], h[1] - eta * v[0], h[2] - eta * v[1]]
        averaged = [h[0] - z[0] * z[2] / (z[0] + z[2]) * h[3], h[1] - eta * h[4], h[2] - eta * h[5]]  # eta (T+/Z+ + T-/Z-)
        starts = (amount > RUPTURE_RATE) & (old["ruptured"] <= 0.0)
        share = (RUPTURE_RATE - last[0]) / m.maximum(amount - last[0], 1e-300)
        moment = t[2] + t[3] * t[0] * m.minimum(m.maximum(share, 0.0), 1.0)
        ruptured = m.where(starts, moment, old["ruptured"])
        weak = law.dynamic_stress_reached(p, c, s, v[4]) & (old["weakened"] <= 0.0) & (ruptured > 0.0)
        new = {
            "ruptured": ruptured, "weakened": m.where(weak, t[2], old["weakened"]),
            "traction_n": traction[0], "traction1": traction[1], "traction2": traction[2],
            "jump1": h[4], "jump2": h[5], "normal_velocity": h[6], "strength": v[3],
            "work": old["work"] - w[0] * (traction[1] * v[0] + traction[2] * v[1]),
            "work_moved": old["work_moved"] - w[0] * dot(averaged, h[3:6]),
            "moved_n": old["moved_n"] + w[0] * h[3],
            "moved1": old["moved1"] + w[0] * h[4],
            "moved2": old["moved2"] + w[0] * h[5],
            "moved": old["moved"] + w[0] * m.sqrt(h[3] * h[3] + h[4] * h[4] + h[5] * h[5]),
        }  # fmt: skip
        return [[new[name] for name in RECORD], [x + w[0] * y for x, y in zip(mean, traction, strict=True)]]

    def substep(o: Any) -> None:
        at = [locked.view(sum(rows[:j]), rows[j]) for j in range(order)]
        for j in range(order):
            view, c = now.view(0, rows[j]), taylor.view(o, 1, j, 1)
            if j == 0:
                k.pointwise(lambda x, c: [[c[0] * y for y in x]], [at[0], c], [view])
            else:
                k.pointwise(lambda a, x, c: [[y + c[0] * d for y, d in zip(a, x, strict=True)]], [view, at[j], c], [view])
        k.contract(here, at_points, now)
        t, w = clock.view(o, 1), weight.view(o, 1)
        if episodes:
            k.pointwise(nucleate, [stress, nucleation, ramp.view(o, 1)], [stress])
        k.pointwise(solve, [parameter, state, here, stress, z, t], [solved])
        rate = solved.view(0, points, 2, 1)
        if law.project:
            k.contract(smooth, project, rate)
        else:
            k.pointwise(lambda x: [list(x)], [rate], [smooth])
        before = state.view(0, points, states.index("slip_rate"), 1)
        k.pointwise(lambda x: [list(x)], [before], [previous])
        k.pointwise(advance, [parameter, state, here, stress, z, t, solved, smooth], [state])
        k.pointwise(note, [parameter, state, previous, here, z, t, w, solved, record, mean], [record, mean])

    k.repeat("o", times, substep)
    k.contract(modes, back, mean)
    wave, reply = k.temp("wave", b2, 3), k.temp("reply", b2, 3)
    for side, sign in ((0, 2.0), (1, -2.0)):
        k.gather(wave, waves, slots, 2 + side)

        def answer(t: Any, w: Any, f: Any, sign: float = sign) -> Any:
            return [[sign * (t[0] * f[x] + t[1] * f[3 + x] + t[2] * f[6 + x]) - w[x] for x in range(3)]]

        k.pointwise(answer, [modes, wave, frame], [reply])
        k.scatter(reply, waves, slots, 4 + side)
    return k


def _locked(plus: Any, minus: Any, f: Any, z: Any, damping: Any) -> Any:
    """Theta, velocity jump v- - v+ and star normal velocity from [T, v] in each side's own frame (NUMERICS 5.2)."""
    theta, jump, common = [], [], None
    for c in range(3):
        e = f[3 * c : 3 * c + 3]
        za, zb = (z[0], z[2]) if c == 0 else (z[1], z[3])
        va, vb = dot(plus[3:], e), dot(minus[3:], e)
        wa, wb = dot(plus[:3], e) - za * va, zb * vb - dot(minus[:3], e)
        total = za + zb
        value = (zb * wa + za * wb) / total
        theta.append(damping[0] * value if c == 0 else value)
        jump.append(vb - va)
        if c == 0:
            common = (wb - wa) / total
    return [[*theta, *jump, common]]
