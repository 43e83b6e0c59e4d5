"""A case on a regular grid: run it, look at its results, write its files."""

from __future__ import annotations

import bisect
import time as clock
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from faultwave import backends
from faultwave.base.errors import Problem
from faultwave.comm.gather import collect
from faultwave.dg.initial import plane_waves
from faultwave.engine.progress import Progress
from faultwave.fd.fields import Shots, triangles, volume_values
from faultwave.fd.growth import Watch
from faultwave.fd.incoming import SourcesAndPlanes
from faultwave.fd.operator import Operator, kept_units
from faultwave.fd.plan import FdPlan
from faultwave.fd.points import RECORDED, Sampler
from faultwave.fd.share import observers
from faultwave.fd.shared import SharedSampler
from faultwave.fd.stencils import VELOCITY
from faultwave.observe.dataset import Dataset, energies_from_arrays, receivers_from_arrays
from faultwave.observe.fields import volume_fields
from faultwave.observe.points import with_degrees
from faultwave.observe.receivers import with_gradients
from faultwave.observe.series import SeriesRecorder
from faultwave.output.checkpoint import Checkpoint
from faultwave.output.formats import seissol_dat
from faultwave.output.formats.energies_csv import write_energies
from faultwave.output.formats.receivers_hdf5 import write_receivers
from faultwave.run.fd.blowup import explain
from faultwave.run.fd.restart import Keeper, restore
from faultwave.run.fd.surface import IntensityMaps, SurfaceShots
from faultwave.run.manifest import write_run_manifest
from faultwave.run.session import BlowUp, Finisher, Session

CHUNK_SECONDS = 0.3  # between two looks at the clock
CHECK_SECONDS = 5.0  # between two looks at whether the numbers are finite


class FdSimulation(Session):
    """One case ready to run; ``run`` advances to the end time and writes the case's outputs."""

    obstacle = ""

    def __init__(self, plan: FdPlan, force: bool = False, warnings: Sequence[Problem] = ()):
        super().__init__(plan.case, force, (*warnings, *plan.warnings), plan.world)
        started = clock.perf_counter()
        self.plan = plan
        scheme, numerics, setting = plan.scheme, plan.case.numerics, plan.case.output.receivers
        self.gradients = setting is not None and (setting.rotation or setting.strain_rate)
        shared = plan.shared
        box = shared.subdomain.box if shared else None
        assert plan.material is not None
        sources = SourcesAndPlanes(
            scheme, plan.sources, plan.source_material[:, :2], plan.medium.coefficients, box, plan.case, plan.material, plan.lower,
            plan.upper, kept_units(plan.medium, numerics.precision, shared),
        )  # fmt: skip
        self.operator = Operator(
            scheme, plan.medium, plan.relaxation, sources, self._sampler(), numerics.backend, numerics.precision, numerics.threads,
            observers(plan.case, scheme, box or scheme.grid.box), shared,
        )  # fmt: skip
        self.operator.runner.prepare(plan.steps)
        self.way = self.operator.overlap.way if self.operator.overlap else None
        self.watch, self.wrong = Watch(plan, self.operator), ""
        if plan.case.initial.kind == "plane-wave":
            lam, mu, rho = self._corner_material()
            parameters = {"lambda": np.array([lam]), "mu": np.array([mu]), "rho": np.array([rho])}
            self.set_initial(lambda x, t: plane_waves(plan.law, parameters, plan.case.initial.wave, x, t))
        else:
            self.recorder = self._recorder(None)
        self.energy_rows: list[tuple[float, dict[str, float]]] = []
        self.maps = IntensityMaps(plan, self.operator) if plan.case.output.intensity is not None else None
        self.shots: dict[str, Shots] = {}
        self._due: list[tuple[frozenset[int], Callable[[], None]]] = []
        self.seconds = {"step": 0.0, "observe": 0.0}
        self.identity: dict[str, Any] | None = None  # of the grid, for checkpoints
        self.wall["setup"] = clock.perf_counter() - started

    def _sampler(self) -> Sampler | SharedSampler | None:
        plan, scheme = self.plan, self.plan.scheme
        self.mine = np.arange(0)  # numbers of the receivers whose seismograms are here
        if plan.receivers is None or not len(plan.receivers):
            return None
        if plan.shared is None:
            self.mine = np.arange(len(plan.receivers))
            return Sampler(scheme, plan.receivers, self.gradients)
        made = SharedSampler(
            plan.world, plan.shared.subdomain, scheme, plan.receivers, lambda x: Sampler(scheme, x, self.gradients)
        )
        self.mine = made.mine
        return made

    def _corner_material(self) -> tuple[float, float, float]:
        made = self.plan.medium.coefficients
        lam, mu, b = (float(np.asarray(made[name]).flat[0]) for name in ("lam", "mu_xy", "b_x"))
        return lam, mu, 1.0 / b

    def _recorder(self, state: Callable[[np.ndarray, float], np.ndarray] | None) -> SeriesRecorder | None:
        sampler = self.operator.sampler
        if sampler is None:
            return None
        late = [0.5 if name in VELOCITY else 1.0 for name in RECORDED]
        assert self.plan.receivers is not None
        points = self.plan.receivers[self.mine]
        kept = np.float32 if self.case.numerics.precision == "single" else np.float64
        first = np.zeros((len(points), 4 if self.gradients else 1, len(RECORDED)), kept)
        if state is not None:
            dt = self.plan.scheme.step
            first[:, 0] = np.where(np.array(late) < 1, state(points, -0.5 * dt), state(points, 0.0))
        setting = self.case.output.receivers
        assert setting is not None
        return SeriesRecorder(self.plan.scheme.step, late, first, setting.interval)

    # ---- results --------------------------------------------------------------------------------------------------

    @property
    def runs_on(self) -> str:
        name = self.case.numerics.backend
        return backends.best(stencils=True) if name == "auto" else name

    @property
    def time(self) -> float:
        return self.operator.time

    @property
    def cells(self) -> int:
        return self.plan.points

    @property
    def receivers(self) -> Dataset | None:
        """Of all processes, on the first; all ask for them at once."""
        setting = self.case.output.receivers
        if self.recorder is None or setting is None or self.plan.receivers is None:
            return None
        time, values = self.recorder.arrays()
        if self.world.size > 1:
            found = collect(self.world, self.mine, [values.swapaxes(0, 1)], len(self.plan.receivers))
            if found is None:
                return None
            values = found[0].swapaxes(0, 1)
        columns, names = with_gradients(values, self.plan.law.quantities, setting.rotation, setting.strain_rate)
        made = receivers_from_arrays(time, columns, names, self.plan.receivers, self.plan.receivers)
        return with_degrees(made, self.case.projection)

    @property
    def fault_receivers(self) -> Dataset | None:
        """A grid has no fault."""
        return None

    @property
    def intensity(self) -> Dataset | None:
        """Maps (y, x) of ground motion so far: PGA, PGV, PGD, SA, Arias intensity, duration; on the first process."""
        found = self.maps.dataset() if self.maps is not None else None
        return found if self.world.first else None

    @property
    def energies(self) -> Dataset | None:
        if not self.energy_rows:
            return None
        names = self.energy_rows[0][1]
        return energies_from_arrays(
            [t for t, _ in self.energy_rows], {n: [e[n] for _, e in self.energy_rows] for n in names}
        )

    def energy_now(self) -> dict[str, float]:
        """Energies at the time reached; kinetic energy is that of half a step before."""
        return self.operator.energies()

    def set_initial(self, solution: Callable[[np.ndarray, float], np.ndarray]) -> None:
        """Start from solution(points (n, 3), time) -> (n, 9), at time 0 and half a step before it."""
        self.operator.set_state(solution)
        self.watch.start(self.energy_now())
        self.recorder = self._recorder(solution)

    def error(self, solution: Callable[[np.ndarray, float], np.ndarray]) -> np.ndarray:
        """Relative L2 error (9,) against solution(points (n, 3), time) -> (n, 9), velocities half a step before now."""
        return self.operator.error(solution)

    def rates(self) -> dict[str, float]:
        updates = float(self.operator.steps) * self.plan.points
        return {
            "point_updates": updates,
            "point_updates_per_second": updates / max(self.wall["stepping"], 1e-9),
            "threads": float(getattr(self.operator.runner, "threads", 1)),
            "processes": float(self.world.size),
            **self._messages(),
        }

    def _messages(self) -> dict[str, float]:
        """What travelled between this process and others, and what rounding took from it."""
        if self.operator.overlap is None:
            return {}
        halo = self.operator.overlap.halo
        found = {"messages": float(halo.messages), "message_bytes": float(halo.bytes)}
        return found | ({} if self.case.numerics.halo_compression == "exact" else {"halo_error_rms": halo.loss.rms})

    def timings(self) -> dict[str, float]:
        halo = self.operator.overlap.halo.seconds if self.operator.overlap else {}
        return {**self.wall, **self.seconds, **{f"messages_{name}": seconds for name, seconds in halo.items()}}

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on where the checkpoint was taken."""
        restore(self, checkpoint)

    def snapshots(self) -> dict[str, tuple[int, list[Any]]]:
        """How many were taken and what writes them, by kind."""
        return {
            kind: (len(shots.writers[0].times) if shots.writers else 0, shots.writers)
            for kind, shots in self.shots.items()
        }

    # ---- running --------------------------------------------------------------------------------------------------

    def _energy_steps(self) -> frozenset[int]:
        setting, dt = self.case.output.energies, self.plan.scheme.step
        if setting is None:
            return frozenset()
        count = int(self.case.end_time / setting.interval + 1e-9)
        return frozenset(max(1, round(k * setting.interval / dt)) for k in range(1, count + 1))

    def _together(self, chunk: int, look: bool) -> tuple[int, bool, bool]:
        """Steps until all look at the clock again, whether one of them was interrupted, whether it is time for a look at the numbers:
        the same for all processes."""
        if self.world.size == 1:
            return chunk, self.interrupted, look
        least, stopped, due = self.world.largest([-float(chunk), float(self.interrupted), float(look)])
        return int(-least), bool(stopped), bool(due)

    def _loop(self, end: float, progress: Callable[[Any], None] | None) -> None:
        op, dt, started = self.operator, self.plan.scheme.step, clock.perf_counter()
        last, first = int(np.ceil(end / dt * (1 - 1e-9))), op.steps
        asked = self.case.output.energies is not None
        block = op.subdomain.steps or getattr(getattr(op.runner, "blocking", None), "steps", 1)
        due = [*self._due, (self._energy_steps(), lambda: self.energy_rows.append((op.time, self.energy_now())))]
        if self.maps is not None:
            due.append((frozenset(self.maps.steps()), self.maps.take))
        due.append((self.watch.steps(), self._look))
        keeper = Keeper(self, self.folder) if self.folder else None
        events = sorted(frozenset(keeper.due if keeper else ()).union(*(steps for steps, _ in due)))
        if asked and not self.energy_rows:
            self.energy_rows.append((op.time, self.energy_now()))
        chunk, checked = block, clock.perf_counter()
        stopping = look = False  # what was told before, all hear of after some steps
        while op.steps < last and not stopping:
            following = bisect.bisect_right(events, op.steps)
            stop = min([last, op.steps + chunk, *events[following : following + 1]])
            before, count = clock.perf_counter(), stop - op.steps
            values = op.advance(count)
            now = clock.perf_counter()
            self.seconds["step"] += now - before
            chunk = block * max(1, int(CHUNK_SECONDS / max((now - before) / count, 1e-9) / block))
            if self.recorder is not None and values is not None:
                self.recorder.append(values)
            for steps, take in due:
                if op.steps in steps:
                    take()
            if look or op.steps == last:
                checked = now
                if not op.finite():
                    self.wrong = "velocities are no longer finite numbers"
                    raise BlowUp
            if keeper is not None and op.steps < last:
                keeper.step()
            if progress and self.world.first:
                spent, updates = now - started, (op.steps - first) * self.plan.points
                left = spent * (last - op.steps) / max(op.steps - first, 1)
                progress(Progress(op.time, end, updates, updates / max(spent, 1e-9), left))
            chunk, stopping, look = self._together(chunk, clock.perf_counter() - checked > CHECK_SECONDS)
            self.seconds["observe"] += clock.perf_counter() - now
        self.interrupted = stopping
        if keeper is not None and self.interrupted:
            keeper.take()
        if asked and self.energy_rows[-1][0] < op.time:
            self.energy_rows.append((op.time, self.energy_now()))
        self.wall["stepping"] += clock.perf_counter() - started

    def _finish(self, finishers: list[Finisher]) -> None:
        for finish in finishers:
            finish(self.time)

    def _look(self) -> None:
        """At whether motion grows as no wave does."""
        self.wrong = self.watch.look()
        if self.wrong:
            raise BlowUp

    def _explain(self, folder: Path | None) -> str:
        return explain(self.watch, self.wrong)

    def _open_fields(self, folder: Path, stack: ExitStack) -> list[Finisher]:
        out, plan = self.case.output, self.plan
        stack.callback(self.shots.clear)
        stack.callback(self._due.clear)
        if out.surface is not None:
            surface = SurfaceShots(plan, self.operator)
            done = (self.resumed or {}).get("surface", (0, []))[1]
            shots = Shots("surface", plan, surface.lattice, surface.names, surface, folder, stack, done)
            if out.xdmf and plan.world.first:
                path = folder / f"{out.prefix}-surface.xdmf"
                shots.writers.append(triangles(path, plan, surface.names, stack, done))
            self.shots["surface"] = shots
        if out.volume is not None and plan.window is not None:
            window, names = plan.window, volume_fields(out.volume, plan.law)
            done = (self.resumed or {}).get("volume", (0, []))[1]
            values = volume_values(plan, self.operator, window)
            lattice = window.lattice(plan.scheme.grid, plan.projection)
            self.shots["volume"] = Shots("volume", plan, lattice, names, values, folder, stack, done)
        for shots in self.shots.values():
            self.files += [
                path for writer in shots.writers for path in (*getattr(writer, "parts", {}).values(), writer.path)
            ]
            self._due.append((frozenset(shots.due), partial(self._shoot, shots)))
            if self.operator.steps == 0:
                self._shoot(shots)
        return []

    def _shoot(self, shots: Shots) -> None:
        shots.take(self.operator.steps)

    def _write(self, folder: Path, status: Literal["failed"] | None = None) -> None:
        receivers, energies = self.receivers, self.energies
        maps = self.maps.dataset() if self.maps is not None else None
        self.world.together(lambda: self._write_recorded(folder, receivers, energies, maps, status))

    def _write_recorded(
        self,
        folder: Path,
        receivers: Dataset | None,
        energies: Dataset | None,
        maps: Dataset | None,
        status: Literal["failed"] | None,
    ) -> None:
        """What all have recorded, by the first process."""
        prefix, deck = self.case.output.prefix, self.case.output.seissol_layout
        if receivers is not None:
            self.files.append(write_receivers(folder / f"{prefix}-receivers.h5", [receivers]))
            if deck:
                self.files += seissol_dat.write_receivers(folder, prefix, receivers)
        if energies is not None:
            self.files.append(write_energies(folder / f"{prefix}-energy.csv", energies))
        if self.maps is not None and maps is not None:
            self.files += self.maps.write(folder, maps)
        write_run_manifest(self, folder, status)
