"""Waveguide ports: a straight guide, one with a dielectric slab, which is known exactly, and what is no port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, RunError
from faultwave.case.load import load_case
from faultwave.case.settings.model import Case
from faultwave.dg.capabilities.ports import Port
from faultwave.dg.planning.plan import make_plan
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.output.formats.touchstone import read_touchstone, write_touchstone
from faultwave.plot.scattering import plot_scattering
from faultwave.run.scattering import _solved, save_scattering, scattering
from faultwave.verify import meshes

LENGTH = 1.5
BURST = {"kind": "burst", "frequency": 0.7, "duration": 3.0}


@contextmanager
def guide(
    slab: tuple[float, float] | None = None, cells: tuple[int, int, int] = (6, 3, 2), height: float = 0.5, **more: Any
) -> Iterator[dict[str, Any]]:
    """1 x ``height`` across, conducting walls, c = 1: TE10 begins at 0.5. Ports 21 and 22 at the ends; a slab of permittivity 4."""
    walls = {"x": "absorbing", "y": "pec", "z": "pec"}
    mesh = box_mesh(Box(cells, (0, 0, 0), (LENGTH, 1.0, height), walls, shuffle=True))
    corners = mesh.vertices[mesh.cells[:, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]]][..., 0]
    tags = np.where((corners < 1e-9).all(2), 21, np.where((corners > LENGTH - 1e-9).all(2), 22, mesh.tags))
    x = mesh.vertices[mesh.cells].mean(1)[:, 0]
    groups = np.ones(len(x)) if slab is None else 1 + ((x > slab[0]) & (x < slab[1]))
    regions = {1: {"permittivity": 1.0, "permeability": 1.0}, 2: {"permittivity": 4.0, "permeability": 1.0}}
    with meshes.as_setting(replace(mesh, tags=tags.astype(np.int32), groups=groups.astype(np.int32))) as setting:
        yield {
            "law": "maxwell", "mesh": setting | {"boundaries": {"absorbing": [21, 22], "pec": [11]}},
            "material": {"regions": regions if slab else {1: regions[1]}}, "end_time": 200.0, "numerics": {"order": 4},
            "stop": {"energy_below": 1e-6},
            "ports": {"surfaces": [{"surface": 21}, {"surface": 22}], "band": [0.65, 0.9], "points": 6},
        } | more  # fmt: skip


def electric(data: Any) -> np.ndarray:
    """Electric fields (time, receiver, component)."""
    return np.asarray(data["values"][..., np.array(data.attrs["units"]) == "V/m"])


def test_errors_of_seismograms_are_estimated_beside_ports(tmp_path: Path) -> None:
    """The burst of a port is longer than half of what is recorded: coarser runs end before it does."""
    receivers = {"points": [[0.4, 0.5, 0.3], [1.1, 0.3, 0.2]], "interval": 0.2}
    with guide(end_time=26.0, stop={}, output={"folder": str(tmp_path), "receivers": receivers}) as case:
        session = fw.run(case)
        found = fw.estimate_errors(tmp_path)["relative_error_of_electric_field"]
        exact = fw.simulate(case | {"numerics": {"order": 7}}).run(write=False).receivers
    want = electric(exact)
    true = np.sqrt(((electric(session.receivers) - want) ** 2).sum((0, 2)) / (want**2).sum((0, 2)))
    assert np.all((found > true / 4) & (found < 4 * true))


def load(case: dict[str, Any]) -> Case:
    made, problems = load_case(case, {})
    problems.raise_errors()
    assert made is not None
    return made


def test_a_straight_guide_delays_and_nothing_else(tmp_path: Path) -> None:
    with guide(output={"prefix": "straight"}) as case:
        path = save_scattering(case, tmp_path / "out")
    assert path.name == "straight.s2p"
    f, s = read_touchstone(path)
    beta = np.sqrt((2 * np.pi * f) ** 2 - np.pi**2)
    np.testing.assert_allclose(s[:, 1, 0], np.exp(-1j * beta * LENGTH), atol=0.01)
    np.testing.assert_allclose(s[:, 0, 1], s[:, 1, 0], atol=2e-3)
    assert np.abs(s[:, 0, 0]).max() < 5e-3 and np.abs(s[:, 1, 1]).max() < 5e-3
    text = path.read_text()
    assert "! Port[1] = 21:TE10\n" in text and "INCOMPLETE" not in text
    told = np.array([line.split()[3:] for line in text.splitlines() if line.startswith("! Port Impedance")], float)
    np.testing.assert_allclose(told, np.stack([2 * np.pi * f / beta, 0 * f] * 2, 1), rtol=1e-8)


def test_both_polarisations_of_a_square_guide_go_through_it() -> None:
    """Two modes of one surface are two ports; none of them turns into the other."""
    crossed = [{"surface": n, "along": along} for along in ([0, 1, 0], [0, 0, -1]) for n in (21, 22)]
    with guide(cells=(3, 2, 2), height=1.0, numerics={"order": 3}, stop={"energy_below": 1e-5}) as case:
        found = scattering(case | {"ports": {"surfaces": crossed, "band": [0.62, 0.68], "points": 2}})
    through = np.exp(-1j * np.sqrt((2 * np.pi * found.frequencies) ** 2 - np.pi**2) * LENGTH)[:, None, None]
    want = through * np.kron(np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(found.s, want, atol=0.06)
    assert found.remarks == []


def test_a_run_that_is_cut_short_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its energy has not left when it ends; in the log, and in the file."""
    cut: dict[str, Any] = {"stop": {"energy_below": 0.3}, "numerics": {"order": 2}, "output": {"prefix": "cut"}}
    with guide(cells=(3, 2, 1), **cut) as case, caplog.at_level("WARNING", "faultwave"):
        text = save_scattering(case, tmp_path).read_text()
    for i in (1, 2):
        assert f"! INCOMPLETE: the run that excites port {i} ended with" in text
    assert "INCOMPLETE" in caplog.text


def test_waves_that_tell_nothing_are_an_error() -> None:
    same = np.ones((2, 2, 3), complex)
    for into in (same, 0 * same, same * np.nan):
        with pytest.raises(RunError, match="do not distinguish the ports"):
            _solved(into, same)
    rng = np.random.default_rng(0)
    s, into = rng.normal(size=(3, 2, 2)), rng.normal(size=(2, 2, 3)) * np.array([1.0, 1e-12])[:, None, None]
    np.testing.assert_allclose(_solved(into, np.einsum("fij,rjf->rif", s, into)), s)


def test_fourier_sums_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    with guide() as case:
        port = make_plan(load(case)).part("ports").ports[0]
    t, f = np.linspace(0, 20, 401), np.linspace(0.65, 0.9, 7)
    signal = np.sin(2 * np.pi * 0.7 * t), np.cos(2 * np.pi * 0.8 * t)
    whole = port.amplitudes(t, *signal, f)
    monkeypatch.setattr("faultwave.dg.capabilities.ports.BLOCK", 900)
    np.testing.assert_allclose(port.amplitudes(t, *signal, f), whole, rtol=1e-13)


def test_a_slab_reflects_as_a_line_of_another_impedance() -> None:
    with guide((0.5, 1.0)) as case:
        found = scattering(case)
    omega = 2 * np.pi * found.frequencies
    outer, inner = np.sqrt(omega**2 - np.pi**2), np.sqrt(4 * omega**2 - np.pi**2)
    r, turn = (1 / inner - 1 / outer) / (1 / inner + 1 / outer), np.exp(-1j * inner * 0.5)
    whole = 1 - (r * turn) ** 2
    reflected, passed = r * (1 - turn**2) / whole, (1 - r**2) * turn / whole
    np.testing.assert_allclose(found.s[:, 0, 0], reflected * np.exp(-2j * outer * 0.5), atol=0.02)
    np.testing.assert_allclose(found.s[:, 1, 0], passed * np.exp(-2j * outer * 0.5), atol=0.02)
    lost = 1 - (np.abs(found.s) ** 2).sum(1)
    assert np.abs(lost).max() < 0.01, "power that comes in goes out"


MODES = ("TE10", "TE01", "TE20", "TE11", "TE21", "TM11", "TM21", "TM12")


def test_patterns_are_those_of_a_metal_guide() -> None:
    """Orthonormal, without a part along the walls; TE without divergence, TM without curl."""
    a, b, at = 1.3, 0.7, np.array([0.2, -0.1, 0.4])
    sides = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    none: Any = None
    ports = [Port(none, at, sides, np.array([a, b]), np.array([1.0, 0, 0]), mode, 1.0, 1.0, none) for mode in MODES]
    nodes, weights = np.polynomial.legendre.leggauss(16)
    u, v = (x.reshape(-1) for x in np.meshgrid(a * (nodes + 1) / 2, b * (nodes + 1) / 2, indexing="ij"))
    area = np.outer(weights, weights).reshape(-1) * a * b / 4

    def field(port: Port, u: Any, v: Any) -> np.ndarray:
        return port.pattern(at + np.multiply.outer(u, sides[0]) + np.multiply.outer(v, sides[1])) @ sides.T

    values = np.array([field(port, u, v) for port in ports])
    np.testing.assert_allclose(np.einsum("ipk,jpk,p->ij", values, values, area), np.eye(len(MODES)), atol=1e-9)
    for port in ports:
        for end in (0.0, 1.0):
            np.testing.assert_allclose(field(port, u, end * b + 0 * u)[:, 0], 0.0, atol=1e-12)
            np.testing.assert_allclose(field(port, end * a + 0 * v, v)[:, 1], 0.0, atol=1e-12)
        h = 1e-5
        along = (field(port, u + h, v) - field(port, u - h, v)) / (2 * h)
        across = (field(port, u, v + h) - field(port, u, v - h)) / (2 * h)
        gone = along[:, 0] + across[:, 1] if port.mode[1] == "E" else along[:, 1] - across[:, 0]
        np.testing.assert_allclose(gone, 0.0, atol=1e-7)


@pytest.mark.parametrize(
    "ports, said",
    [
        (
            {"surfaces": [{"surface": 21, "mode": "TM10"}], "band": [0.6, 0.9]},
            "TM10 does not exist in a rectangular guide",
        ),
        ({"surfaces": [{"surface": 21, "mode": "TE00"}], "band": [0.6, 0.9]}, "TE00 does not exist"),
        ({"surfaces": [{"surface": 21, "mode": "TX1"}], "band": [0.6, 0.9]}, "is not a mode"),
        ({"surfaces": [{"surface": 21}], "band": [0.4, 0.9]}, "cutoff of TE10 at 0.5 Hz"),
        ({"surfaces": [{"surface": 11}], "band": [0.6, 0.9]}, "does not absorb"),
        ({"surfaces": [{"surface": 33}], "band": [0.6, 0.9]}, "no surface '33'"),
        ({"surfaces": [{"surface": 21, "mode": "TM10"}], "band": [0.6, 0.9]}, "mode"),
        ({"surfaces": [{"surface": 21}], "band": [0.6, 0.9], "drive": 2}, "the case has 1 ports"),
        ({"surfaces": [{"surface": 21}, {"surface": "21"}], "band": [0.6, 0.9]}, "TE10 of '21' is listed as two ports"),
        (
            {"surfaces": [{"surface": 21}, {"surface": 21, "mode": "TE01", "along": [0, 0, 1]}], "band": [0.6, 0.9]},
            "TE01 of '21' is listed as two ports",
        ),
        ({"surfaces": [{"surface": 21, "along": [0, 0, 0]}], "band": [0.6, 0.9]}, "along must not be zero"),
        ({"surfaces": [{"surface": 21, "along": [0, 0, 1]}], "band": [0.6, 0.9]}, "cutoff of TE10 at 1 Hz"),
        ({"surfaces": [{"surface": 21}], "band": [0.6, 0.9], "points": 100_000_000}, "points"),
    ],
)
def test_mistakes_are_told(ports: dict[str, Any], said: str) -> None:
    with guide() as case, pytest.raises(InputError, match=said):
        scattering(case | {"ports": ports})


@pytest.mark.parametrize(
    "change, said",
    [
        ({"currents": [{"kind": "point", "location": [0.7, 0.4, 0.2], "moment": [0, 0, 1], "time_function": BURST}]}, "currents"),
        ({"incident": [{"direction": [1, 0, 0], "amplitude": [0, 0, 1], "surface": 21, "time_function": BURST}]}, "incident"),
        ({"initial": {"kind": "easi", "field": {"expression": {"E3": "return 1.0;"}}}}, "initial"),
    ],
)  # fmt: skip
def test_ports_act_alone(change: dict[str, Any], said: str) -> None:
    with guide() as case, pytest.raises(InputError, match=f"^{said}: act in addition to the ports"):
        make_plan(load(case | change))


def test_what_a_plan_tells_of_ports() -> None:
    """A run too short for what the port sends, and modes that nobody listens to."""
    with guide(end_time=20.0) as case:
        with pytest.raises(
            InputError, match="end_time: 20 s, but the burst that covers the band of the ports takes 22.4 s"
        ):
            make_plan(load(case))
        ports = {"surfaces": [{"surface": 21, "mode": "TE20"}, {"surface": 22}], "band": [1.05, 1.2]}
        told = [w.what for w in make_plan(load(case | {"end_time": 200.0, "ports": ports})).warnings]
    first = "TE10 (from 0.5 Hz), TE01 (from 1 Hz)", "TE01 (from 1 Hz), TE20 (from 1 Hz)"
    assert told == [
        f"modes that are not listed propagate at '{n}' up to 1.2 Hz: {modes}, TE11 (from 1.118 Hz), TM11 (from 1.118 Hz)"
        for n, modes in zip((21, 22), first, strict=True)
    ]


def test_a_port_in_the_matched_layer_is_told() -> None:
    with guide(matched_layer={"sides": ["x-"], "thickness": 0.4}) as case:
        with pytest.raises(InputError, match="medium at '21' is in the matched layer"):
            make_plan(load(case))


def test_a_port_must_be_plane_and_a_rectangle() -> None:
    with guide() as case:
        bent = case["mesh"] | {"boundaries": {"absorbing": [21, 22, 11]}}
        with pytest.raises(InputError, match="not plane"):
            scattering(case | {"mesh": bent, "ports": {"surfaces": [{"surface": 11}], "band": [0.6, 0.9]}})
    with guide() as case, pytest.raises(InputError, match="the case has none"):
        scattering({k: v for k, v in case.items() if k != "ports"})


@pytest.mark.parametrize("ports", (1, 2, 3, 5))
def test_touchstone_files_come_back(tmp_path: Path, ports: int) -> None:
    rng = np.random.default_rng(0)
    f, s = np.linspace(1e9, 2e9, 4), rng.normal(size=(4, ports, ports)) + 1j * rng.normal(size=(4, ports, ports))
    path = write_touchstone(tmp_path / "x", f, s, ["made for a test"])
    assert path.suffix == f".s{ports}p" and path.read_text().startswith("! made for a test\n# Hz S RI R 50\n")
    back = read_touchstone(path)
    np.testing.assert_allclose(back[0], f)
    np.testing.assert_allclose(back[1], s, rtol=1e-11)


def test_touchstone_of_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "filter.s2p"
    path.write_text("! theirs\n# GHz S DB R 50\n1.0 -20 90  0 -90  -3 45  -20 180 ! S11 S21 S12 S22\n")
    f, s = read_touchstone(path)
    np.testing.assert_allclose(f, [1e9])
    np.testing.assert_allclose(s[0, 0, 0], 0.1j, atol=1e-12)
    np.testing.assert_allclose(s[0, 1, 0], -1j, atol=1e-12)
    np.testing.assert_allclose(s[0, 1, 1], -0.1, atol=1e-12)
    for text in ("# Hz Z RI R 50\n1 2 3\n", "# Hz S RI R 50\n1 2 3\n"):
        path.write_text(text)
        with pytest.raises(InputError):
            read_touchstone(path)


def test_a_picture_of_the_parameters(tmp_path: Path) -> None:
    f = np.linspace(1e9, 2e9, 5)
    s = np.array([[[0.3, 0.9j], [0.9j, 0.3]]] * 5)
    path = plot_scattering(write_touchstone(tmp_path / "x", f, s))
    assert path.name == "x.png" and path.read_bytes().startswith(b"\x89PNG")
