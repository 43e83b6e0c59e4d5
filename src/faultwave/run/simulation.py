"""The simulation a user holds: run it, look at its results, write its files."""

from __future__ import annotations

import functools
import re
import time as clock
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np

from faultwave.base.errors import Problem, RunError
from faultwave.comm import world
from faultwave.dg import fields
from faultwave.dg.asked import fault_receiver_fields
from faultwave.dg.far_field import FarField
from faultwave.dg.fault_histories import fault_recorder
from faultwave.dg.initial import initial_state
from faultwave.dg.motion import SurfaceMotion
from faultwave.dg.plan import Plan
from faultwave.dg.ports import port_recorder
from faultwave.dg.share import share
from faultwave.dg.solver import Engine, energies, receiver_recorder
from faultwave.dg.surfaces import energy_flow, recorder
from faultwave.engine.progress import Progress
from faultwave.observe import receivers as seismograms
from faultwave.observe.dataset import Dataset, energies_from_arrays
from faultwave.observe.fault_receivers import FaultRecorder
from faultwave.observe.resonances import Resonance
from faultwave.observe.resonances import table as resonance_table
from faultwave.output.atomic import atomic_text
from faultwave.output.background import Behind
from faultwave.output.checkpoint import Checkpoint
from faultwave.output.fields import CellFieldWriter
from faultwave.output.formats import seissol_dat
from faultwave.output.formats.energies_csv import write_energies
from faultwave.output.formats.receivers_hdf5 import write_receivers
from faultwave.output.formats.vtkhdf import VtkHdfWriter
from faultwave.output.formats.xdmf import XdmfWriter
from faultwave.output.slabs import SlabWriter
from faultwave.run import gathered
from faultwave.run.blowup import diagnose, write_neighbourhood
from faultwave.run.manifest import write_run_manifest
from faultwave.run.port_results import port_signals, waves_of
from faultwave.run.restart import Keeper, material, mesh_identity, restore
from faultwave.run.ringing import ringing
from faultwave.run.session import BlowUp, Session

LOOK = 1e7
"""Element updates after which a device is asked whether its numbers are finite: it has to stop for that."""


class Simulation(Session):
    """One case ready to run; ``run`` advances to the end time and writes the case's outputs.

    ``receivers``, ``fault_receivers`` and ``energies`` are Datasets (or None) of what was recorded so far.
    """

    obstacle = ""

    def __init__(self, plan: Plan, force: bool = False, warnings: Sequence[Problem] = ()):
        started = clock.perf_counter()
        super().__init__(plan.case, force, (*warnings, *plan.warnings), world())
        state = initial_state(plan.case, plan.law, plan.material)
        self.plan = plan = share(plan, self.world)
        self.engine = Engine(plan)
        self.way = self.engine.way
        if state is not None:
            self.engine.project(state)
        self.recorder = receiver_recorder(self.engine)
        self.fault_recorder, self.lent_recorder, self.fault_fields = self._fault_recorders()
        shown = plan.case.output.surface
        self.motion = SurfaceMotion(self.engine, shown) if shown is not None else None
        self.flux_recorders = [
            recorder(self.engine, surface, setting.interval, energy_flow(plan.law))
            for surface, setting in zip(plan.flux, plan.case.output.flux, strict=True)
        ]
        self.sums_before: dict[str, np.ndarray] = {}  # of surfaces, before a checkpoint; on the first process
        self.ports = [port_recorder(self.engine, port, self._port_interval()) for port in plan.drives.ports]
        self.far_field = FarField(self.engine, plan.around) if plan.around is not None else None
        self.energy_rows: list[tuple[float, dict[str, float]]] = []
        self.energies_due = 0.0
        self.largest_energy, self.looks = 0.0, 0
        self.looked = 0.0  # the time at which the numbers were last seen to be finite
        self.snapshots: dict[str, tuple[fields.Snapshots, list[CellFieldWriter | SlabWriter]]] = {}
        self._good: tuple[float, np.ndarray] | None = None
        self.quiet_since: float | None = None
        self.wall["setup"] = clock.perf_counter() - started

    # ---- results --------------------------------------------------------------------------------------------------

    @property
    def runs_on(self) -> str:
        return self.engine.backend.described

    @property
    def time(self) -> float:
        """Simulated time reached [s]."""
        return self.engine.march.time

    @property
    def receivers(self) -> Dataset | None:
        """Seismograms: values (time, receiver, quantity). Of several processes all must ask; the first gets them."""
        return gathered.receivers(self)

    @property
    def fault_receivers(self) -> Dataset | None:
        """Histories on the fault: values (time, receiver, quantity), NaN where a slower cluster has fewer samples."""
        return gathered.fault_receivers(self)

    @property
    def energies(self) -> Dataset | None:
        """Energies, work and moment at the times asked for."""
        if not self.energy_rows:
            return None
        names = self.energy_rows[0][1]
        return energies_from_arrays(
            [t for t, _ in self.energy_rows], {n: [e[n] for _, e in self.energy_rows] for n in names}
        )

    def _port_interval(self) -> float:
        """Twenty samples a period of the highest frequency."""
        return 0.05 / self.case.ports.band[1]  # type: ignore[union-attr]

    @property
    def port_waves(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Frequencies (nf,) [Hz] and the waves a, b (ports, 2, nf) of every port so far; None where there are no ports."""
        return waves_of(self, port_signals(self)) if self.case.ports is not None else None

    @property
    def cross_sections(self) -> np.ndarray | None:
        """Rows of the radar cross section: frequency [Hz], theta, phi [degrees], cross section [m^2]; None if not asked for. Of
        several processes all must ask; the first gets them."""
        return self.far_field.table() if self.far_field is not None else None

    @property
    def flux(self) -> list[Dataset]:
        """Energy flow [W] through every surface asked for, each with its own times. Of several processes all must ask."""
        recorders = zip(self.plan.flux, self.flux_recorders, strict=True)
        found = [(s.name, *gathered.sums(self, r, f"flux{i}")) for i, (s, r) in enumerate(recorders)]
        return [energies_from_arrays(t, {f"flux through {name}": v[:, 0]}) for name, t, v in found if len(t)]

    @property
    def resonances(self) -> list[Resonance]:
        """Resonances in the band of ``output.spectrum``, of all receivers and quantities together. Of several processes all must ask."""
        return ringing(self, self.receivers)

    def sample(self, points: Any) -> np.ndarray:
        """State (n, Q) at points (n, 3) at the time reached; NaN outside the mesh."""
        return self.engine.sample(np.asarray(points, float).reshape(-1, 3))

    def error(
        self, solution: Callable[..., np.ndarray], inside: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """Relative L2 error (Q,) against solution(points (n, 3), time) -> (n, Q)."""
        return self.engine.error(solution, inside)

    def set_initial(self, solution: Callable[..., np.ndarray]) -> None:
        """Start from the projection of solution(points (n, 3), 0.0) -> (n, Q)."""
        self.engine.project(lambda x: solution(x, 0.0))

    def energy_now(self) -> dict[str, float]:
        """Energies, work and moment at the time reached."""
        return gathered.added(self, energies(self.engine))

    # ---- running --------------------------------------------------------------------------------------------------

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on where the checkpoint was taken."""
        restore(self, checkpoint)

    @property
    def settled(self) -> bool:
        """Whether nothing is half recorded: every receiver and snapshot stands at the same time."""
        recorders = [self.recorder, *self.flux_recorders, *self.ports, self.far_field and self.far_field.recorder]
        return all(r.settled for r in recorders if r) and all(shots.settled for shots, _ in self.snapshots.values())

    @functools.cached_property
    def material_identity(self) -> dict[str, int]:
        """By what a checkpoint knows the medium and friction; found by all processes together."""
        return material(self)

    @functools.cached_property
    def mesh_identity(self) -> str:
        """A hash by which a checkpoint knows its mesh."""
        return mesh_identity(self)

    def _finish(self, finishers: list[Callable[[float], None]]) -> None:
        """Samples and snapshots that fall on the very end."""
        if self.recorder:
            recorder, cells = self.recorder, self.plan.receivers.cells  # type: ignore[union-attr]
            recorder.finish(self.time, lambda c: self.engine.operator.dofs(cells[recorder.clusters[c]]).astype(float))
        for flux, surface in zip(self.flux_recorders, self.plan.flux, strict=True):
            flux.finish(self.time, self._dofs_of(flux, surface.cells))
        for finish in finishers:
            finish(self.time)

    def _dofs_of(self, recorder: seismograms.ReceiverRecorder, cells: np.ndarray) -> Callable[[int], np.ndarray]:
        return lambda c: self.engine.operator.dofs(cells[recorder.clusters[c]]).astype(float)

    def _check(self) -> None:
        """Stop when numbers are no longer finite, wherever that is; remember the last good state for the diagnosis."""
        finite = self.engine.operator.finite()
        (bad,) = self.world.largest([not finite])
        if bad:
            raise BlowUp
        self._good = (self.time, self.engine.operator.raw_means())

    def _checked(self, must: bool) -> bool:
        """``_check``, where that is cheap or much has been computed since the last one."""
        if self.engine.backend.ahead and not must:
            whole = self.plan.clustering
            done = (self.time - self.looked) * float((whole.histogram / whole.steps).sum())  # the same on every process
            if 0.0 <= done < LOOK:
                return False
        self.looked = self.time
        self._check()
        return True

    def _explain(self, folder: Path | None) -> str:
        mine = np.inf if self.engine.operator.finite() else self.world.rank
        told = -self.world.largest([-mine])[0]
        found = self._diagnosis(folder) if self.world.rank == told else None
        text, path = next(f for f in self.world.share(self.world.gather(found)) if f is not None)
        if path is not None:
            self.files.append(path)  # also of the first process, which writes the manifest
        return str(text)

    def _diagnosis(self, folder: Path | None) -> tuple[str, Path | None]:
        """What to tell of a blow-up here, and the file that shows where it is."""
        diagnosis = diagnose(self.engine, self.time)
        if folder is None or self._good is None:
            return diagnosis.text, None
        path = folder / f"{self.case.output.prefix}-blowup.vtkhdf"
        time, raw = self._good
        means = self.engine.operator.restored(raw)
        write_neighbourhood(self.engine, diagnosis.cell, time, means, path)
        return f"{diagnosis.text}\nthe last good state around that cell is in {path}", path

    def _loop(self, end: float, progress: Callable[[Progress], None] | None) -> None:
        backend = self.engine.backend
        try:
            self._march(end, progress)
        except backend.failures as error:
            last = f"; go on from the last checkpoint with: faultwave resume {self.folder}" if self.checkpoints else ""
            text = f"{backend.described} failed at t = {self.time:g} s: {type(error).__name__}: {error}{last}"
            raise RunError(text) from error

    def _march(self, end: float, progress: Callable[[Progress], None] | None) -> None:
        keeper = Keeper(self, self.folder) if self.folder else None
        march, started, first = self.engine.march, clock.perf_counter(), self.engine.updates
        begin, spent_before = march.time, self.wall["stepping"]
        self.engine.settle()
        self._record_energies(not self.energy_rows)
        stops = self._sync_times(begin, end)
        stopping = False
        while march.time < end * (1 - 1e-12):
            stop = next((s for s in stops if s > march.time * (1 + 1e-12) + 1e-300), end)
            if march.time + march.longest > stop * (1 - 1e-12):
                march.advance(stop)
            else:
                self.engine.replays.advance(self._free(stop))
            self.engine.settle(wait=False)
            checked = self._checked(march.time >= stop * (1 - 1e-12))
            self._record_energies(march.time >= self.energies_due * (1 - 1e-9))
            spent, updates = clock.perf_counter() - started, self.engine.updates - first
            self.wall["stepping"] = spent_before + spent
            if progress and self.world.first:
                updates = int(updates * self.updates_share)
                rest = spent * (end - march.time) / max(march.time - begin, 1e-300)
                progress(Progress(march.time, end, updates, updates / max(spent, 1e-9), rest))
            if self._rupture_over() or self._quiet():
                break
            stopping = bool(self.world.largest([self.interrupted])[0])  # a signal to one process is heeded by all
            if march.time < end * (1 - 1e-12) and keeper is not None and not stopping and checked:
                keeper.step()
            if stopping and (keeper is None or self.all_settled()):
                if keeper is not None:
                    if not checked:
                        self._check()
                    keeper.take()
                break
        self.interrupted = stopping  # a signal that comes later finds a finished run
        self.engine.settle()
        self._record_energies(bool(self.energy_rows) and self.energy_rows[-1][0] < march.time)  # also an early end

    def _free(self, stop: float) -> int:
        """Largest steps that nobody wants to look between."""
        if self.case.stop.model_dump(exclude_none=True):
            return 1
        until = min(stop, self.energies_due if self.case.output.energies else stop)
        return max(1, int((until - self.time) / self.engine.march.longest + 1e-9))

    def _record_energies(self, now: bool) -> None:
        setting = self.case.output.energies
        if setting and now:
            self.energy_rows.append((self.time, self.energy_now()))
            self.energies_due = (np.floor(self.time / setting.interval + 1e-9) + 1) * setting.interval

    def _sync_times(self, begin: float, end: float) -> list[float]:
        """Times every step must meet: the end, and with output.sync every output time."""
        times = {end}
        if self.case.output.sync:
            out = self.case.output
            for setting in (out.energies, out.volume, out.surface, out.fault):
                if setting is not None and setting.interval < end:
                    times |= {k * setting.interval for k in range(1, int(end / setting.interval + 1e-9) + 1)}
        return sorted(t for t in times if begin < t <= end * (1 + 1e-12))

    def _quiet(self) -> bool:
        """Whether all energy is below the share of its largest value so far at which the case wants to stop."""
        self.looks += 1
        if self.case.stop.energy_below is None or self.looks % 20:  # a look costs about as much as a step
            return False
        total = sum(v for k, v in self.world.share(self.energy_now()).items() if k.endswith("energy"))
        self.largest_energy = max(self.largest_energy, total)
        return total < self.case.stop.energy_below * self.largest_energy

    def _rupture_over(self) -> bool:
        stop, fault = self.case.stop, self.engine.fault
        if stop.time_after_rupture is None:
            return False
        fastest = moment = ruptured = 0.0
        if fault is not None:
            record = fault.record()
            fastest, moment, ruptured = (
                float(record["slip_rate"].max()),
                fault.moment_rate(record),
                float(record["ruptured"].any()),
            )
        fastest, ruptured = self.world.largest([fastest, ruptured])
        moment = self.world.share(gathered.added(self, {"rate": moment})["rate"])
        quiet = bool(ruptured)
        if stop.slip_rate_below is not None:
            quiet &= fastest < stop.slip_rate_below
        if stop.moment_rate_below is not None:
            quiet &= moment < stop.moment_rate_below
        if not quiet:
            self.quiet_since = None
            return False
        self.quiet_since = self.time if self.quiet_since is None else self.quiet_since
        return self.time - self.quiet_since >= stop.time_after_rupture

    # ---- observing and writing ------------------------------------------------------------------------------------

    def _fault_recorders(self) -> tuple[FaultRecorder | None, FaultRecorder | None, list[str]]:
        """Of the points here, and of those that are seen from here for their owners; what they record."""
        setting = self.case.output.fault_receivers
        if setting is None:
            return None, None, []
        names, share = fault_receiver_fields(setting), self.plan.share
        lent = fault_recorder(self.engine, share.lent_fault_receivers, names) if share else None
        return fault_recorder(self.engine, self.plan.fault_receivers, names), lent, names

    def _open_fields(self, folder: Path, stack: ExitStack) -> list[Callable[[float], None]]:
        out = self.case.output
        e, shown = self.engine, self.motion
        hooks: list[list[Any]] = [e.before, e.predicted, e.corrected, e.watched]
        hooks += [shown.before, shown.waits] if shown else []
        for listed in hooks:  # those added below go with the files they write to
            stack.callback(listed.__setitem__, slice(None), list(listed))
        dtype = fields.written_as(self.case)

        def open_writers(
            kind: str, points: np.ndarray, cells: np.ndarray, static: dict, names: list[str]
        ) -> list[fields.Writer]:
            path = folder / f"{out.prefix}-{kind}"
            done = (self.resumed or {}).get(kind, (0, []))[1]
            ahead = np.floor(self.end / getattr(out, kind).interval + 1e-9) + 1
            steps = int(ahead - np.ceil((0.0 if done else self.time) / getattr(out, kind).interval - 1e-9))
            writers: list[CellFieldWriter | SlabWriter] = []
            for make, suffix in ((VtkHdfWriter, "vtkhdf"), (XdmfWriter, "xdmf")):
                if suffix == "xdmf" and not out.xdmf:
                    continue
                several = self.world.size > 1
                new = functools.partial(_opened, make, Path(f"{path}.{suffix}"), names, dtype, steps, done, not several)
                writers.append(
                    SlabWriter(self.world, new, points, cells, static, out.shared_files, bool(done))
                    if several
                    else new(points, cells, static)
                )
            opened[kind] = writers
            for writer in writers:
                stack.enter_context(writer)
                self.files.append(writer.path)
            return [Behind(writer, self.background) for writer in writers]

        opened: dict[str, list[CellFieldWriter | SlabWriter]] = {}
        made: dict[str, fields.Hooked] = {}
        if out.volume is not None:
            made["volume"] = fields.volume(self.engine, out.volume, open_writers)
        if self.motion is not None:
            made["surface"] = fields.surface(self.motion, out.surface, open_writers)
        if out.fault is not None:
            made["fault"] = fields.fault(self.engine, out.fault, open_writers)
        self.snapshots = {kind: (shots, opened[kind]) for kind, (shots, _) in made.items()}
        stack.callback(self.snapshots.clear)
        for kind, (number, _) in (self.resumed or {}).items():
            self.snapshots[kind][0].go_on(number)
        return [finish for _, finish in made.values()]

    def all_settled(self) -> bool:
        """``settled`` on every process."""
        return not self.world.largest([not self.settled])[0]

    @property
    def updates_share(self) -> float:
        """All processes' element updates over those of this one."""
        whole, here = self.plan.clustering, self.plan.clustering.cluster
        rate = 1.0 / whole.steps
        return float((whole.histogram * rate).sum() / max(rate[here].sum(), 1e-300))

    def rates(self) -> dict[str, float]:
        """What was computed and how fast."""
        engine = self.engine
        updates = engine.updates * self.updates_share
        cells = engine.seconds["predict"] + engine.seconds["correct"]
        return {
            "element_updates": updates,
            "element_updates_per_second": updates / max(self.wall["stepping"], 1e-9),
            "element_updates_per_second_outside_rupture_and_output": updates / max(cells, 1e-9),
            "threads": float(getattr(engine.backend, "threads", 1)),
            "processes": float(self.world.size),
            **self._halo_loss(),
        }

    def _halo_loss(self) -> dict[str, float]:
        """Errors of the rounded messages this process has sent, relative to the largest value of each."""
        exchange = self.engine.exchange
        if exchange is None or self.case.numerics.halo_compression == "exact":
            return {}
        return {"halo_error_largest": exchange.loss.largest, "halo_error_rms": exchange.loss.rms}

    def timings(self) -> dict[str, float]:
        """Seconds of each part of the run."""
        return {**self.wall, **self.engine.seconds}

    @property
    def cells(self) -> int:
        """Elements."""
        return self.plan.cells

    def _write(self, folder: Path, status: Literal["failed"] | None = None) -> None:
        prefix, recorded = self.case.output.prefix, (self.receivers, self.fault_receivers)
        flux, sections, rung = self.flux, self.cross_sections, ringing(self, recorded[0])
        if self.far_field is not None and self.far_field.remark:
            self.warnings = (*self.warnings, Problem("output.far_field", self.far_field.remark, severity="warning"))
        self.world.together(lambda: self._write_recorded(folder, prefix, recorded, flux, sections, rung, status))

    def _write_recorded(
        self,
        folder: Path,
        prefix: str,
        recorded: tuple[Dataset | None, Dataset | None],
        flux: list[Dataset],
        sections: np.ndarray | None,
        rung: list[Resonance],
        status: Literal["failed"] | None,
    ) -> None:
        found = [d for d in recorded if d is not None]
        if found:
            self.files.append(write_receivers(folder / f"{prefix}-receivers.h5", found))
        deck = self.case.output.seissol_layout
        for data, write in (
            (recorded[0], seissol_dat.write_receivers),
            (recorded[1], seissol_dat.write_fault_receivers),
        ):
            if data is not None and deck:
                self.files += write(folder, prefix, data)
        if self.energies is not None:
            table = folder / f"{prefix}-energy.csv"
            self.files.append((seissol_dat.write_energy if deck else write_energies)(table, self.energies))
        for surface, data in zip(self.plan.flux, flux, strict=False):
            name = re.sub(r"[^\w.-]+", "-", surface.name)
            self.files.append(write_energies(folder / f"{prefix}-flux-{name}.csv", data))
        if sections is not None:
            path = folder / f"{prefix}-far-field.csv"
            with atomic_text(path) as file:
                file.write("frequency,theta,phi,cross_section\n")
                file.writelines(",".join(f"{v:.9e}" for v in row) + "\n" for row in sections)
            self.files.append(path)
        if self.case.output.spectrum is not None:
            path = folder / f"{prefix}-resonances.csv"
            with atomic_text(path) as file:
                file.writelines(",".join(row) + "\n" for row in resonance_table(rung))
            self.files.append(path)
        write_run_manifest(self, folder, status)


def _opened(
    make: Callable[..., CellFieldWriter], path: Path, names: list[str], dtype: Any, steps: int, done: list[float], fills: bool,
    points: np.ndarray, cells: np.ndarray, static: dict[str, np.ndarray],
) -> CellFieldWriter:  # fmt: skip
    return make(path, points, cells, static, names, dtype, steps, done, fills)
