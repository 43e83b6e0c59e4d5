"""Seismograms without the error of the time step: exact for what leapfrog does, and on grids."""

import numpy as np
import pytest
from scipy.fft import next_fast_len
from scipy.integrate import solve_ivp

from faultwave.base.errors import InputError
from faultwave.fd.operators.time_dispersion import (
    DispersionCorrectedSource,
    Spectrum,
    Stepped,
    extrapolate_burg,
    fast_length,
    late,
    removed,
    residual_motion_warning,
)
from faultwave.green_tensors import green_tensors, seismograms
from faultwave.run import simulate
from tests.messages import raises

from .reciprocity import TENSORS
from .test_grids import case, problems
from .test_sgt import settings

STEP, STEPS = 0.5, 600


def push(t):
    return np.exp(-(((t - 60) / 6) ** 2)) * np.cos(0.9 * t)


class Pushes:
    """Velocities pushed at t = n dt, stresses half a step later; means over a step by Simpson's rule."""

    injections, count = (), 2

    def amplitudes(self, first, steps):
        inside, weights = np.linspace(-0.5, 0.5, 33), np.r_[1.0, [4.0, 2.0] * 15, 4.0, 1.0] / 96.0
        at = first + np.arange(steps)[:, None] + inside
        found = np.zeros((2, steps, 2))
        found[0, :, 0], found[1, :, 1] = push(STEP * at) @ weights, 0.7 * push(STEP * (at + 0.5)) @ weights
        return found


def oscillate(drive, frequency):
    """Velocity and stress (steps + 1, 1, 1, 2) of an oscillator by leapfrog."""
    made, v, s, found = drive.amplitudes(0, STEPS), 0.0, 0.0, [(0.0, 0.0)]
    for n in range(STEPS):
        v += STEP * (-(frequency**2) * s + made[0, n, 0])
        s += STEP * (v - made[1, n, 1])
        found.append((v, s))
    return np.array(found)[:, None, None]


@pytest.mark.parametrize("count", [37, 1000])
def test_spectra_between_the_frequencies_of_a_transform(count):
    rng = np.random.default_rng(0)
    samples, angles = rng.normal(size=count), rng.uniform(0, np.pi, 200)
    exact = np.exp(-1j * np.outer(angles, np.arange(count))) @ samples
    assert np.abs(Spectrum(count, angles)(samples) - exact).max() < 1e-10 * np.sqrt(count)


@pytest.mark.parametrize("frequency", [0.3, 0.9])
def test_an_oscillator_of_fourteen_steps_a_period(frequency):
    """Leapfrog is wrong by as much as the signal after forty periods, and then exact."""
    end = STEP * STEPS
    right = lambda t, y: [-(frequency**2) * y[1] + push(t), y[0] - 0.7 * push(t)]  # noqa: E731
    solved = solve_ivp(right, (0, end), [0, 0], rtol=1e-10, atol=1e-12, dense_output=True, max_step=1.0)
    plain, mapped = (
        oscillate(Pushes(), frequency),
        oscillate(DispersionCorrectedSource(Pushes(), STEP, STEPS), frequency),
    )
    times, found = removed(mapped, [0.5, 1.0], STEP, 0.25)
    early = times < 0.85 * end
    exact = solved.sol(times).T
    errors = [np.linalg.norm(found[early, 0, 0] - exact[early]) / np.linalg.norm(exact[early])]
    at = STEP * np.arange(STEPS + 1)
    errors.append(np.linalg.norm(plain[:, 0, 0, 1] - solved.sol(at)[1]) / np.linalg.norm(solved.sol(at)[1]))
    assert errors[0] < 1e-4 and errors[1] > (0.4 if frequency > 0.5 else 0.01), errors


def test_what_is_resumed_is_what_the_whole_is():
    whole = DispersionCorrectedSource(Pushes(), STEP, STEPS)
    assert np.array_equal(
        np.concatenate([whole.amplitudes(0, 7), whole.amplitudes(7, 20)], 1),
        DispersionCorrectedSource(Pushes(), STEP, STEPS).amplitudes(0, 27),
    )


def test_beyond_the_run_there_are_steps_but_no_sources():
    """As many as are asked for: speed is measured by steps that may go on after the end."""
    found = DispersionCorrectedSource(Pushes(), STEP, 50).amplitudes(70, 40)
    assert found.shape == (2, 40, 2) and not found[:, 20:].any()


def pulse(**changes):
    made = case(end_time=1.2, grid__spacing=75.0, numerics={"precision": "double", "threads": 1}, **changes)
    made["sources"][0]["time_function"] = {"kind": "ricker", "duration": 0.3}
    made["output"]["receivers"] = {"points": [[300, 900, 0], [1200, 500, -900]], "interval": 0.01}
    return made


def seen(**changes):
    return simulated(pulse(**changes))


def simulated(made):
    """Velocities (3, ...) at the receivers."""
    sim = simulate(made)
    sim.run(write=False)
    return np.stack([sim.receivers.quantity(f"v{k}") for k in (1, 2, 3)])


@pytest.mark.parametrize(("q", "left"), [(None, 2e-4), (30, 2e-3)])
def test_a_large_step_gives_what_a_small_one_does(q, left):
    """The same grid, steps of which one is five times the other; with attenuation but for what the rule leaves. What comes at the very
    end of a seismogram is less exact."""
    changes = {"grid__boundaries": {"x": "rigid", "y": "rigid", "z-": "rigid"}}
    if q is not None:
        rock = {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 2 * q, "Qs": q}
        changes |= {"attenuation": {}, "material": {"constant": rock}}
    fine = seen(numerics__cfl=0.18, grid__time_dispersion="remove", **changes)[:, :-12]
    errors = {}
    for way in ("remove", "keep"):
        coarse = seen(numerics__cfl=0.9, grid__time_dispersion=way, **changes)[:, :-12]
        errors[way] = np.linalg.norm(coarse - fine) / np.linalg.norm(fine)
    assert errors["keep"] > 0.02 and errors["remove"] < left, errors


def test_what_steps_do_to_seismograms_is_known_from_them_and_when_sources_act():
    """Of a grid that keeps time dispersion, beside one with a fifth of the step; of half the step from those of the whole one."""
    changes = {"grid__boundaries": {"x": "rigid", "y": "rigid", "z-": "rigid"}}
    fine = seen(numerics__cfl=0.18, grid__time_dispersion="remove", **changes)
    half = seen(numerics__cfl=0.45, grid__time_dispersion="keep", **changes)
    sim = simulate(pulse(numerics__cfl=0.9, grid__time_dispersion="keep", **changes))
    sim.run(write=False)
    coarse = np.stack([sim.receivers.quantity(f"v{k}") for k in (1, 2, 3)])
    known = sim.solver.time_errors()
    for kept, finer in ((coarse, 1.0), (half, 2.0)):
        true = (kept - fine)[:, :-12]
        found = np.moveaxis(known(np.moveaxis(kept, 1, 0), 0.01, finer), 0, 1)[:, :-12]
        assert np.linalg.norm(found - true) < 0.35 * np.linalg.norm(true)
    freed = simulate(pulse(numerics__cfl=0.9, grid__time_dispersion="remove", **changes))
    assert freed.solver.time_errors() is None


def test_waves_are_late_from_the_time_that_sources_act_about():
    """A pulse of a known spectrum in W, and the same where leapfrog takes W = 2/dt sin(w dt/2) for w, from the time t0 on."""
    interval, step, origin = 0.05, 0.2, 7.0
    time, w = interval * np.arange(1200)[:, None], np.linspace(0.0, 6.0, 4001)
    wanted = 2.0 / step * np.sin(0.5 * step * w)

    def pulse(at, turned):
        return (np.exp(-(((at - 2.0) / 0.3) ** 2)) * np.cos(w * (time - origin) - turned)).sum(1)

    freed, kept = pulse(w, 30.0 * w - origin * w), pulse(wanted, 30.0 * wanted - origin * wanted)
    found = late(Stepped(step, origin), np.stack([kept, 0.0 * kept], 1), interval)
    assert np.linalg.norm(kept - freed) > 0.2 * np.linalg.norm(freed)
    assert np.linalg.norm(kept - found[:, 0] - freed) < 1e-3 * np.linalg.norm(freed)
    assert not found[:, 1].any()


def test_series_go_on_as_they_end():
    n = np.arange(500)
    ringing = np.exp(-n / 300) * np.cos(0.4 * n) + 0.3 * np.sin(0.1 * n)
    assert np.abs(extrapolate_burg(ringing[:400], 40) - ringing[400:440]).max() < 1e-3
    assert not extrapolate_burg(np.zeros(50), 20).any() and np.allclose(extrapolate_burg(np.ones(50), 20), 1.0)


def test_strain_green_tensors_are_freed_too():
    made = settings(
        {},
        0.08,
        numerics={"precision": "double", "threads": 1},
        grid__absorbing={"width": 5},
        grid__time_dispersion="remove",
    )
    made["end_time"] = 1.2
    forward = simulate(made)
    forward.run(write=False)
    green = green_tensors(made, duration=0.08)
    found, expected = (
        seismograms(green, TENSORS)[0],
        np.stack([forward.receivers.quantity(f"v{k}")[:, 0] for k in (1, 2, 3)]),
    )
    assert found.shape == expected.shape and np.abs(found - expected).max() < 2e-3 * np.abs(expected).max()


def test_what_cannot_be_had_is_told():
    wave = {"kind": "plane-wave", "wave": [{"mode": "P", "k": [0.01, 0, 0], "amplitude": 1.0}]}
    assert "not from initial motion" in problems(grid__time_dispersion="remove", initial=wave)
    with raises(InputError):
        simulate(
            case(
                grid__order=8, grid__topography={"expression": "return 10.0;", "sources": "depth", "receivers": "depth"}
            )
        )


def test_sources_that_still_act_at_the_end_of_a_run():
    """Theirs is no sudden end, whose high frequencies would be everywhere in the run: no error before the first arrival, either."""
    found = {}
    for cfl, way in ((0.18, "keep"), (0.9, "remove")):
        made = pulse(grid__boundaries={"x": "rigid", "y": "rigid", "z-": "rigid"}, grid__time_dispersion=way)
        made["numerics"]["cfl"] = cfl
        made["sources"][0]["time_function"] = {
            "kind": "gaussian",
            "duration": 0.25,
        }  # strongest at 1.5 s, the run ends at 1.2 s
        found[way] = simulated(made)
    errors = np.abs(found["remove"] - found["keep"])[:, :-12] / np.abs(found["keep"]).max()
    assert errors.max() < 1e-3, errors.max()


def test_sources_that_no_memory_holds_are_told_before_the_run(monkeypatch):
    """Removal keeps all amplitudes of the run."""
    monkeypatch.setattr("faultwave.fd.operators.resources.machine_memory", lambda: 1e7)
    many = [
        {
            "kind": "force",
            "location": [700 + 0.1 * n, 730, -620],
            "force": [1e9, 0, 0],
            "time_function": {"kind": "brune"},
        }
        for n in range(200)
    ]
    changes = {"sources": many, "end_time": 100.0, "output": {}}
    assert "200 sources in" in problems(grid__time_dispersion="remove", **changes)
    assert not problems(grid__time_dispersion="keep", **changes)


def test_motion_that_goes_on_at_the_end_is_told():
    """After the run, as only then it is known; not of receivers that are at rest by then."""
    source = {"kind": "force", "location": [850.0, 750.0, -900.0], "force": [1e10, 0.0, 2e10],
              "time_function": {"kind": "gaussian", "duration": 0.12}}  # fmt: skip
    output = {"receivers": {"points": [[700.0, 900.0, -300.0], [850.0, 760.0, -800.0]], "interval": 0.01}}
    made = case(sources=[source], output=output, end_time=0.6)
    made["grid"]["time_dispersion"] = "remove"
    told = []
    for kept in ("remove", "keep"):
        made["grid"]["time_dispersion"] = kept
        sim = simulate(made)
        sim.run(write=False)
        list(sim.results())
        told.append([str(r) for part in sim.solver.parts.values() for r in part.remarks()])
    assert len(told[0]) == 1 and "still move at the end, number 1 with" in told[0][0] and not told[1]
    assert residual_motion_warning(np.exp(-np.linspace(0, 9, 200))[:, None, None] * np.ones(3), 0.01) == ""


@pytest.mark.parametrize("real", [False, True])
def test_lengths_of_transforms_are_those_of_scipy(real):
    for least in (*range(1, 400), 1009, 4097, 9973, 65537, 100003):
        assert fast_length(least, real) == next_fast_len(least, real=real)
