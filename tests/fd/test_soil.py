"""Soft soil on grids: the stencils against the overlay of elements, a column against an independent code, and what is told before."""

from dataclasses import replace

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import RunError
from faultwave.case.load import load_case
from faultwave.fd.capabilities import soil
from faultwave.fd.method.stencils import FIELDS
from faultwave.fd.operators.points import norm_weights
from faultwave.fd.rheology.cell_means import mean_lines
from faultwave.kernels.stencil import Injection
from faultwave.output.formats.maps_netcdf import read_maps
from faultwave.physics.rheology import iwan
from faultwave.run.planned import check
from faultwave.verify.cases.grids.soil import END, SOIL, column, independent
from faultwave.verify.cases.grids.soil import REFERENCE as STRAIN
from faultwave.verify.exact.soil_column import MasingPoint
from tests.messages import expect
from tests.run.launch import launch

from . import setups
from .test_grids import case
from .test_plasticity import energies, numbers
from .test_restart import Stopped

PERIODIC = dict.fromkeys(("x-", "x+", "y-", "y+", "z-", "z+"), "periodic")
REFERENCE = 1e-3
OF = iwan.along_curve(7)
BACKENDS = [
    "numpy",
    "cpu",
    pytest.param("opencl", marks=pytest.mark.skipif(bool(missing("opencl")), reason="no OpenCL")),
]
STRESSES = ("sxx", "syy", "szz", "sxy", "syz", "sxz")


def ground(backend, sides=None, shape=(12, 8, 8), lowest=0, injections=()):
    """A grid at rest whose soil goes down to the plane ``lowest``."""
    scheme = replace(setups.scheme(shape, sides, width=2), yields=True)
    around = {a for a in "xy" if scheme.sides[f"{a}-"] == "periodic"}
    listed = soil.tiles(np.broadcast_to(lowest, shape[1:]), shape[0] + 1, around)
    observer = soil.observer(scheme, scheme.grid.box, OF, listed)
    made = setups.runner(scheme, backend, "double", observers=[observer], injections=injections)
    for line, values in mean_lines(scheme).items():
        made.view(line)[...] = values
    for tile in listed:
        made.view(tile.named(soil.REFERENCE))[...] = REFERENCE
    return scheme, made, listed


def overlay(path):
    """Deviators of the exact overlay in three dimensions, in G gamma_ref, along a path of strains (3, 3)."""
    states, old, found = [np.zeros((3, 3)) for _ in OF.strains], np.zeros((3, 3)), []
    for strain in path:
        for n, limit in enumerate(OF.strains):
            trial = states[n] + strain - old
            size = np.sqrt(0.5 * (trial * trial).sum())
            states[n] = trial * min(1.0, limit / max(size, 1e-300))
        old = strain
        found.append(sum(share * s for share, s in zip(OF.shares, states, strict=True)))
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cell_follows_the_exact_overlay_through_load_unload_and_reload(backend):
    """Strain is pushed in as stress, after the update of stresses and before soil is looked at, everywhere alike."""
    shape, count = (12, 8, 8), 24
    points = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).reshape(-1, 3)
    ones, unit = np.ones(len(points)), setups.MU * REFERENCE
    listed = [Injection(1, n, points, ones, np.full(len(points), k)) for k, n in enumerate(STRESSES)]
    _, made, _ = ground(backend, PERIODIC, shape, injections=listed)
    rng = np.random.default_rng(2)
    turns = np.concatenate(
        [np.linspace(a, b, count // 4) for a, b in ((0.1, 3.0), (3.0, -1.0), (-1.0, 0.5), (0.5, 6.0))]
    )
    change, path = np.zeros((count, 6)), []
    tilt = rng.normal(0.0, 0.3, (3, 3))
    for k, x in enumerate(turns):
        strain = x * (
            np.array([[0.2, 1.0, 0.3], [1.0, -0.5, -0.4], [0.3, -0.4, 0.3]]) + (tilt + tilt.T) * np.sin(k / 5.0)
        )
        path.append(strain - np.eye(3) * np.trace(strain) / 3.0)
        step = path[-1] - (path[-2] if k else 0.0)
        change[k] = [step[0, 0], step[1, 1], step[2, 2], step[0, 1], step[1, 2], step[0, 2]]
    pressure = 1.7e6 * np.sin(np.arange(count))
    change[:, :3] += np.diff(np.r_[0.0, pressure])[:, None] / unit
    amplitudes = np.zeros((len(made.program.levels), count, 6))
    amplitudes[1] = change * unit
    for k, exact in enumerate(overlay(path)):
        made.run(1, amplitudes[:, k : k + 1])
        found = np.array([float(made.view(n)[7, 5, 3]) for n in STRESSES])
        whole = exact * unit + np.eye(3) * pressure[k]
        expected = [whole[0, 0], whole[1, 1], whole[2, 2], whole[0, 1], whole[1, 2], whole[0, 2]]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * unit)
    assert made.view(f"{soil.PEAK}@0").min() > 4.0 and made.view(f"{soil.WORK}@0").min() > 0.0


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_backends_agree_below_a_free_surface(backend):
    results = []
    for name in ("numpy", backend):
        lowest = np.where(np.arange(40) < 20, 5, 20)  # tiles beside each other that differ, and the surface alone
        _, made, listed = ground(name, shape=(20, 16, 40), lowest=lowest)
        rng = np.random.default_rng(7)
        for array in STRESSES:
            inside = made.view(array)[6:-1, 6:-6, 6:-6]
            inside[...] = rng.normal(0.0, 2.0 * setups.MU * REFERENCE, inside.shape)
        for array in "uvw":
            inside = made.view(array)[4:-1, 4:-4, 4:-4]
            inside[...] = rng.normal(0.0, 5.0, inside.shape)
        made.run(6, np.zeros((len(made.program.levels), 6, 1)))
        names = [
            *STRESSES,
            "u",
            "w",
            *(t.named(n) for t in listed for n in (soil.WORK, soil.PEAK, soil.element(3, "xy"))),
        ]
        results.append({n: made.view(n).copy() for n in names})
    for n, values in results[0].items():
        assert np.abs(values - results[1][n]).max() <= 1e-11 * np.abs(values).max(), n
        assert np.abs(values).max() > 0, n


WEAK = "2e-7 - 1e-9 * z"
IN_SOIL = [[30.0, 900.0, -20.0], [700.0, 700.0, -150.0], [760.0, 820.0, -60.0], [900.0, 1500.0, 0.0]]


def basin(strain=WEAK, folder="", **changes):
    """Soil in the upper part of a box, deeper and weaker to one side, on rock."""
    rock = {"rho": "return 2700.;", "vp": "return 3464.;", "Qp": "return 80.;", "Qs": "return 40.;"}
    rock["vs"] = "if (z > -500 + 0.4 * x) { return 1700.; } return 2000.;"
    made = case(
        soil={"slower_than": 1900.0, "surfaces": 7, "parameters": {"expression": {"reference_strain": f"return {strain};"}}},
        material={"expression": rock}, attenuation={}, numerics={"threads": 1}, **changes,
    )  # fmt: skip
    made["output"] |= {"energies": {"interval": 0.1}, "folder": str(folder), "checkpoint": {"interval": 0.2}}
    if "soil" in made and WEAK in strain:
        made["output"]["soil"] = {"points": IN_SOIL, "interval": 0.02}
    return made


def ended(made):
    sim = fw.simulate(made)
    sim.run(write=False)
    return sim


@pytest.mark.parametrize("precision", ["single", "double"])
def test_soil_that_hardly_moves_is_linear_to_the_last_bit(precision):
    soft = basin("1e3", numerics__precision=precision)
    soft["numerics"]["precision"] = precision
    linear = {key: value for key, value in soft.items() if key != "soil"}
    a, b = ended(soft), ended(linear)
    for name in FIELDS:
        assert a.solver.operator.values(name).tobytes() == b.solver.operator.values(name).tobytes(), name
        assert a.solver.operator.values(name).any()
    assert a.solver.energies()["soil_work"] == 0


def locked(sim):
    """Energy [J] that elements hold against each other: theirs, without that of their sum."""
    found, view, of = 0.0, sim.solver.operator.runner.view, sim.plan.parts["soil"].surfaces
    for tile in sim.plan.parts["soil"].blocks[0].tiles:
        low = tile.lowest
        reference = view(tile.named(soil.REFERENCE))
        mu = 0.5 * sim.solver.operator.filled_view("mu2")[low:] * sim.solver.operator.units.of("mu2")
        columns = slice(max(tile.y[0], 0), tile.y[1]), slice(max(tile.x[0], 0), tile.x[1])
        strain = [view(tile.named(soil.total(part))) for part in iwan.PARTS]
        each, mean = 0.0, [0.0] * 5
        for n, share in enumerate(of.shares):
            own = [e - view(tile.named(soil.element(n, part))) for e, part in zip(strain, iwan.PARTS, strict=True)]
            each, mean = each + share * iwan.square(own), [a + share * b for a, b in zip(mean, own, strict=True)]
        density = 0.5 * mu[(slice(None), *columns)] * reference**2 * (each - iwan.square(mean))
        weights = [float(norm_weights(sim.plan.scheme, "szz", low + k)) for k in range(len(density))]
        found += float(np.tensordot(weights, density, 1).sum()) * sim.plan.scheme.grid.spacing**3
    return found


def test_energy_falls_while_soil_dissipates():
    """A closed box, once the source is silent; elements that hold each other under stress keep energy of their own. Work counts the stress
    at which elements yield; a step that goes far beyond it takes more from the waves."""
    made = basin("1e-5", grid__boundaries={"x": "periodic", "y": "periodic", "z-": "rigid"}, end_time=0.6)
    made.pop("attenuation")
    made["material"]["expression"]["vs"] = "if (z > -600) { return 1700.; } return 2000.;"
    made["numerics"]["precision"] = "double"
    made["sources"][0] |= {"time_function": {"kind": "triangle", "duration": 0.2}, "location": [750, 730, -420]}
    sim, found = fw.simulate(made), []
    sim.solver.operator.advance(sim.plan.steps // 2)
    for _ in range(4):
        sim.solver.operator.advance(sim.plan.steps // 8)
        e = sim.solver.energies()
        found.append((e["elastic_energy"] + e["elastic_kinetic_energy"] + locked(sim), e["soil_work"]))
    waves, work = np.array(found).T
    assert (np.diff(waves) < 0).all() and (np.diff(work) > 0).all()
    assert 0.9 < (waves[0] - waves[-1]) / (work[-1] - work[0]) < 2.0


def check_records(data, maps, across=3.5, levels=(-18.5, -9.5)):
    """Stress at points follows Masing's rules on the strain there; what loops and maps tell is what these records hold."""
    assert data["location"].tolist() == [[across, across, z] for z in levels]
    modulus = SOIL["rho"] * SOIL["vs"] ** 2
    for n in range(2):
        strain, stress = data.quantity("gamma_yz")[:, n], data.quantity("s_yz")[:, n]
        point = MasingPoint(modulus, STRAIN)
        exact = np.array([point.to(x) for x in strain])
        assert np.linalg.norm(stress - exact) < 0.01 * np.linalg.norm(exact)
        ratio = data["loop_strain"][n] / STRAIN
        assert 0.1 < ratio < 0.5
        assert data["loop_modulus"][n] == pytest.approx(modulus / (1 + ratio), rel=0.01)
        assert data["loop_damping"][n] == pytest.approx(iwan.masing_damping(ratio), rel=0.05)
        for other in ("gamma_xz", "gamma_xy", "dev_strain_xx", "s_xz", "dev_s_yy"):
            assert np.abs(data.quantity(other)).max() < 1e-9 * np.abs(stress).max()
    largest = np.abs(data.quantity("gamma_yz")[:, 0]).max()
    assert maps["peak_strain"] == pytest.approx(np.full(maps["peak_strain"].shape, largest), rel=0.02)
    assert maps["peak_strain_ratio"] == pytest.approx(maps["peak_strain"] / STRAIN)
    assert (np.abs(maps["peak_strain_depth"] + levels[0]) <= 1.0).all()


def test_a_column_follows_an_independent_integration():
    times = np.arange(0.01, END - 0.01, 0.002)
    exact, linear = independent(times), independent(times, np.inf)
    assert np.linalg.norm(linear - exact) > 0.3 * np.linalg.norm(exact)
    sim = ended(column(1))
    check_records(sim.result("soil_receivers"), sim.result("soil_maps"))
    data = sim.receivers
    found = np.interp(times, data.variables["time"].data, data.variables["values"].data[:, 0, 7])
    assert np.linalg.norm(found - exact) < 0.01 * np.linalg.norm(exact)


def follow(of, strains):
    """Return the shear stress, over G, of surfaces along a path of shear strains, both in the reference strain."""
    state, old, found = np.zeros(len(of.strains)), 0.0, []
    for strain in strains:
        state, old = np.clip(state + strain - old, -np.array(of.strains), of.strains), strain
        found.append(np.dot(of.shares, state))
    return np.array(found)


def test_loops_at_a_cell_lie_on_the_curve_of_the_soil_on_coarse_grids():
    """Strain varies by a third from cell to cell: the mean of the stresses on edges would lie 4 to 15 % off."""
    reference, modulus, count = 5e-4, 1900.0 * 250.0**2, 5
    layers = {
        n: f"if (z > -60) {{ return {a}; }} return {b};"
        for n, a, b in (("rho", 1900, 2200), ("vp", 500, 1600), ("vs", 250, 800))
    }
    made = {
        "engine": "fd", "end_time": 1.2, "material": {"expression": layers},
        "grid": {"lower": [0, 0, -120], "upper": [32, 32, 0], "spacing": 4.0, "boundaries": {"x": "periodic", "y": "periodic"}},
        "soil": {"slower_than": 500.0, "surfaces": count, "parameters": {"constant": {"reference_strain": reference}}},
        "sources": [{"kind": "plane-wave", "z": -100, "velocity": [0.15, 0, 0], "time_function": {"kind": "ricker", "duration": 0.5}}],
        "numerics": {"precision": "double", "threads": 1},
        "output": {"soil": {"points": [[5, 5, -30], [5, 5, -10]], "interval": 0.001}},
    }  # fmt: skip
    data = ended(made).result("soil_receivers")
    for n in range(2):
        strain, stress = data.quantity("gamma_xz")[:, n], data.quantity("s_xz")[:, n]
        exact = modulus * reference * follow(iwan.along_curve(count), strain / reference)
        assert np.abs(strain).max() > 0.3 * reference
        assert np.abs(stress - exact).max() < 0.005 * np.abs(exact).max()


def same_records(one, other):
    """All points are shaken, soil yields, and maps are the same."""
    recorded = numbers(one)["run-receivers.h5/soil_receivers/values"]
    assert (np.abs(recorded).max(0)[:, 2:5] > 0).all()
    a, b = (read_maps(folder / "run-soil.nc") for folder in (one, other))
    assert np.nanmax(a["peak_strain_ratio"]) > 0.03
    for name in a.variables:
        assert same(a[name], b[name]), name


def same(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def test_resumed_is_undisturbed(tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    fw.simulate(basin(folder=tmp_path / "whole")).run()
    sim = fw.simulate(basin(folder=tmp_path / "parts"))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.27))
    fw.resume(tmp_path / "parts").run()
    whole, parts = numbers(tmp_path / "whole"), numbers(tmp_path / "parts")
    assert whole.keys() == parts.keys() and len(whole)
    for name, values in whole.items():
        assert same(values, parts[name]), name
    assert np.array_equal(energies(tmp_path / "whole"), energies(tmp_path / "parts"))
    same_records(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.mpi
@pytest.mark.parametrize(("ranks", "points"), [(2, IN_SOIL), (4, IN_SOIL[3:])])
def test_processes_give_the_same(tmp_path, ranks, points):
    """Also where the first of them has none of the points."""

    def asked(folder):
        made = basin(folder=folder, grid__spacing=60.0, end_time=0.35)
        made["output"]["soil"]["points"] = points
        return made

    fw.simulate(asked(tmp_path / "one")).run()
    done = launch(ranks, asked(tmp_path / "more"))
    assert done.returncode == 0, done.stderr
    one, more = numbers(tmp_path / "one"), numbers(tmp_path / "more")
    assert one.keys() == more.keys() and len(one)
    for name, values in one.items():
        assert same(values, more[name]), name
    same_records(tmp_path / "one", tmp_path / "more")
    a, b = energies(tmp_path / "one"), energies(tmp_path / "more")
    assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max()


def told(change):
    made = basin()
    change(made)
    settings, found = load_case(made)
    found = found if settings is None else check(settings)
    return "\n".join(map(str, [*found.errors, *found.warnings]))


def table(made, rows):
    made["soil"] = {"slower_than": 1900.0, "backbone": "table", "table": rows}


def pond(made):
    """Narrower than the points of a coarse look lie apart, but in the middle of a cell."""
    where = "(x - 450)*(x - 450) + (y - 650)*(y - 650) < 25 && z > -120"
    made["material"]["expression"].update(vs=f"if ({where}) {{ return 0; }} return 1700;", Qs="return 1e9;")


def strength(made, **given):
    made["soil"] = {"slower_than": 1900.0, "backbone": "strength", "parameters": {"constant": given}}


@pytest.mark.parametrize(
    "change",
    [
        lambda c: table(c, [[1e-4, 0.9], [1e-3, 0.05]]),
        lambda c: table(c, [[1e-4, 0.5], [1e-3, 0.5], [1e-2, 0.6]]),
        lambda c: c["soil"]["parameters"]["expression"].update(reference_strain="return 0;"),
        lambda c: c["soil"]["parameters"]["expression"].update(reference_strain="return -1;"),
        lambda c: c["soil"].update(backbone="strength"),
        lambda c: strength(c, cohesion=1e4),
        lambda c: strength(c, cohesion=0, friction_angle=0),
        lambda c: c["soil"].pop("parameters"),
        lambda c: c["output"].pop("soil") and c["soil"].update(slower_than=900.0),
        lambda c: c["material"]["expression"].update(vs="return 0;", Qs="return 1e9;"),
        pond,
        lambda c: c["output"]["soil"].update(points=[[700.0, 700.0, -900.0]]),
        lambda c: c["output"]["soil"].update(points=[[700.0, 700.0, 9.0]]),
        lambda c: c.pop("soil"),
        lambda c: c["grid"].update(order=8, time_dispersion="remove"),
        lambda c: c["grid"].update(time_dispersion="remove"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before(change):
    expect(told(change))


def test_a_sound_case_has_no_complaint():
    assert "soil" not in told(lambda c: None)
