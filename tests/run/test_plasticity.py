"""Runs with rock that yields: against elastic runs, on processes, over checkpoints, what is written, what is refused."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, Interrupted
from faultwave.case.load import load_case
from faultwave.domain import tets
from faultwave.domain.tets.formats.parts import write_parts
from faultwave.output.formats.csv_tables import read_energies
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.physics.rheology import STRESS
from faultwave.verify.compare import compare
from tests.backends.here import DEVICE, needs_device
from tests.run.rupture.setup import SLIP_WEAKENING, settings, slip_weakening, small_mesh

REST = {"s_xx": -60e6, "s_yy": -70e6, "s_zz": -65e6, "s_xy": 21e6, "s_yz": 0.0, "s_xz": 0.0}
STRAINS = ["ep_xx", "ep_xy", "eta"]
WEAK = 0.3e6


def rock(cohesion: float = WEAK, **more: Any) -> dict[str, Any]:
    constant = {"plastic_cohesion": cohesion, "bulk_friction": 0.35, **REST}
    return {"parameters": {"constant": constant}, "constants": {"relaxation_time": 0.05}, **more}


def asked(path: Path, name: str, plasticity: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """A small rupture in rock that yields, order 3."""
    made = settings(path, slip_weakening(), end_time=more.pop("end_time", 0.4), **more)
    fields = ["v1", "s_xy", *(STRAINS if plasticity else [])]
    made["output"] |= {
        "folder": str(path / name), "volume": {"interval": 0.2, "fields": fields}, "energies": {"interval": 0.2},
        "receivers": {"points": [[100.0, 900.0, -300.0]], "interval": 0.01}, "checkpoint": {"interval": 0.15},
    }  # fmt: skip
    made["numerics"] |= {"threads": 1}
    return made | ({"plasticity": plasticity} if plasticity else {})


def run(case: dict[str, Any]) -> Any:
    return fw.simulate(case, force=True).run()


def stopped(case: dict[str, Any]) -> Any:
    """By a signal at half the time."""
    half = fw.simulate(case, force=True)
    with pytest.raises(Interrupted):
        half.run(progress=lambda p: signal.raise_signal(signal.SIGTERM) if p.time > 0.2 else None)
    return half


def test_stress_of_receivers_has_yielded_at_its_own_time(tmp_path: Path) -> None:
    """Without relaxation no sample lies beyond yield, within a step either, where cells yield at its end only; decks show SeisSol's.

    The last sample is that of the cells at the end of the run, whose polynomials have yielded at some points.
    """
    beyond = {}
    for layout in (False, True):
        plasticity = rock(constants={"relaxation_time": 0.0})
        case = asked(tmp_path, f"run{layout}", plasticity, end_time=0.4)
        places = [[x, y, -2200.0] for x in (-2100.0, -1100.0, 1100.0, 2100.0) for y in (-250.0, 250.0)]
        case["output"]["receivers"] = {"points": places, "interval": 0.001}
        case["output"]["seissol_layout"] = layout
        data = fw.simulate(case, force=True).run(write=False).receivers
        xx, yy, zz, xy, yz, xz = (data.quantity(name)[:-1] + REST[name] for name in STRESS.widths)
        mean = (xx + yy + zz) / 3.0
        tau = np.sqrt(0.5 * ((xx - mean) ** 2 + (yy - mean) ** 2 + (zz - mean) ** 2) + xy**2 + yz**2 + xz**2)
        angle = np.arctan(0.35)
        beyond[layout] = (tau / np.maximum(WEAK * np.cos(angle) - mean * np.sin(angle), 0.0) - 1.0).max()
        assert np.ptp(data.quantity("v1")) > 0.1
    assert beyond[False] < 1e-9 and beyond[True] > 1e-3


def last(folder: Path, field: str) -> np.ndarray:
    with VtkHdfReader(folder / "run-volume.vtkhdf") as file:
        return np.array(file.field(field, len(file.times) - 1))


@pytest.fixture(scope="module")
def yielded(tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("yielded")
    return folder, run(asked(folder, "out", rock()))


def test_strong_rock_is_elastic_to_the_bit(tmp_path: Path) -> None:
    """With local time stepping, a fault, a free surface and absorbing sides."""
    found = [
        run(asked(tmp_path, name, plasticity)).solver.operator.state()
        for name, plasticity in (("elastic", None), ("strong", rock(1e15)))
    ]
    np.testing.assert_array_equal(found[1].view(np.uint64), found[0].view(np.uint64))


def test_plastic_strain_alone_is_written(tmp_path: Path) -> None:
    case = asked(tmp_path, "out", rock(), end_time=0.05)
    case["output"]["volume"]["fields"] = ["eta"]
    run(case)
    with VtkHdfReader(tmp_path / "out" / "run-volume.vtkhdf") as file:
        assert "eta" in file.fields and "v1" not in file.fields


def test_what_yields_is_written(yielded: Any) -> None:
    folder, sim = yielded
    energies = sim.energy_now()
    solver = sim.solver
    eta = last(folder / "out", "eta")
    assert (eta > 1e-7).any() and (eta > -1e-5).all()
    assert (np.abs(last(folder / "out", "ep_xy")) > 1e-7).any()
    assert energies["plastic_moment"] > 1e13 and energies["plastic_work"] > 1e8
    held = solver.operator.own["yield_state"].get(solver.layout.position)
    weight = solver.parts["plasticity"].medium.points.weights
    moment = (held[..., 6] @ weight * solver.plan.geometry.volume * solver.plan.material["mu"]).sum()
    assert energies["plastic_moment"] == pytest.approx(moment, rel=1e-12)
    trace = held[..., :3].sum(-1)
    assert np.abs(trace).max() < 1e-12 * np.abs(held[..., :6]).max() + 1e-18
    table = (folder / "out" / "run-energy.csv").read_text().splitlines()
    assert "plastic_moment" in table[0] and "plastic_work" in table[0]


def test_stopped_and_resumed_to_the_bit(tmp_path: Path, yielded: Any) -> None:
    case = asked(tmp_path, "out", rock())
    stopped(case)
    again = fw.resume(tmp_path / "out").run()
    for name in ("v1", "s_xy", *STRAINS):
        np.testing.assert_array_equal(last(tmp_path / "out", name), last(yielded[0] / "out", name))
    np.testing.assert_array_equal(again.solver.operator.state(), yielded[1].solver.operator.state())


def test_going_on_at_another_order(tmp_path: Path) -> None:
    """Plastic strain is taken along: its moment stays nearly the same."""
    half = stopped(asked(tmp_path, "out", rock()))
    before = half.energy_now()["plastic_moment"]
    again = fw.resume(tmp_path / "out", order=4)
    assert again.energy_now()["plastic_moment"] == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("changes", [{"precision": "single"}, {"order": 2}, {"order": 5}])
def test_precisions_and_orders(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Strong rock is elastic to the bit there, too, and weak rock yields."""
    found = [
        run(asked(tmp_path, f"out{i}", p, end_time=0.35, numerics=changes))
        for i, p in enumerate((None, rock(1e15), rock()))
    ]
    states = [sim.solver.operator.state() for sim in found]
    np.testing.assert_array_equal(states[1], states[0])
    assert found[2].energy_now()["plastic_moment"] > 0 and np.abs(states[2] - states[0]).max() > 0


@needs_device
def test_on_a_device(tmp_path: Path, yielded: Any) -> None:
    sim = run(asked(tmp_path, "out", rock(), numerics={"backend": DEVICE}))
    want = yielded[1].energy_now()
    got = sim.energy_now()
    assert got["plastic_moment"] == pytest.approx(want["plastic_moment"], rel=1e-6)
    scale = np.abs(last(yielded[0] / "out", "v1")).max()
    np.testing.assert_allclose(last(tmp_path / "out", "v1"), last(yielded[0] / "out", "v1"), atol=1e-6 * scale)


@pytest.mark.parametrize("seissol", [0.0, 1.0])
def test_rock_beyond_yield_at_rest_yields_by_itself(tmp_path: Path, seissol: float) -> None:
    """Uniform stress in a periodic box falls to yield at once, though nothing moves; its energy, which waves then hold, was that of the
    stress at rest, and the run does not count as unstable."""
    mu, tau, strength, side = 2700.0 * 3464.0**2, 20e6, 1e6, 900.0
    rest = {"s_xx": -10e6, "s_yy": -10e6, "s_zz": -10e6, "s_xy": tau, "s_yz": 0.0, "s_xz": 0.0}
    case = {
        "end_time": 0.1,
        "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, 0], "upper": [side] * 3,
                              "boundaries": dict.fromkeys("xyz", "periodic"), "perturb": 0.1}},
        "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}}, "numerics": {"order": 3, "threads": 1},
        "plasticity": {"parameters": {"constant": {"plastic_cohesion": strength, "bulk_friction": 0.0, **rest}},
                       "constants": {"relaxation_time": 0.0, "seissol_strain": seissol}},
        "output": {"folder": str(tmp_path / "out"), "energies": {"interval": 0.05}},
    }  # fmt: skip
    sim = run(case)
    found = sim.energy_now()
    volume, lost = side**3, tau - strength
    assert found["elastic_energy"] == pytest.approx(lost**2 / (2 * mu) * volume, rel=1e-9)
    assert found["plastic_work"] == pytest.approx((tau**2 - strength**2) / (2 * mu) * volume, rel=1e-9)
    given = sim.solver.parts["plasticity"].energy_given()
    assert given == pytest.approx(tau * lost / mu * volume * (2.0**0.5 if seissol else 1.0), rel=1e-9)
    assert ("initial_stress_work" in found) == (not seissol)
    assert sim.solver.parts["growth"].before == 0.0


def test_energies_are_summed_where_the_state_is(yielded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as on the host at every point; no state comes to the host."""
    part = yielded[1].solver.parts["plasticity"]
    medium, planned, held = part.medium, part.part, part._held(part._all()).astype(float)
    state, at_rest = part.columns.split(held), STRESS.split(planned.stress)
    volume = part.solver.plan.geometry.volume[:, None]
    densities = medium.rheology.energies(medium.constants, state, at_rest, {"mu": planned.mu[:, None]})
    given = medium.rheology.initial_stress_gives(medium.constants, state, at_rest)
    monkeypatch.setattr(type(part.states), "get", lambda *_: pytest.fail("the state is read"))
    wanted = {name: (density * (volume * medium.points.weights)).sum() for name, density in densities.items()}
    assert part.energies() == pytest.approx(wanted, rel=1e-10)
    assert part.energy_given() == pytest.approx((given * volume / given.shape[1]).sum(), rel=1e-10)


def test_the_stress_at_rest_pays_for_what_yielding_dissipates(tmp_path: Path) -> None:
    """A shaken periodic box under stress at rest: waves and dissipation hold what waves had and the stress at rest gave, but for the
    little that the upwind flux takes."""
    moving = {"v1": "1.5 * sin(0.0069813 * y)", "v2": "0 * x", "v3": "0 * x", **dict.fromkeys(REST, "0 * x")}
    case = {
        "end_time": 0.15,
        "mesh": {"generate": {"shape": "box", "cells": [3, 3, 3], "lower": [0, 0, 0], "upper": [900, 900, 900],
                              "boundaries": dict.fromkeys("xyz", "periodic"), "perturb": 0.1}},
        "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}},
        "initial": {"kind": "easi", "field": {"expression": moving}},
        "numerics": {"order": 5, "threads": 1}, "plasticity": rock(),
        "output": {"folder": str(tmp_path / "out"), "energies": {"interval": 0.05}},
    }  # fmt: skip
    sim = run(case)
    table = sim.energies
    waves = table["elastic_energy"] + table["elastic_kinetic_energy"]
    taken, given = table["plastic_work"][-1], table["initial_stress_work"][-1]
    assert min(taken, given) > waves[0]  # both are much more than the waves
    assert given < sim.solver.parts["plasticity"].energy_given() < 2 * given
    missing = waves[0] + given - waves[-1] - taken
    assert -0.005 * waves[0] < missing < 0.05 * waves[0]


def test_closed_rock_never_gains_energy(tmp_path: Path) -> None:
    """A closed box of rock without stress at rest, thrown out of it: what the waves lose and yielding dissipates only grows; what
    both tell is the same but for what the upwind flux takes."""
    quiet = dict.fromkeys(REST, 0.0)
    case = {
        "end_time": 0.2, "law": "elastic",
        "mesh": {"generate": {"shape": "box", "cells": [3, 3, 3], "lower": [0, 0, 0], "upper": [900, 900, 900],
                              "boundaries": dict.fromkeys("xyz", "free-surface"), "perturb": 0.1}},
        "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}},
        "initial": {"kind": "easi", "field": {"expression": {"v1": "3 * sin(0.007 * y)", "v2": "0 * x", "v3": "0 * x",
                                                               **dict.fromkeys(REST, "0 * x")}}},
        "numerics": {"order": 4, "threads": 1},
        "plasticity": {"parameters": {"constant": {"plastic_cohesion": 4e6, "bulk_friction": 0.0, **quiet}}},
        "output": {"folder": str(tmp_path / "out"), "energies": {"interval": 0.01}},
    }  # fmt: skip
    sim = run(case)
    table = sim.energies
    total = table["elastic_energy"] + table["elastic_kinetic_energy"]
    assert (np.diff(total) <= 1e-9 * total[0]).all() and total[-1] < 0.9 * total[0]
    work = table["plastic_work"]
    assert (np.diff(work) >= 0).all() and work[-1] > 0.1 * total[0]
    assert work[-1] <= (total[0] - total[-1]) * 1.02


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_any_number_of_processes_gives_the_same(tmp_path: Path, yielded: Any, ranks: int) -> None:
    """Fields and plastic strain, cell by cell; energies but for the order of sums."""
    from tests.run.launch import launch

    done = launch(ranks, asked(tmp_path, "out", rock()))
    assert done.returncode == 0, done.stderr
    found = []
    for folder in (yielded[0] / "out", tmp_path / "out"):
        with VtkHdfReader(folder / "run-volume.vtkhdf") as file:
            order = np.argsort(file.field("global-id"))
            found.append([file.field(n, i)[order] for n in file.fields for i in range(len(file.times))])
    for one, several in zip(*found, strict=True):
        np.testing.assert_array_equal(several, one)
    rows = [
        np.loadtxt(f / "run-energy.csv", delimiter=",", skiprows=1)[-1] for f in (yielded[0] / "out", tmp_path / "out")
    ]
    np.testing.assert_allclose(rows[1], rows[0], rtol=1e-9, atol=1e-9 * np.abs(rows[0]).max())


# ---- what is asked for, and refused -------------------------------------------------------------------------------


def problems(tmp_path: Path, plasticity: dict[str, Any], **more: Any) -> str:
    case, found = load_case(asked(tmp_path, "out", plasticity, **more))
    if case is None:
        return str(found)
    from faultwave.dg.planning.plan import make_plan

    try:
        plan = make_plan(case)
    except InputError as error:
        return str(error)
    return "\n".join(map(str, plan.warnings))


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    constant = {"plastic_cohesion": 5e6, **{n: v for n, v in REST.items() if n != "s_zz"}}
    bad = {"parameters": {"constant": constant}, "constants": {"relaxation": 1.0}, "elastic": ["sea"]}
    text = problems(tmp_path, bad)
    for part in ("no such constant", "no volume 'sea'", "bulk_friction: missing", "no initial stress: s_zz missing"):
        assert part in text
    assert "does not exist" not in text  # plastic strain is asked for, and cannot be known


def rested(tmp_path: Path, **fault: Any) -> np.ndarray:
    """The stress at rest of rock that has the fault's."""
    from faultwave.dg.planning.plan import make_plan

    given = {**REST, **SLIP_WEAKENING, "p": 25e6}
    setting = {"friction": "linear-slip-weakening", "reference": (0.0, -1000.0, 0.0), "parameters": {"constant": given}}
    strength = {"constant": {"plastic_cohesion": 5e6, "bulk_friction": 0.6}}
    case = asked(tmp_path, "out", {"parameters": strength, "initial_stress": "fault"})
    found, told = load_case({**case, "fault": {**setting, **fault}})
    assert found is not None, told
    plan = make_plan(found)
    rows = plan.part("plasticity").stress.reshape(-1, 6)
    normal = plan.part("rupture").stress[..., 0]  # of a plane across y
    np.testing.assert_allclose(normal, rows[0, 1])
    np.testing.assert_array_equal(rows, np.broadcast_to(rows[0], rows.shape))
    return np.array(rows[0])


def test_pore_pressure_of_the_fault_counts_in_the_rock(tmp_path: Path) -> None:
    """As on the fault: it relieves the three normal stresses, unless the fault does not read it either."""
    total = np.array(list(REST.values()))
    np.testing.assert_array_equal(rested(tmp_path), total + 25e6 * np.array([1, 1, 1, 0, 0, 0]))
    np.testing.assert_array_equal(rested(tmp_path, pore_pressure=False), total)


def test_parameters_that_would_do_nothing_are_refused(tmp_path: Path) -> None:
    misspelt = rock()
    misspelt["parameters"]["constant"]["bulk_frction"] = 0.4
    text = problems(tmp_path, misspelt)
    assert "plasticity.parameters.constant.bulk_frction" in text and "did you mean 'bulk_friction'" in text
    text = problems(tmp_path, rock(initial_stress={"constant": {**REST, "p": 1e6}}))
    assert "plasticity.parameters.constant.s_xx: 's_xx' is not a parameter of rheology drucker-prager" in text
    assert "plasticity.initial_stress.constant.p: 'p' is not a parameter of" in text
    alone = {"constant": {"plastic_cohesion": 5e6, "bulk_friction": 0.35}}
    assert "not a parameter" not in problems(tmp_path, {"parameters": alone, "initial_stress": {"constant": REST}})


def steep() -> dict[str, Any]:
    """Friction given as an angle in degrees."""
    made = rock()
    made["parameters"]["constant"]["bulk_friction"] = 30.0
    return made


def pulled() -> dict[str, Any]:
    """Stress at rest with compression positive: such rock has no strength, and yet nothing yields before it moves."""
    made = rock()
    made["parameters"]["constant"] |= {name: 50e6 if name[2] == name[3] else 0.0 for name in REST}
    return made


@pytest.mark.parametrize(
    ("plasticity", "more", "told"),
    [
        (rock(rheology="drucker-proger"), {}, "did you mean 'drucker-prager'"),
        (rock(), {"material": {"constant": {"rho": 1000.0, "vp": 1500.0, "vs": 0.0}}}, "water cannot yield: mu is 0 in the cell at"),
        (rock(initial_stress="fault"), {}, "no initial stress: s_xx"),
        (rock(1e3), {}, r"100 % of \d[\d,]* points are beyond yield, the first at \("),
        (pulled(), {}, r"100 % of \d[\d,]* points are in tension, the first at \(.*mean stress below 0.*Compression"),
        (rock(elastic=[99]), {}, "no volume '99'"),
        (steep(), {}, "bulk_friction.*30.*0 to 10"),
    ],
)  # fmt: skip
def test_what_is_refused_or_warned_of(tmp_path: Path, plasticity: Any, more: Any, told: str) -> None:
    if "water" in told:
        more = {**more, "numerics": {"order": 2}}
    assert re.search(told, problems(tmp_path, plasticity, **more))


def test_only_ader_and_solids(tmp_path: Path) -> None:
    case = asked(tmp_path, "out", rock(), numerics={"integrator": "rk4"})
    del case["fault"], case["output"]["fault_receivers"]
    found, told = load_case(case)
    assert found is not None, told
    from faultwave.dg.planning.plan import make_plan

    with pytest.raises(InputError, match="plasticity: needs integrator ader"):
        make_plan(found)


def test_a_law_without_shear_stress_cannot_yield(tmp_path: Path) -> None:
    case = asked(tmp_path, "out", rock()) | {"law": "acoustic", "material": {"constant": {"rho": 1000.0, "vp": 1500.0}}}
    del case["fault"], case["output"]["fault_receivers"]
    case["output"] = {"folder": str(tmp_path / "out")}
    found, told = load_case(case)
    assert found is not None, told
    from faultwave.dg.planning.plan import make_plan

    with pytest.raises(InputError, match="the acoustic law has no shear stress that could yield"):
        make_plan(found)


def test_volumes_that_stay_elastic(tmp_path: Path) -> None:
    """All of the rock named: elastic to the bit; its parameters are not even asked for."""
    group = int(load_group(tmp_path))
    found = [
        run(asked(tmp_path, n, p)).solver.operator.state() for n, p in (("a", None), ("b", rock(1.0, elastic=[group])))
    ]
    np.testing.assert_array_equal(found[1], found[0])


def load_group(tmp_path: Path) -> int:
    from faultwave.dg.planning.plan import make_plan

    case, _ = load_case(asked(tmp_path, "group", None))
    assert case is not None
    return int(make_plan(case).mesh.groups[0])


@pytest.mark.mpi
def test_a_mesh_stored_in_parts_with_volumes_that_stay_elastic(tmp_path: Path) -> None:
    """No process sees the whole mesh; parameters that differ from place to place, stress from the fault's field; stopped on three
    processes, going on alone."""
    from tests.run.launch import launch

    mesh = small_mesh()
    side = (mesh.vertices[mesh.cells].mean(1)[:, 0] > 2500.0).astype(np.int32)
    mesh = replace(mesh, groups=1 + side)
    part = np.argsort(np.argsort(mesh.vertices[mesh.cells].mean(1)[:, 0], kind="stable")) * 3 // len(mesh.cells)
    constant = {"bulk_friction": 0.35, **REST}
    weak = {
        "parameters": {"constant": constant, "expression": {"plastic_cohesion": "return 300000.0 + 2.0 * abs(y);"}},
        "elastic": [2],
    }
    case = asked(tmp_path, "out", weak | {"constants": {"relaxation_time": 0.05}})
    topology = tets.build_topology(mesh)
    near = topology.neighbours
    parted = (near >= 0) & (part[near] != part[:, None]) & (topology.kinds == tets.BoundaryKind.FAULT)
    part[np.nonzero(parted)[0]] = 1  # no part ends along the fault
    write_parts(case["mesh"]["file"], mesh, topology, part, [3], np.arange(len(part)))
    halt = "progress=lambda p: signal.raise_signal(signal.SIGTERM) if p.time > 0.2 else None"
    done = launch(3, case, run=halt)
    assert "interrupted at t" in done.stderr, done.stderr
    again = fw.resume(tmp_path / "out").run()
    alone = fw.simulate(dict(case, output={**case["output"], "folder": str(tmp_path / "one")})).run()
    np.testing.assert_array_equal(again.solver.operator.state(), alone.solver.operator.state())
    eta = again.solver.operator.own["yield_state"].get(again.solver.layout.position)[..., 6]
    groups = again.solver.plan.mesh.groups
    assert (eta[groups == 1] > 0).any() and (eta[groups == 2] == 0).all()


CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"


@pytest.mark.slow
@pytest.mark.skipif(not CASES.is_dir(), reason="the reference decks are not here")
def test_tpv13_as_seissol_computes_it(tmp_path: Path) -> None:
    """The deck at order 6 for a second: velocities, and the moment of the plastic strain."""
    asked = {"order": 6, "until": 1.0, "output": str(tmp_path)}
    case, told = load_case(CASES / "tpv13" / "parameters.par", asked)
    assert case is not None, told
    sim = fw.simulate(case, force=True).run()
    reference = CASES / "tpv13" / "reference-head"
    wanted = read_energies(reference / "tpv-energy.csv")
    at = int(np.flatnonzero(wanted["time"] == 1.0)[0])
    assert sim.energy_now()["plastic_moment"] == pytest.approx(float(wanted["plastic_moment"][at]), rel=1e-8)
    found = compare(tmp_path, reference, limit=0.02, until=1.0)
    misfits = [m.value for m in found.misfits if m.group == "velocity"]
    assert misfits and max(misfits) < 1e-3
