"""Warnings about computable but implausible cases: numbers that hide a mistake, runs that record nothing or are slow.

These are pure functions of arrays. The ranges are in ``case.ranges``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import pi

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.formulas import magnitude
from faultwave.base.processes import host
from faultwave.case import ranges
from faultwave.case.ranges import SMALLEST_PLACE, Range
from faultwave.case.settings.model import Case

SHARE_OUT_OF_RANGE = 0.5
"""Share of points that must be out of range, for quantities that may be so on purpose at single points."""
NEGLIGIBLE_SHARE = 0.05
"""Fraction of the resolution below which distances and depths have no effect in a run."""
FULL_SPACE = (
    "Name it: boundaries: { z+: free-surface } of mesh.generate, or tag the faces of the ground 1 (mesh.boundaries, "
    "free-surface: ...). Where a full space is meant, say z+: absorbing, or mesh.boundaries: { free-surface: [] }."
)
ABOVE = "z points up: write -{0:g} for a depth of {0:g} m."


@dataclass(frozen=True)
class Scene:
    """Extract of a planned run by which its numbers are judged.

    Attributes
    ----------
    lower, upper : ndarray, shape (3,)
        Corners of the domain without absorbing layers [m].
    resolution : float
        Spacing of a grid, or median edge of cells [m].
    fastest : float
        Largest wave speed [m/s].
    sources : ndarray, shape (n, 3)
        Positions of sources [m].
    moment : ndarray, shape (n,)
        Scalar moments [N m], zero for forces.
    onset : ndarray, shape (n,)
        Onset times [s].
    receivers : ndarray, shape (m, 3)
        Positions of receivers [m].
    closed : bool
        True if no side lets waves out.
    full_space : bool
        True if the uppermost side lets waves out although the case does not request it.
    """

    lower: np.ndarray
    upper: np.ndarray
    resolution: float
    fastest: float
    sources: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    moment: np.ndarray = field(default_factory=lambda: np.zeros(0))
    onset: np.ndarray = field(default_factory=lambda: np.zeros(0))
    receivers: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    closed: bool = False
    full_space: bool = False

    @property
    def size(self) -> float:
        """Longest side [m]."""
        return float((self.upper - self.lower).max())


def warn_rock_properties(values: Mapping[str, np.ndarray], size: float, problems: Problems) -> None:
    """Warn of material parameters that look like km/s, g/cm^3 or GPa, or exchanged.

    Parameters
    ----------
    values : mapping of str to ndarray, shape (n,)
        rho [kg/m^3], lambda and mu [Pa], optionally Qp and Qs.
    size : float
        Longest side of the model [m]; below ``ranges.SMALLEST_PLACE`` numbers may be dimensionless.
    problems : Problems
        Collects the warnings.
    """
    if size < SMALLEST_PLACE or not {"rho", "lambda", "mu"} <= values.keys():
        return
    rho, shear = np.asarray(values["rho"], float), np.asarray(values["mu"], float)
    with np.errstate(all="ignore"):  # invalid materials are reported elsewhere
        fast = np.sqrt((values["lambda"] + 2.0 * shear) / rho)
        slow = np.sqrt(shear / rho)[shear > 0]
        ratio = fast[shear > 0] / slow
    if not np.isfinite(fast).all() or not np.isfinite(slow).all() or not len(slow):
        return
    heavy = _doubt(ranges.DENSITY, rho, "material", "the density is", problems, "kg/m^3", _of_density)
    if (
        heavy and not ranges.P_SPEED.beyond(fast / np.sqrt(1e3)).any()
    ):  # if moduli are given, the speeds follow from that density
        return
    odd = _doubt(ranges.P_SPEED, fast, "material", "P waves have", problems, "m/s", _of_speeds)
    odd |= _doubt(ranges.S_SPEED, slow, "material", "S waves have", problems, "m/s", _of_speeds)
    if not odd:
        _warn_ratio(ratio, problems)
    for name in (n for n in ("Qp", "Qs") if n in values):
        _doubt(ranges.QUALITY, np.asarray(values[name], float), "material", f"{name} is", problems, "", _of_quality)


def _of_speeds(unit: str) -> str:
    given = f"Is the speed in {unit}?" if unit else "Are speeds in km/s, or moduli in GPa?"
    return f"{given} Numbers are in m/s, Pa and kg/m^3; strings may include units: '6 km/s'."


def _of_density(unit: str) -> str:
    return f"Is it in {unit or 'g/cm^3'}? Numbers are in kg/m^3; strings may include units: '2.7 g/cm^3'."


def _of_quality(unit: str) -> str:
    return "Is the value 1/Q? Q is the quality factor, 20 to 1000 in rock."


def _warn_ratio(ratio: np.ndarray, problems: Problems) -> None:
    limits = ranges.SPEED_RATIO
    high, low = ratio > limits.high, ratio < limits.low
    if high.any():
        what = f"Vp/Vs is up to {ratio.max():.4g}, at {100 * high.mean():.3g} % of the points above {limits.high:g}"
        advice = "Does only one of the two have a unit, as in vp: 6 km/s and vs: 3.464? Or are vs and rho exchanged?"
        problems.warn("material", what, limits.allowed, advice)
    if low.mean() > SHARE_OUT_OF_RANGE:
        with np.errstate(all="ignore"):
            poisson = (ratio**2 - 2.0) / (2.0 * (ratio**2 - 1.0))
        what = f"Vp/Vs is down to {ratio.min():.4g}: Poisson's ratio is {poisson[ratio.argmin()]:.3g}"
        problems.warn("material", what, limits.allowed, "Are vp and vs exchanged, or lambda and mu?")


def _doubt(
    limits: Range, values: np.ndarray, where: str, words: str, problems: Problems, unit: str,
    advice: Callable[[str], str], share: float = 0.0
) -> bool:  # fmt: skip
    """Warn if more than a ``share`` of values is out of a range, and return True in that case.

    ``advice(unit)`` returns the advice for the unit that was probably meant.
    """
    beyond = limits.beyond(values)
    if not beyond.any() or beyond.mean() <= share:
        return False
    worst = values[beyond]
    part = "" if beyond.all() else f" at {100 * beyond.mean():.3g} % of the points"
    some = "Does one layer or region use another unit, or contain an extra digit?"
    reported = advice(limits.meant(float(np.median(worst)))) if beyond.mean() > SHARE_OUT_OF_RANGE else some
    problems.warn(where, f"{words} {_range_text(worst)}{f' {unit}' if unit else ''}{part}", limits.allowed, reported)
    return True


def warn_friction(
    values: Mapping[str, np.ndarray], constants: Mapping[str, float], length: float, problems: Problems
) -> None:
    """Warn of friction parameters that look like mm, MPa or per cent.

    Parameters
    ----------
    values : mapping of str to ndarray, shape (n,)
        Parameters that the case gives at points of the fault, by name [SI].
    constants : mapping of str to float
        Constants of the friction law by name [SI].
    length : float
        Longest side of the fault [m].
    problems : Problems
        Collects the warnings.
    """

    def advice(name: str, unit: str) -> Callable[[str], str]:
        return lambda meant: (
            f"Is {name} in {meant}? Numbers are in {unit}; strings may include units."
            if meant
            else f"Numbers are in {unit}."
        )

    def given(*names: str) -> list[tuple[str, np.ndarray]]:
        listed = [(n, np.asarray(values[n], float)) for n in names if n in values]
        return listed + [(n, np.array([constants[n]])) for n in names if n in constants and n not in values]

    def doubt(limits: Range, name: str, x: np.ndarray, reported: Callable[[str], str], unit: str = "") -> None:
        _doubt(limits, x, where, f"{name} is", problems, unit, reported, SHARE_OUT_OF_RANGE)

    where = "fault.parameters"
    for name, x in given("mu_s", "mu_d", "rs_f0", "rs_muw", "rs_muW"):
        usual = x[(x >= 0.0) & (x < 1e3)]  # SCEC's barriers have 10000, and -1 stands for an absent value
        if len(usual):
            doubt(ranges.FRICTION, name, usual, lambda unit: "Is it in per cent, or an angle in degrees?")
    for name, x in given("rs_a", "rs_b"):
        doubt(ranges.RATE_DEPENDENCE, name, np.maximum(x, 0.0), lambda unit: "0.01 is usual.")
    if length > 0:
        for name, x in given("d_c", "rs_sl0", "rs_srL"):
            _warn_lengths(ranges.WEAKENING_DISTANCE, name, x, length, problems)
        slips = given("strike_slip", "dip_slip", "slip")
        for name, x in slips:
            _warn_lengths(ranges.SLIP, name, np.abs(x), length, problems)
    for name, x in given("cohesion"):
        size = np.abs(x[x != 0])
        if len(size) and length >= SMALLEST_PLACE:
            doubt(ranges.COHESION, name, size, advice(name, "Pa"), "Pa")
    for name, x in given("tp_initial_temperature", "tp_iniTemp", "IniTemp"):
        if np.any((x > -100.0) & (x < ranges.TEMPERATURE.low)):
            what = f"{name} is {_range_text(x)} K"
            problems.warn(
                where, what, ranges.TEMPERATURE.allowed, "Is it in degrees Celsius? Texts may carry units: '210 degC'."
            )


def _warn_lengths(limits: Range, name: str, x: np.ndarray, length: float, problems: Problems) -> None:
    share = x / length
    beyond = limits.beyond(share)
    if beyond.mean() > SHARE_OUT_OF_RANGE:
        size = float(np.median(x[beyond]))
        unit = limits.meant(size / length)
        advice = f"Is {name} in {unit}? Numbers are in m; strings may include units." if unit else "Numbers are in m."
        problems.warn(
            "fault.parameters",
            f"{name} is {_range_text(x[beyond])} m on a fault of {length:.4g} m",
            f"up to {limits.high * length:.3g} m",
            advice,
        )


def warn_normal_stress(size: float, problems: Problems) -> None:
    """Warn if the median normal stress on a fault, ``size`` [Pa], is implausible."""
    if size == 0 or not ranges.NORMAL_STRESS.beyond(np.array([size])).any():
        return
    unit = ranges.NORMAL_STRESS.meant(size)
    advice = f"Is stress in {unit}? " if unit else "Are stresses given in Pa? "
    problems.warn(
        "fault.parameters", f"the median normal stress is {size:.3g} Pa", ranges.NORMAL_STRESS.allowed,
        f"{advice}Numbers are in Pa; strings may include units: '120 MPa'.",
    )  # fmt: skip


def warn_scene(case: Case, scene: Scene, problems: Problems) -> None:
    """Warn of places, moments, times and sides of a planned run that are probably not intended.

    Parameters
    ----------
    case : Case
        Case.
    scene : Scene
        Extract of its plan.
    problems : Problems
        Collects the warnings.
    """
    if scene.full_space and scene.size >= SMALLEST_PLACE:
        problems.warn(_side(case), "no side is a free surface: the waves are those of a full space", advice=FULL_SPACE)
    if scene.size < SMALLEST_PLACE:
        return
    _warn_height(case, scene, problems)
    _warn_shallow(case, scene, problems)
    _warn_forces(scene, problems)
    _warn_receivers(scene, problems)
    _warn_moments(scene, problems)
    _warn_times(case, scene, problems)


def _side(case: Case) -> str:
    return "mesh.generate.boundaries" if case.mesh is not None and case.mesh.generate is not None else "mesh.boundaries"


def _warn_height(case: Case, scene: Scene, problems: Problems) -> None:
    """Warn of a georeferenced model entirely above sea level, which suggests that depth was counted as positive."""
    where = "grid" if case.engine == "fd" else "mesh"
    if case.projection is not None and scene.lower[2] >= 0 and scene.upper[2] > 9e3:
        what = (
            f"the model reaches from z = {scene.lower[2]:g} to {scene.upper[2]:g} m: its surface is higher "
            "than any mountain"
        )
        problems.warn(
            where, what, advice="Is depth positive? z points up: the ground is at z = 0 and depth is negative."
        )


def _warn_shallow(case: Case, scene: Scene, problems: Problems) -> None:
    """Warn of sources that would be at a usual depth if their z were in km."""
    depth = scene.upper[2] - scene.sources[:, 2]
    moments = scene.moment > 0
    tiny = moments & (depth > 0) & (depth < NEGLIGIBLE_SHARE * scene.resolution) & (scene.sources[:, 2] < 0)
    inside = scene.sources[:, 2] * 1e3 > scene.lower[2]
    found = tiny & inside
    if moments.any() and found.sum() > SHARE_OUT_OF_RANGE * moments.sum():
        z = float(scene.sources[found, 2].min())
        what = (
            f"{int(found.sum())} of {int(moments.sum())} lie {-z:.4g} m deep, and points of the solution are "
            f"{scene.resolution:.4g} m apart"
        )
        problems.warn(
            "sources", what, advice=f"Is the depth in km? Numbers are in m; strings may include units: '{z:g} km'."
        )


def _warn_forces(scene: Scene, problems: Problems) -> None:
    """Warn of forces whose coordinates are probably in km: within a fraction of a cell of the origin, and inside if in km.

    A depth alone says nothing, because forces often act close to the surface.
    """
    forces = scene.sources[scene.moment == 0]
    tiny = (np.abs(forces) < NEGLIGIBLE_SHARE * scene.resolution) & (forces != 0)
    inside = ((forces * 1e3 >= scene.lower) & (forces * 1e3 <= scene.upper)).all(1)
    found = np.flatnonzero(tiny.all(1) & inside)
    if len(found):
        x, y, z = forces[found[0]].tolist()
        what = f"a force acts at ({x:g}, {y:g}, {z:g}) m, and points of the solution are {scene.resolution:.4g} m apart"
        advice = (
            f"Are coordinates in km? Numbers are in m; strings may include units: ['{x:g} km', '{y:g} km', '{z:g} km']."
        )
        problems.warn("sources", what, advice=advice)


def _warn_receivers(scene: Scene, problems: Problems) -> None:
    """Warn of receivers whose coordinates are probably in km, and of receivers at a source.

    The former lie within a few metres of the origin, and would spread over the model in km.
    """
    places = scene.receivers
    if not len(places):
        return
    flat = np.abs(places[:, :2])
    inside = (
        (places * 1e3 >= scene.lower - 1e-9 * scene.size) & (places * 1e3 <= scene.upper + 1e-9 * scene.size)
    ).all()
    if 0 < flat.max() < NEGLIGIBLE_SHARE * scene.resolution and inside:
        what = (
            f"all {len(places)} lie within {flat.max():.4g} m of x = y = 0, and points of the solution are "
            f"{scene.resolution:.4g} m apart"
        )
        problems.warn(
            "output.receivers",
            what,
            advice=("Are locations in km? Numbers are in m; strings may include units: '0.4 km'."),
        )
    if not len(scene.sources):
        return
    distance, receiver = _nearest(scene.sources, places)
    k = int(distance.argmin())
    if distance[k] < 1e-3 * scene.resolution:
        n = int(receiver[k])
        x, y, z = places[n]
        what = f"receiver {n + 1} at ({x:g}, {y:g}, {z:g}) lies at source {k + 1}, where the motion is not finite"
        problems.warn("output.receivers", what, advice="Move one of the two by an element or more.")


def _nearest(places: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance (n,) [m] of ``places`` (n, 3) to the nearest of ``others`` (m, 3), and its index (n,)."""
    if len(places) * len(others) > 1_000_000:
        from scipy.spatial import cKDTree  # few cases need it

        distance, number = cKDTree(others).query(places)
        return np.asarray(distance), np.asarray(number)
    apart = np.linalg.norm(places[:, None] - others, axis=2)
    return apart.min(1), apart.argmin(1)


def _warn_moments(scene: Scene, problems: Problems) -> None:
    """Warn of moments that are magnitudes, in dyne cm, or too large for the model or the source area."""
    acting = scene.moment[scene.moment > 0]
    if not len(acting):
        return
    total, limits = float(acting.sum()), ranges.MAGNITUDE_AS_MOMENT
    if limits.low <= acting.max() <= limits.high and len(acting) < 10:
        meant = 10 ** (1.5 * acting.max() + 9.1)
        what = f"the largest seismic moment is {acting.max():.4g} N m, Mw {magnitude(acting.max()):.2f}"
        problems.warn(
            "sources",
            what,
            advice=f"Is it a magnitude? Mw {acting.max():.4g} is a moment of {meant:.3g} N m; kind double-couple takes a magnitude.",
        )
        return
    if total > ranges.LARGEST_MOMENT.high:
        what = f"the seismic moment is {total:.3g} N m, Mw {magnitude(total):.2f}: no earthquake has been as large"
        problems.warn(
            "sources",
            what,
            f"up to {ranges.LARGEST_MOMENT.high:g} N m",
            "Is it in dyne*cm? Numbers are in N m; strings may include units: '1e25 dyne*cm'.",
        )
        return
    if len(acting) < 10:
        radius = float((7.0 / 16.0 * total / 1e8) ** (1.0 / 3.0))  # of a circular crack with a stress drop of 100 MPa
        diagonal = float(np.linalg.norm(scene.upper - scene.lower))
        if radius > diagonal:
            what = (
                f"points release {total:.3g} N m, Mw {magnitude(total):.2f}: even with a stress drop of 100 MPa such a rupture has a "
                f"radius of {radius:.3g} m, and the model is {diagonal:.3g} m across"
            )
            problems.warn("sources", what, advice="Is the moment in dyne*cm? A large rupture is a finite source.")
        return
    places = scene.sources[scene.moment > 0]
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(np.cov(places.T)), 0.0) * 12.0)[::-1]  # sides of a rectangle
    area = float(spread[0] * max(spread[1], scene.resolution))
    drop = total / max(area, 1.0) ** 1.5
    if ranges.STRESS_DROP.beyond(np.array([drop])).any():
        what = (
            f"{len(acting):,} subfaults release {total:.3g} N m, Mw {magnitude(total):.2f}, on about {spread[0]:.3g} m x "
            f"{spread[1]:.3g} m: a stress drop of the order of {drop:.2g} Pa"
        )
        advice = (
            "Is the moment in dyne*cm, or slip in cm?"
            if drop > ranges.STRESS_DROP.high
            else "Is slip in m, and are locations in m and not in km?"
        )
        problems.warn("sources", what, ranges.STRESS_DROP.allowed, advice)


def _warn_times(case: Case, scene: Scene, problems: Problems) -> None:
    """Warn of runs that end before any wave arrives, or continue long after all waves have left."""
    if not scene.fastest > 0:
        return
    crossings = case.end_time * scene.fastest / scene.size
    if crossings > ranges.CROSSINGS.high and not scene.closed:
        what = (
            f"P waves cross the model of {scene.size:.4g} m {crossings:.3g} times in the {case.end_time:g} s of the run, and leave "
            f"through its sides"
        )
        problems.warn(
            "end_time", what, f"{ranges.CROSSINGS.high:g} times at most", "Is the time in ms, or are locations in km?"
        )
    alone = (
        not any((case.fault, case.incident, case.injection, case.dirichlet, case.currents))
        and case.initial.kind == "zero"
    )
    if alone and len(scene.sources) and len(scene.receivers):
        first = float((_nearest(scene.sources, scene.receivers)[0] / scene.fastest + np.asarray(scene.onset)).min())
        if first > case.end_time:
            what = (
                f"the run ends at {case.end_time:g} s, and the first wave of a source is at a receiver at {first:.4g} s"
            )
            problems.warn(
                "end_time",
                what,
                f"above {first:.4g} s",
                "All seismograms will be zero. Is the time in ms, or are locations in units other than m?",
            )


def advice_outside(place: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> str:
    """Return advice on a place outside of a box that would be inside with its depth, unit or axes changed.

    Parameters
    ----------
    place : ndarray, shape (3,)
        Place [m].
    lower, upper : ndarray, shape (3,)
        Corners of the box [m].

    Returns
    -------
    str
        Empty if none of these explains it.
    """

    def inside(p: np.ndarray) -> bool:
        return bool(((p >= lower) & (p <= upper)).all())

    x, y, z = (float(v) for v in place)
    if z > upper[2] and inside(np.array([x, y, upper[2] - z])):
        return "Is depth positive? " + ABOVE.format(z)
    if inside(np.array([y, x, z])):
        return "Are x and y exchanged? In the other order it is inside."
    if inside(np.array([x, y, 1e-3 * z])):
        return "Is only the depth 1000 times too large? Some formats, as SRF, give it in km, others in m."
    if inside(np.array([x, y, z]) * 1e-3) and np.abs(place).max() > 20.0 * (upper - lower).max():
        return "Is the location in mm? Numbers are in m."
    return ""


def warn_angles(case: Case, problems: Problems) -> None:
    """Warn of strike, dip and rake that look like radians."""
    for n, source in enumerate(case.sources):
        angles = [source.strike, source.dip, source.rake]
        if source.kind != "double-couple" or any(a is None for a in angles):
            continue
        strike, dip, rake = (float(a) for a in angles if a is not None)
        whole = all(a == round(a) for a in (strike, dip, rake))
        if not whole and max(abs(strike), abs(rake)) <= 2.0 * pi + 1e-9 and 0 < dip <= pi / 2.0 + 1e-9:
            what = f"strike {strike:g}, dip {dip:g} and rake {rake:g} are small angles in degrees"
            problems.warn(
                f"sources[{n}]",
                what,
                advice="Are they in radians? Numbers are in degrees; strings may include units: '1.57 rad'.",
            )


def warn_sampling(case: Case, problems: Problems) -> None:
    """Warn of seismograms whose interval is too long for the highest frequency in the case."""
    receivers = case.output.receivers
    if receivers is None:
        return
    named = [
        f.frequency
        for f in (s.time_function for s in case.sources)
        if f is not None and f.kind in ("ricker", "burst") and f.frequency
    ]
    if case.grid is not None and case.grid.frequency is not None:
        named.append(case.grid.frequency)
    built = None if case.mesh is None else case.mesh.build
    if built is not None and built.frequency is not None:
        named.append(built.frequency)
    if named and receivers.interval * 2.0 * max(named) > 1.0 + 1e-9 and receivers.interval <= case.end_time:
        what = f"{receivers.interval:g} s is too long for {max(named):g} Hz: higher frequencies fold back"
        problems.warn(
            "output.receivers.interval",
            what,
            f"up to {0.5 / max(named):.3g} s",
            "Is it in ms? Numbers are in s; strings may include units: '10 ms'.",
        )


def _range_text(values: np.ndarray) -> str:
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return low if low == high else f"{low} to {high}"


# fmt: skip


SAMPLED = ("receivers", "fault_receivers", "fault", "surface", "volume", "energies")
"""Outputs with an interval."""


SETTINGS_WITH_MOTION = (
    "sources",
    "fault",
    "incident",
    "injection",
    "currents",
    "ports",
    "dirichlet",
    "plasticity",
    "parts",
)
"""Settings that may cause motion; whether a fault ruptures is checked where its stress is known."""


LOADS = {
    "sources": "sources",
    "incident": "the incident wave",
    "injection": "injection",
    "dirichlet": "motion of dirichlet faces",
    "parts": "parts of other packages",
}
"""Settings that may change the stress or pore pressure on a fault during a run, with their description."""


def fault_loads(case: Case) -> tuple[str, ...]:
    """Return descriptions of everything that may load or weaken a fault other than its own stress and nucleation."""
    found = [words for name, words in LOADS.items() if getattr(case, name)]
    if case.initial.kind != "zero":
        found.append(f"the initial state ({case.initial.kind})")
    return tuple(found)


def warn_case(case: Case) -> Problems:
    """Warn of cases without any motion, outputs with an interval longer than the run, and more threads than cores."""
    problems = Problems()
    if case.initial.kind == "zero" and not any(getattr(case, name) for name in SETTINGS_WITH_MOTION):
        what = "the case has no source, fault, initial state or incident wave, so nothing moves"
        allowed = "sources, fault, initial, " + (
            "injection" if case.engine == "fd" else "incident, dirichlet, currents, ports"
        )
        problems.warn("case", what, allowed, "All results will be zero. Add at least one of these.")
    for name in SAMPLED:
        interval = getattr(getattr(case.output, name), "interval", None)
        if interval is not None and interval > case.end_time * (1 + 1e-9):
            what = f"{interval:g} s is longer than the run of {case.end_time:g} s: one sample, at its start"
            short = interval * 1e-3 <= case.end_time / 10.0
            advice = "Is it in ms? Numbers are in s; strings may include units: '10 ms'." if short else ""
            problems.warn(f"output.{name}.interval", what, f"up to {case.end_time:g} s", advice)
    warn_angles(case, problems)
    warn_sampling(case, problems)
    checkpoint = case.output.checkpoint
    if checkpoint is not None and checkpoint.interval is None and checkpoint.wall_time is None:
        what = "has no interval: checkpoints are written only when a signal stops the run, as without this setting"
        problems.warn("output.checkpoint", what, "interval or wall_time, e.g. wall_time: 30 min")
    threads, here = case.numerics.threads, host.core_count()
    if threads is not None and threads > here:
        what = f"{threads} threads would share the {here} cores that this process may use"
        advice = "Threads then wait for each other. Remove the setting to use one thread per core."
        problems.warn("numerics.threads", what if here > 1 else what.replace("cores", "core"), f"1 to {here}", advice)
    return problems
