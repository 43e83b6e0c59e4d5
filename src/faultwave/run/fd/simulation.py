"""A case on a regular grid, run by ``fd.solver``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np

from faultwave.base.errors import Problem
from faultwave.engine.part import BlockState, LatticeSeries, Origin, State
from faultwave.engine.solver import BlowUp as EngineBlowUp
from faultwave.fd.part import FdPlan
from faultwave.fd.solver import FdSolver
from faultwave.observe.dataset import Dataset
from faultwave.output.checkpoint import Checkpoint
from faultwave.output.formats import geotiff, maps_netcdf, seissol_dat, shakemap
from faultwave.output.formats.energies_csv import write_energies
from faultwave.output.formats.receivers_hdf5 import write_receivers
from faultwave.run import checkpoints
from faultwave.run.lattice_files import LatticeFiles, Opening
from faultwave.run.manifest import write_run_manifest
from faultwave.run.session import BlowUp, Finisher, Session


class FdSimulation(Session):
    obstacle = ""

    def __init__(self, plan: FdPlan, force: bool = False, warnings: Sequence[Problem] = ()):
        super().__init__(plan.case, force, (*warnings, *plan.warnings), plan.world)
        self.plan, self.solver = plan, FdSolver(plan)
        self.operator, self.parts = self.solver.operator, self.solver.parts
        self.wall = self.solver.wall
        self.way = self.operator.overlap.way if self.operator.overlap else None
        self.open: dict[str, LatticeFiles] = {}

    @property
    def runs_on(self) -> str:
        return self.solver.runs_on

    @property
    def time(self) -> float:
        return self.solver.time

    @property
    def cells(self) -> int:
        return self.solver.size

    def found(self, kind: str) -> Any:
        results = list(self.parts[kind].results()) if kind in self.parts else []
        return results[0] if results else None

    def data(self, kind: str) -> Dataset | None:
        found = self.found(kind)
        return found.data if found is not None and self.world.first else None

    @property
    def receivers(self) -> Dataset | None:
        return self.data("receivers")

    @property
    def energies(self) -> Dataset | None:
        return self.data("energies")

    @property
    def intensity(self) -> Dataset | None:
        return self.data("intensity")

    @property
    def watch(self) -> Any:
        return self.solver.watch

    def energy_now(self) -> dict[str, float]:
        return self.solver.energies()

    def set_initial(self, solution: Any) -> None:
        self.solver.set_initial(solution)

    def error(self, solution: Any) -> np.ndarray:
        return self.solver.error(solution)

    def rates(self) -> dict[str, float]:
        return self.solver.rates()

    def timings(self) -> dict[str, float]:
        return self.solver.timings()

    def _loop(self, end: float, progress: Callable[[Any], None] | None) -> None:
        try:
            self.solver.run(end, Run(self, progress))
        except EngineBlowUp:
            raise BlowUp from None

    def _finish(self, finishers: list[Finisher]) -> None:
        for part in self.parts.values():
            part.finish(self.time)

    def _explain(self, folder: Path | None) -> str:
        return self.solver.diagnose().text

    def lattice(self, kind: str, series: LatticeSeries) -> LatticeFiles:
        out = self.case.output
        dtype = np.float32 if out.precision == "single" else np.float64
        done = (self.resumed or {}).get(kind, (0, []))[1]
        assert self.folder is not None
        stem = self.folder / f"{out.prefix}-{kind}"
        files = LatticeFiles(series, Opening(stem, dtype, self.case.title, done, self.world.first))
        self.open[kind] = self.stack.enter_context(files)
        self.files += files.paths
        return files

    def _open_fields(self, folder: Path, stack: ExitStack) -> list[Finisher]:
        self.stack = stack
        for part in self.parts.values():
            stack.callback(part.close)
            part.open(self)  # type: ignore[arg-type]
        stack.callback(self.open.clear)
        return []

    def _write(self, folder: Path, status: Literal["failed"] | None = None) -> None:
        results = [r for part in self.parts.values() for r in part.results()]
        self.world.together(lambda: self._write_recorded(folder, {r.kind: r for r in results}, status))

    def _write_recorded(self, folder: Path, found: Any, status: Literal["failed"] | None) -> None:
        prefix, deck = self.case.output.prefix, self.case.output.seissol_layout
        if "receivers" in found:
            self.files.append(write_receivers(folder / f"{prefix}-receivers.h5", [found["receivers"].data]))
            if deck:
                self.files += seissol_dat.write_receivers(folder, prefix, found["receivers"].data)
        if "energies" in found:
            self.files.append(write_energies(folder / f"{prefix}-energy.csv", found["energies"].data))
        if "intensity" in found:
            for module in (maps_netcdf, geotiff, shakemap):
                self.files += module.write_intensity([found["intensity"]], folder, prefix)
        write_run_manifest(self, folder, status)

    def states(self) -> Iterator[tuple[str, State | BlockState]]:
        groups: Mapping[str, Mapping[str, State | BlockState]] = {
            **self.solver.state(), **{n: p.state() for n, p in self.parts.items()}
        }  # fmt: skip
        for group, states in groups.items():
            for name, state in states.items():
                yield f"{group}/{name}", state

    def restore(self, checkpoint: Checkpoint) -> None:
        notes = checkpoint.notes
        self.solver.accept(notes, str(checkpoint.folder))
        parts = [checkpoint.part(n) for n in range(len(checkpoint.parts))]
        arrays: dict[str, np.ndarray] = {}
        later = []
        for name, state in self.states():
            if isinstance(state, BlockState):
                for part in parts:
                    if name in part:
                        state.take(part[name], tuple(part[f"low/{name}"].tolist()))
            elif state.rows is None:
                arrays[name] = parts[0][name]
                later.append((name, state))
            else:
                rows = np.concatenate([p[f"rows/{name}"] for p in parts])
                values = np.concatenate([p[name] for p in parts])
                order = np.argsort(rows)
                arrays[name] = values[order[np.searchsorted(rows, state.rows, sorter=order)]]
                later.append((name, state))
        for name, state in later:
            group = name.split("/")[0]
            own = {n.split("/")[1]: v for n, v in arrays.items() if n.split("/")[0] == group}
            state.write(arrays[name], Origin(notes, True, own))
        self.solver.restored(notes)
        self.wall |= {name: seconds for name, seconds in notes["wall"].items() if name != "setup"}
        self.resumed = {kind: (int(file["next"]), file["times"]) for kind, file in notes["files"].items()}


class Run:
    def __init__(self, sim: FdSimulation, progress: Callable[[Any], None] | None):
        self.sim, self.show = sim, progress
        self.keeper = Keeper(sim, sim.folder) if sim.folder else None
        self.keeps = self.keeper is not None
        self.checkpoint_interval = self.keeper.interval if self.keeper else np.inf

    @property
    def stop_asked(self) -> bool:
        return self.sim.interrupted

    @property
    def stopped(self) -> bool:
        return self.sim.interrupted

    @stopped.setter
    def stopped(self, value: bool) -> None:
        self.sim.interrupted = value

    def overdue(self) -> bool:
        return self.keeper is not None and self.keeper.overdue()

    def checkpoint(self) -> None:
        import time

        sim, arrays = self.sim, dict[str, np.ndarray]()
        assert self.keeper is not None
        self.keeper.written = time.perf_counter()
        for name, state in sim.states():
            if isinstance(state, BlockState):
                arrays[name], arrays[f"low/{name}"] = state.read(), np.array(state.low)
            elif state.rows is not None or sim.world.first:
                arrays[name] = state.read()
                if state.rows is not None:
                    arrays[f"rows/{name}"] = state.rows
        notes = {"time": sim.time, "wall": dict(sim.wall), "case": sim.case.model_dump(mode="json", exclude_unset=True), "files": {},
                 **sim.solver.notes()}  # fmt: skip
        self.keeper.write(notes, arrays)

    def progress(self, state: Any) -> None:
        if self.show is not None:
            self.show(state)


class Keeper(checkpoints.Keeper):
    def __init__(self, sim: FdSimulation, folder: Path):
        super().__init__(sim, folder)
        self.sim = sim

    def settle(self, notes: dict[str, Any]) -> None:
        for kind, files in self.sim.open.items():
            notes["files"][kind] = {"next": files.next_number, "times": files.settle()}
