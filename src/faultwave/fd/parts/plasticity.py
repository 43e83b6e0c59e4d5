"""Rock that yields: a rheology at the centres of cells, after every update of the stresses (``fd.yielding``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Self

import numpy as np

from faultwave.base.collect import collected
from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.model import Case
from faultwave.case.plasticity import Plasticity as Setting
from faultwave.comm import World
from faultwave.fd import rock_at_rest, yielding
from faultwave.fd.part import Checking, GridAttached, GridPart, Placing, Planning, Running
from faultwave.fd.points import held
from faultwave.fd.program import Observer, Scheme
from faultwave.fd.resources import Memory, number_bytes
from faultwave.fd.time_dispersion import removes
from faultwave.kernels.stencil import Box
from faultwave.media import Field, load_field
from faultwave.media.field import Constant, axes_of, check_used
from faultwave.physics.rheology import STRESS, Rheology, in_tension, rheology

name = "plasticity"
LOOK = 60
"""Columns of centres, along x and along y, in which rock is looked at before the run where its strength varies."""
LEVEL = 1e-6
"""Of the largest stress at rest: it is the same at one height so far."""


def plan(planning: Planning) -> Plasticity | None:
    """None where rock does not yield."""
    case, problems = planning.case, planning.problems
    if case.plasticity is None:
        return None
    _check_combined(case, planning, problems)
    with collected(problems):
        return _read(case, problems)
    return None


def _check_combined(case: Case, planning: Planning, problems: Problems) -> None:
    """Errors of what is not combined yet."""
    grid, setting = case.grid, case.plasticity
    assert grid is not None and setting is not None
    wrong = {
        "grid.blocks": (bool(grid.blocks), "blocks of different spacing", "a grid of one spacing"),
        "grid.topography": (grid.topography is not None, "topography", "flat ground"),
        "grid.order": (grid.order != 4, f"order {grid.order}", "4"),
        "injection": (case.injection is not None, "an injection", "sources in the box"),
        "sources": (any(s.kind == "plane-wave" for s in case.sources), "rising plane waves", "point sources"),
        "grid.time_dispersion": (removes(case), "removing time dispersion", "keep"),
    }
    for where, (asked, what, allowed) in wrong.items():
        if asked:
            problems.error(where, f"{what} and plasticity are not combined yet on a grid", allowed)
    if setting.elastic:
        problems.error("plasticity.elastic", "a grid has no volumes", advice="Give such rock a large plastic_cohesion.")


def _read(case: Case, problems: Problems) -> Plasticity:
    setting = case.plasticity
    assert setting is not None
    law = rheology(setting.rheology)
    if not law.scales:
        raise InputError(Problem("plasticity.rheology", f"'{law.name}' is not built for grids", "drucker-prager"))
    constants = law.settings(setting.constants, "plasticity.constants", problems)
    if constants.get("seissol_strain"):
        what = "grids add up the plastic strain that the stress lost"
        problems.error("plasticity.constants.seissol_strain", what, "0")
    if setting.initial_stress == "fault":
        what = "the engine fd has no fault"
        raise InputError(Problem("plasticity.initial_stress", what, "a field or parameters"))
    own, at_rest = _given(case, setting, law, problems)
    varies = rock_at_rest.lateral(setting.rock_quality) if setting.rock_quality else bool(axes_of(own) & {"x", "y"})
    return Plasticity(case, law, constants, own, at_rest, varies)


def _given(case: Case, setting: Setting, law: Rheology, problems: Problems) -> tuple[Field, Field]:
    """Strength and stress at rest that fields give; nothing where these follow from weight and quality."""
    own: Field = Constant({}, "plasticity.parameters")
    if setting.parameters is not None:
        own = load_field(setting.parameters, "plasticity.parameters", projection=case.projection)
    inside, at_rest = setting.initial_stress == "parameters" and setting.overburden is None, own
    if not isinstance(setting.initial_stress, str):
        at_rest = load_field(setting.initial_stress, "plasticity.initial_stress", projection=case.projection)
        check_used(at_rest, set(STRESS), f"rheology {law.name}", problems)
    known = {n for q in law.parameters for n in (q.name, *q.aliases)} if setting.rock_quality is None else set()
    check_used(own, known.union(STRESS if inside else ()), f"rheology {law.name}", problems)
    missing = [n for n in STRESS if n not in at_rest.parameters]
    if missing and setting.overburden is None:
        where = "plasticity.parameters" if inside else "plasticity.initial_stress"
        what = f"no initial stress: {', '.join(missing)} missing"
        advice = "Give them there, or see plasticity.initial_stress and plasticity.overburden."
        raise InputError(Problem(where, what, ", ".join(STRESS), advice))
    return own, at_rest


@dataclass(frozen=True)
class Plasticity(GridPart):
    """Rock with its ``strength`` and stress ``at_rest``; ``lateral``: whether strength varies along x or y. Once there is a grid: so many
    ``points``; then the ``values`` of what formulas read of rock, over the box of this process or (nz,) by depth."""

    case: Case
    law: Rheology
    constants: Mapping[str, float]
    strength: Field
    at_rest: Field
    lateral: bool
    points: int = 0
    lower: np.ndarray = field(default_factory=lambda: np.zeros(3))
    upper: np.ndarray = field(default_factory=lambda: np.zeros(3))
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    told: str = ""
    name = name

    def placed(self, placing: Placing) -> Self:
        return replace(self, points=placing.grid.box.points, lower=placing.lower, upper=placing.upper)

    def checked(self, checking: Checking) -> Self:
        """Errors of strength or stress that is none, a warning of rock that yields at rest."""
        problems = checking.problems
        if (checking.coarse["mu"] <= 0).any():
            what = "water cannot yield, and is not combined with rock that does on a grid yet"
            problems.error(name, what, "rock")
        if len(problems.errors):
            return self
        with collected(problems):
            rock = self._weighed(checking)
            rock._check_level(checking)
            told = rock._look(checking)
            return replace(rock, values=rock._values(checking), told=told)
        return self

    def _weighed(self, checking: Checking) -> Self:
        """The same, with what follows from weight and quality."""
        setting = self.case.plasticity
        assert setting is not None
        if setting.overburden is None and setting.rock_quality is None:
            return self
        load = rock_at_rest.load_of(checking.field, self.lower, self.upper, checking.placing.grid.spacing)
        found = self
        if setting.overburden is not None:
            found = replace(found, at_rest=rock_at_rest.Weight(load, setting.overburden))
        if setting.rock_quality is not None:
            found = replace(found, strength=rock_at_rest.Quality(load, checking.field, setting.rock_quality))
        return found

    def _inside(self, places: np.ndarray) -> np.ndarray:
        """Places (n, 3) in the box, for those in layers, where rock is that of the edge."""
        return np.clip(places, self.lower, self.upper)

    def rest_at(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Stress at rest (n,) [Pa] at heights."""
        return self._rest(np.column_stack([np.tile(0.5 * (self.lower + self.upper)[:2], (len(z), 1)), z]))

    def _rest(self, places: np.ndarray) -> dict[str, np.ndarray]:
        places = self._inside(places)
        found = self.at_rest.evaluate(places, np.ones(len(places), np.int64), list(STRESS))
        return {n: np.broadcast_to(np.asarray(found[n], float), len(places)) for n in STRESS}

    def _parameters(self, places: np.ndarray, problems: Problems) -> dict[str, np.ndarray]:
        """What formulas read (n,). Raises InputError with the first place where something is out of bounds."""
        places = self._inside(places)
        names = [n for q in self.law.parameters for n in (q.name, *q.aliases) if n in self.strength.parameters]
        given = self.strength.evaluate(places, np.ones(len(places), np.int64), names)
        own = Problems()
        values = self.law.given(given, len(places), "plasticity.parameters", own)
        own.raise_errors()
        for q in self.law.parameters:
            bad = ~q.accepts(values[q.name])
            if bad.any():
                first = int(np.flatnonzero(bad)[0])
                at = f"{_text(places[first])} and wrong at {bad.sum() - 1} other points"
                raise InputError(Problem(name, f"{q.name} is {values[q.name][first]:g} at {at}", q.allowed()))
        prepared = self.law.prepare(values, self.constants, {"mu": np.ones(len(places))})
        return {n: np.asarray(prepared[n], float) for n in yielding.own_parameters(self.law)}

    def _check_level(self, checking: Checking) -> None:
        """Stress at rest is kept by depth."""
        x, y = (np.linspace(a, b, 5) for a, b in zip(self.lower[:2], self.upper[:2], strict=True))
        z = np.unique(np.clip(checking.placing.grid.levels("half"), self.lower[2], self.upper[2]))
        places = np.stack(np.meshgrid(x, y, z, indexing="ij"), -1)
        found = self._rest(places.reshape(-1, 3))
        largest = max(float(np.abs(v).max()) for v in found.values())
        for n, values in found.items():
            bad = ~np.isfinite(values)
            if bad.any():
                what = f"{n} is {values[bad][0]:g} at {_text(places.reshape(-1, 3)[bad][0])}"
                raise InputError(Problem(name, what, "a finite number"))
            column = values.reshape(places.shape[:3])
            uneven = np.abs(column - column[:1, :1]) > LEVEL * largest
            if uneven.any():
                i, j, k = np.argwhere(uneven)[0]
                here, there = (f"{column[at]:g} Pa at {_text(places[at])}" for at in ((i, j, k), (0, 0, k)))
                what = f"{n} at rest is {here} and {there}"
                raise InputError(Problem(name, what, "stress at rest that depends on z alone, on a grid"))

    def _look(self, checking: Checking) -> str:
        """What yields before anything moves, in words; a warning where something does."""
        grid, counts = checking.placing.grid, []
        for k in range(2):
            cells = round(float(self.upper[k] - self.lower[k]) / grid.spacing)
            counts.append(min(cells, LOOK) if self.lateral else 1)
        x, y = (
            a + (b - a) * (np.arange(n) + 0.5) / n
            for a, b, n in zip(self.lower[:2], self.upper[:2], counts, strict=True)
        )
        z = grid.levels("half")[: grid.shape[0]]
        z = z[z > self.lower[2]]
        places = np.stack(np.meshgrid(x, y, z, indexing="ij"), -1).reshape(-1, 3)
        p = self._parameters(places, checking.problems) | {"compliance": np.ones(len(places))}
        past = {s.name: np.zeros(len(places)) for s in self.law.state}
        yields = np.broadcast_to(self.law.yields(p, self.constants, self._rest(places), past, 1.0), len(places))
        text = f"{100 * yields.mean():.3g} % of {len(places):,} points" + " looked at" * self.lateral
        if yields.any():
            first = f"the first at {_text(places[np.flatnonzero(yields)[0]])}"
            advice = "Check initial stress against cohesion and friction."
            checking.problems.warn(name, f"at rest {text} are beyond yield, {first}", advice=advice)
        pulled = in_tension(self._rest(places))
        if pulled.any():
            share = f"{100 * pulled.mean():.3g} % of {len(places):,} points" + " looked at" * self.lateral
            what = f"at rest {share} are in tension, the first at {_text(places[np.flatnonzero(pulled)[0]])}"
            checking.problems.warn(name, what, "mean stress below 0", "Compression is negative.")
        return text

    def _values(self, checking: Checking) -> dict[str, np.ndarray]:
        """Parameters by depth, or over the box of this process."""
        grid = checking.placing.grid
        if not self.lateral:
            z = grid.levels("half")
            middle = np.tile(0.5 * (self.lower + self.upper)[:2], (len(z), 1))
            return self._parameters(np.column_stack([middle, z]), checking.problems)
        box = checking.box
        whole = {n: np.zeros(box.shape) for n in yielding.own_parameters(self.law)}
        lengths = np.array([grid.spacing * n for n in grid.shape[::-1]])
        for k in range(box.shape[0]):
            plane = Box((box.lo[0] + k, *box.lo[1:]), (box.lo[0] + k + 1, *box.hi[1:]))
            places = grid.places("sxx", plane).reshape(-1, 3)
            for axis in range(2):
                if checking.sides[f"{'xy'[axis]}-"] == "periodic":
                    low = grid.lower[axis]
                    places[:, axis] = low + (places[:, axis] - low) % lengths[axis]
            for n, values in self._parameters(places, checking.problems).items():
                whole[n][k] = values.reshape(box.shape[1:])
        return whole

    def memory(self, steps: int, world: World) -> Memory:
        arrays = 4 + (len(yielding.own_parameters(self.law)) if self.lateral else 0)
        needed = float(self.points) * arrays * number_bytes(self.case) / world.size
        return Memory(needed, name, f"yielding of {self.points:,} points", "Raise the spacing.")

    def volume_observers(self, scheme: Scheme, box: Box) -> Sequence[Observer]:
        return [yielding.observers(scheme, box, self.law, self.constants, self.lateral)]

    @property
    def must_match(self) -> Any:
        """Settings, and a digest of what files say of the rock by depth."""
        found = sha256(
            b"".join(v.tobytes() for v in self.rest_at(np.linspace(self.lower[2], self.upper[2], 100)).values())
        )
        for n in sorted(self.values) if not self.lateral else ():
            found.update(np.ascontiguousarray(self.values[n]).tobytes())
        setting = self.case.plasticity
        if setting is not None and setting.rock_quality is not None:
            found.update(repr(setting.rock_quality).encode())
        return {"rheology": self.law.name, **self.constants, "digest": found.hexdigest()}

    def report(self, plan: Any) -> dict[str, list[tuple[str, ...]]]:
        kept = "at every point" if self.lateral else "by depth"
        return {
            "size": [("strength and stress at rest", f"strength {kept}, stress by depth")],
            "resolution": [("rock that yields at t = 0", self.told)],
        }

    def attach(self, solver: Running) -> AttachedPlasticity:
        return AttachedPlasticity(self, solver)


class AttachedPlasticity(GridAttached):
    """The rock of a run; a process tells sums of what it owns."""

    def __init__(self, part: Plasticity, solver: Running):
        self.part, self.operator = part, solver.operator
        self.scheme, runner = solver.operator.scheme, solver.operator.runner
        found = yielding.lines(self.scheme, part.rest_at)
        count = len(runner.view(yielding.rest("s_xx")))
        if part.lateral:
            for n, values in part.values.items():
                self.operator.filled_view(n)[...] = values
        else:
            found |= {n: values[:count] for n, values in part.values.items()}
        for n, values in found.items():
            runner.view(n)[...] = values

    def _sums(self, of: Any) -> dict[str, float]:
        """Integrals [of this process] of densities: of(plane, values of the state there) by name."""
        found: dict[str, float] = {}
        op, volume = self.operator, self.scheme.grid.spacing**3
        first = self.scheme.filled(op.subdomain.owned.box).lo[0]
        kept = {n: op.filled_values(n) for n in (*yielding.YIELDED, yielding.GIVEN)}
        for k in range(len(kept[yielding.GIVEN])):
            weight = float(held(self.scheme, "szz", first + k)) * volume
            for n, density in of(first + k, {m: v[k].astype(float) for m, v in kept.items()}).items():
                found[n] = found.get(n, 0.0) + weight * float(density.sum())
        return found

    def energies(self) -> Mapping[str, float]:
        """Moment, dissipation, and what of it the stress at rest has given."""

        def densities(plane: int, s: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            mu = 0.5 * self.operator.plane("mu2", plane)
            return {
                "plastic_moment": mu * s["eta"],
                "plastic_work": s["plastic_work"],
                "initial_stress_work": s[yielding.GIVEN],
            }

        return self._sums(densities)

    def energy_given(self) -> float:
        """By the stress at rest."""
        grid = self.scheme.grid
        at_rest = self.part.rest_at(grid.levels("half"))

        def densities(plane: int, s: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            here = {n: np.asarray(v[plane]) for n, v in at_rest.items()}
            return {"given": np.asarray(self.part.law.initial_stress_gives(self.part.constants, s, here))}

        return self._sums(densities).get("given", 0.0)


def _text(x: np.ndarray) -> str:
    return f"({x[0]:g}, {x[1]:g}, {x[2]:g})"


__all__ = ["AttachedPlasticity", "Plasticity", "plan"]
