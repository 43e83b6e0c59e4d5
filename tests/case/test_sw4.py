"""Inputs of SW4 as cases: conventions, and what is refused."""

import numpy as np
import pytest

from faultwave.base.errors import Problem
from faultwave.base.projection import Projection
from faultwave.case.load import load_case
from faultwave.case.native import located
from faultwave.case.sw4.reader import Reader
from faultwave.case.sw4.sources import double_couple
from faultwave.media import load_field
from faultwave.observe.stations.points import read_points
from faultwave.physics.sources.point import moment_tensor
from tests.messages import expect

GRID = "grid h=100 x=8000 y=6000 z=4000"
PLACED = GRID + " lat=37.9 lon=-122.3 az=143.6"
TIME = "time t=2"
BLOCK = "block vp=6000 vs=3464 rho=2700"
SOURCE = "source x=3000 y=2000 z=1000 mxy=1e15 t0=1 freq=4 type=GaussianInt"


@pytest.fixture
def sw4(tmp_path):
    """Load an input with the lines given, and defaults for commands that these lines lack."""

    def load(*lines, whole=False):
        given = {line.split()[0] for line in lines}
        defaults = () if whole else (GRID, TIME, BLOCK, SOURCE)
        missing = [line for line in defaults if line.split()[0] not in given]
        (tmp_path / "model.in").write_text("\n".join([*lines, *missing]) + "\n")
        return load_case(tmp_path / "model.in")

    load.folder = tmp_path
    return load


def test_an_input_is_parsed_once(sw4, monkeypatch):
    parsed, first = list[str](), Reader.__init__

    def counted(self, name, text, problems):
        parsed.append(name)
        first(self, name, text, problems)

    monkeypatch.setattr(Reader, "__init__", counted)
    assert sw4()[0] is not None and len(parsed) == 1


def test_a_small_input(sw4):
    case, problems = sw4(
        "fileio path=results", "time t=2 utcstart=01/04/2012:17:34:45.25", "# nothing", "rec x=1 y=2 sta=A # station"
    )
    assert not problems.errors and case.engine == "fd" and case.end_time == 2.0
    assert (case.grid.lower, case.grid.upper, case.grid.spacing) == ((0, 0, -4000), (6000, 8000, 0), 100)
    assert case.material.constant == {"rho": 2700, "vp": 6000, "vs": 3464}
    assert (
        case.output.folder.name == "results"
        and case.output.origin_time.isoformat() == "2012-01-04T17:34:45.250000+00:00"
    )
    (source,) = case.sources
    assert source.location == (2000, 3000, -1000) and source.tensor == {"xy": 1e15}
    assert (source.time_function.kind, source.time_function.duration, source.onset) == ("gaussian", 0.25, -0.5)
    assert case.output.receivers.stations == sw4.folder / "model.in" and case.output.receivers.interval == 0.008
    assert case.file == sw4.folder / "model.in" and case.projection is None
    expect(problems.items)


@pytest.mark.parametrize(
    ("line", "lower", "upper", "spacing"),
    [
        ("grid h=30 x=8000 y=6000 z=4000", (0, 0, -4020), (6000, 8010, 0), 30),  # rounded up
        ("grid h=0.04 x=12 y=12 z=6", (0, 0, -6), (12, 12, 0), 0.04),
        ("grid h=50 nx=101 ny=81 nz=41", (0, 0, -2000), (4000, 5000, 0), 50),  # both ends are points
        ("grid x=8000 y=6000 z=4000 nx=81", (0, 0, -4000), (6000, 8000, 0), 100),
        ("grid x=8000 y=6000 z=4000 nz=41", (0, 0, -4000), (6000, 8000, 0), 100),
    ],
)
def test_sizes_of_the_grid(sw4, line, lower, upper, spacing):
    case, problems = sw4(line, "source x=1 y=1 z=1 mxx=1 type=GaussianInt")
    assert not problems.errors
    assert case.grid.lower == pytest.approx(lower) and case.grid.upper == pytest.approx(upper)
    assert case.grid.spacing == pytest.approx(spacing)


def test_refinements_halve_the_spacing_from_below(sw4):
    """The deepest block has h; depths become multiples of the smaller spacing, as in SW4."""
    case, problems = sw4(GRID, "refinement zmax=1000", "refinement zmax=2512")
    assert not problems.errors and case.grid.spacing == 25
    assert [(b.below, b.spacing) for b in case.grid.blocks] == [(1000, 50), (2500, 100)]


def test_places_are_those_of_sw4(sw4):
    """By its formulas: a degree of latitude is 111319.5 m, one of longitude that times the cosine of the latitude."""
    case, problems = sw4(PLACED, "source lat=37.88 lon=-122.31 depth=500 mxx=1 type=GaussianInt")
    assert not problems.errors
    setting = case.projection
    found = Projection(setting.crs, setting.origin, setting.azimuth).places(case.sources[0].geographic, "here")[0]
    az, metre = np.radians(143.6), 111319.5
    north, east = metre * (37.88 - 37.9), metre * np.cos(np.radians(37.88)) * (-122.31 + 122.3)
    x, y = north * np.cos(az) + east * np.sin(az), -north * np.sin(az) + east * np.cos(az)
    assert found == pytest.approx([y, x, -500], abs=1e-3)


@pytest.mark.parametrize(
    "keys", ["", " mlat=111000", " mlon=90000", " proj=utm", " proj=tmerc datum=NAD83 lon_p=-123 lat_p=35 scale=0.9996"]
)
def test_stations_are_where_the_grid_has_them(sw4, keys):
    """x and y of SW4 are y and x of the case, whatever the projection and the azimuth."""
    case, problems = sw4(PLACED + keys, "rec x=3000 y=1000 depth=20 sta=A", "rec x=200 y=5000 z=0 sta=B")
    assert not problems.errors
    found = read_points(case.output.receivers, case.projection)
    assert found == pytest.approx(np.array([[1000, 3000, -20], [5000, 200, 0]]), abs=0.01)


@pytest.mark.parametrize("angles", [(10, 40, 30), (200, 85, -90), (333, 5, 179)])
def test_double_couples(angles):
    expected = moment_tensor(*np.radians(angles), 1.0)
    found = double_couple(*angles)
    for i, j, name in ((0, 0, "mxx"), (0, 1, "mxy"), (0, 2, "mxz"), (1, 1, "myy"), (1, 2, "myz"), (2, 2, "mzz")):
        assert found[name] == pytest.approx(expected[i, j], abs=1e-12)


def test_strike_counts_from_north(sw4):
    """SW4 subtracts the azimuth of its grid."""
    turned, _ = sw4(PLACED, "source x=1000 y=1000 z=500 strike=153.6 dip=40 rake=30 m0=2e15 type=GaussianInt")
    plain, _ = sw4(GRID, "source x=1000 y=1000 z=500 Strike=10 Dip=40 Rake=30 m0=2e15 type=GaussianInt")
    assert turned.sources[0].tensor == pytest.approx(plain.sources[0].tensor)
    m = 2e15 * moment_tensor(*np.radians([10, 40, 30]), 1.0)  # x north, y east, z down
    axes = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    expected = axes @ m @ axes.T
    t = plain.sources[0].tensor
    assert [t["xx"], t["xy"], t["xz"]] == pytest.approx(expected[0]) and [t["yy"], t["yz"], t["zz"]] == pytest.approx(
        [expected[1, 1], expected[1, 2], expected[2, 2]]
    )


def test_forces(sw4):
    case, _ = sw4("source x=3000 y=2000 z=0 fx=1 fy=2 fz=3 f0=10 freq=2 t0=0.9 type=Ricker")
    (source,) = case.sources
    assert source.kind == "force" and source.force == (-20, -10, 30)  # the wavelet of SW4 has a negative peak
    assert source.time_function.frequency == 2 and source.onset == pytest.approx(0.15)


def values(case, x, y, z, names=("rho", "vp", "vs")):
    """Material of the case at x, y, z of SW4."""
    field = load_field(case.material, "material", projection=case.projection)
    point = np.array([[y, x, -z]], float)
    found = field.evaluate(point, np.zeros(1, int), list(names))
    return [float(found[n][0]) for n in names]


def test_blocks(sw4):
    """Later blocks win, inside their bounds; gradients count from the surface, wherever the block begins."""
    case, problems = sw4(
        "block vp=5000 vs=2500 rho=2500 vpgrad=0.5 vsgrad=0.25 rhograd=0.1",
        "block vp=3000 vs=1500 rho=2000 z1=1000 z2=2000 vpgrad=1",
        "block vp=2000 vs=1000 rho=1900 x1=4000 x2=6000 y1=-10 y2=1000",
    )
    assert not problems.errors
    assert values(case, 1000, 3000, 400) == pytest.approx([2540, 5200, 2600])
    assert values(case, 1000, 3000, 1500) == pytest.approx([2000, 4500, 1500])
    assert values(case, 5000, 500, 1500) == pytest.approx([1900, 2000, 1000])
    assert values(case, 5000, 1500, 3000) == pytest.approx([2800, 6500, 3250])
    assert values(case, 3000, 5000, 1500) == pytest.approx([2000, 4500, 1500])  # x and y of SW4 are not exchanged
    assert values(case, -5000, -3000, 9000)[0] == pytest.approx(3400)  # absorbing layers continue the sides
    assert values(case, 5000, -3000, 900) == pytest.approx([1900, 2000, 1000])


def test_blocks_that_cover_the_grid_together(sw4):
    case, problems = sw4("block vp=3000 vs=1500 rho=2000 z2=500", "block vp=6000 vs=3000 rho=2700 z1=500")
    assert not problems.errors
    assert values(case, 0, 0, 499)[1] == 3000 and values(case, 0, 0, 501)[1] == 6000
    for low in ("z1=600", "z1=500 x1=100", "z1=500 y2=5000"):
        case, problems = sw4("block vp=3000 vs=1500 rho=2000 z2=500", f"block vp=6000 vs=3000 rho=2700 {low}")
        assert case is None
        expect(problems.errors[0])


def test_attenuation(sw4):
    case, problems = sw4(
        "attenuation phasefreq=2.5 nmech=3 maxfreq=15 qmultiplier=2", BLOCK + " Qs=50 Qp=100",
        "block vp=4000 vs=2000 r=2600 z2=1000 qs=40 qp=80"
    )  # fmt: skip
    assert not problems.errors
    q = case.attenuation
    assert (q.low, q.high, q.reference) == (0.15, 15, 2.5)
    assert values(case, 0, 0, 500, ("Qp", "Qs", "rho")) == [160, 80, 2600]
    assert values(case, 0, 0, 1500, ("Qp", "Qs", "rho")) == [200, 100, 2700]


def test_limits_of_speeds(sw4):
    case, _ = sw4("globalmaterial vpmin=700 vsmin=400")
    assert case.material.minimum == {"vp": 700, "vs": 400}


def test_a_gaussian_hill(sw4):
    case, problems = sw4(
        "topography input=gaussian zmax=1600 order=4 gaussianAmp=400 gaussianXc=4800 gaussianYc=3000 gaussianLx=800 gaussianLy=500",
        "source x=3000 y=2000 depth=100 mxx=1 type=GaussianInt", "rec x=1 y=2 z=-3 sta=A",
    )  # fmt: skip
    assert not problems.errors
    ground = case.grid.topography
    assert case.grid.upper[2] == 400 and (ground.sources, ground.receivers, ground.material) == (
        "depth",
        "depth",
        "depth",
    )
    for x, y in ((4800, 3000), (5000, 3000), (4800, 3300)):
        expected = 400 * np.exp(-(((x - 4800) / 800) ** 2) - ((y - 3000) / 500) ** 2)
        names = {"x": y, "y": x, "exp": np.exp}
        assert eval(ground.expression, {}, names) == pytest.approx(expected)  # its operators are those of Python
    assert sw4("topography input=gaussian gaussianAmp=90", SOURCE)[0].grid.topography.sources == "elevation"


def test_snapshots_of_the_surface(sw4):
    case, problems = sw4(
        "image mode=mag z=0 file=surf timeInterval=0.5",
        "image mode=velmag z=0 timeInterval=0.2",
        "image mode=s y=15e3 file=mat cycle=0",
    )
    assert case.output.surface.interval == 0.2
    expect(problems.items)


def test_ruptures(sw4):
    (sw4.folder / "m6.srf").write_text("")
    case, problems = sw4(PLACED, TIME, BLOCK, "rupture file=m6.srf", whole=True)
    assert case.sources[0].kind == "srf" and case.sources[0].file == sw4.folder / "m6.srf"
    expect(problems.items)


MISTAKES = {
    "no grid": [TIME, BLOCK, SOURCE],
    "no time": [GRID, BLOCK, SOURCE],
    "no block": [GRID, TIME, SOURCE],
    "no source": [GRID, TIME, BLOCK],
    "box": ["grid h=100 x=8000 y=6000"],
    "points": ["grid h=100 nx=1.5 ny=20 nz=20"],
    "negative spacing": ["grid h=-1 x=1 y=1 z=1"],
    "azimuth without a corner": [GRID + " az=30"],
    "one of lat and lon": [GRID + " lat=30"],
    "twice": [GRID, GRID],
    "key twice": ["time t=2 t=3"],
    "steps": ["time steps=100"],
    "no end": ["time"],
    "utc": ["time t=1 utcstart=2012-01-04"],
    "continued": ["block vp=6000 vs=3464 \\", "rho=2700"],
    "unknown": ["gird h=100", "source x=1 y=1 z=1 mxx=1 type=GaussianInt frq=3"],
    "not supported": ["developer cfl=1.1", "prefilter fc2=1", "rfile filename=a.rfile", "testlamb cp=1", "ablock rho=1", "anisotropy"],
    "checkpoint": ["checkpoint restartfile=a.sw4checkpoint"],
    "only files": ["volimage mode=ux file=a timeInterval=1", "checkpoint cycleInterval=10", "lbfgs nmax=3", "gmt file=a"],
    "supergrid": ["supergrid gp=30", "boundary_conditions lx=3 hz=0 ly=2 lz=0"],
    "refinement": ["refinement zmax=9000", "refinement"],
    "hill": ["topography input=grid file=a.topo"],
    "refined hill": ["topography input=gaussian gaussianAmp=100 gaussianLx=0", "refinement zmax=500"],
    "refinement below a hill": ["topography input=gaussian gaussianAmp=100 gaussianLx=900 gaussianLy=900", "refinement zmax=500"],
    "deep hill": ["topography input=gaussian gaussianAmp=5000"],
    "mixed depths": ["topography input=gaussian", SOURCE, "source x=1 y=1 depth=1 mxx=1 type=GaussianInt"],
    "mixed blocks": ["topography input=gaussian", BLOCK, BLOCK + " absdepth=1"],
    "Q without attenuation": [BLOCK + " qs=10 qp=20"],
    "no Q": ["attenuation minppw=8 nmech=0", BLOCK],
    "rock": ["block vp=6000 vs=0 rho=2700", "block vp=fast vs=1 rho=2", "block vp=1 vs=1 rho=1 z1=5 z2=3", "block vp=1 vs=1"],
    "force and moment": ["source x=1 y=1 z=1 mxx=1 fx=1"],
    "no mechanism": ["source x=1 y=1 z=1 m0=1e15"],
    "angles and tensor": ["source x=1 y=1 z=1 mxx=1 strike=3 dip=4 rake=5"],
    "two depths": ["source x=1 y=1 z=1 depth=3 mxx=1", "source x=1 y=1 mxx=1"],
    "no place": ["source z=1 mxx=1", "source x=1 lat=3 z=1 mxx=1", "source x=1 z=3 mxx=1", "source lat=3 lon=4 z=3 mxx=1"],
    "above": ["source x=1 y=1 depth=-3 mxx=1"],
    "functions": [
        "source x=1 y=1 z=1 mxx=1 type=Dirac", "source x=1 y=1 z=1 mxx=1 type=Rickr", "source x=1 y=1 z=1 mxx=1 dfile=a.dat",
        "source x=1 y=1 z=1 mxx=1 type=GaussianWindow", "source x=1 y=1 z=1 mxx=1 freq=0",
        "source x=1 y=1 z=1 fx=1 freq=1e6 type=Ramp",
    ],
    "settings": ["source x=1e200 y=1 z=1 mxx=1 type=GaussianInt"],
    "rupture": ["rupture file=none.srf", "rupture"],
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(sw4, name):
    case, problems = sw4(*MISTAKES[name], whole=name.startswith("no ") and len(MISTAKES[name]) == 3)
    warned = name in ("only files", "unknown", "Q without attenuation")
    assert (case is not None) == warned
    expect(problems.items)


def test_problems_of_a_plan_have_their_lines(sw4):
    """Those of sources, receivers and settings, which are found when the case is planned."""
    case, _ = sw4(GRID, TIME, BLOCK, SOURCE, "rec x=1 y=2 sta=A", "rec x=1 y=2 sta=B")
    found = [
        Problem("source sources[0] at (1, 2, 3)", "lies outside"), Problem("receiver 2 at (1, 2, 3)", "lies outside"),
        Problem("grid.spacing", "is too large"), Problem("material", "is odd"), Problem("here", "is unknown"),
    ]  # fmt: skip
    expect(located(case, found))


def test_no_file(tmp_path):
    (tmp_path / "a.in").mkdir()
    case, problems = load_case(tmp_path / "a.in")
    assert case is None
    expect(problems.items)
    (tmp_path / "b.in").write_text("1 2 3\n# grid\n")
    case, problems = load_case(tmp_path / "b.in")
    assert case is None
    expect(problems.items)
