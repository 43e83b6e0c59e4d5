"""Strain Green tensors: what a force makes at the fault is what a moment makes at the site."""

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from faultwave.base.errors import InputError
from faultwave.cli.main import app
from faultwave.engine.checks import check_disk
from faultwave.green_tensors import green_tensors, save_green_tensors, seismograms
from faultwave.output.formats.maps_netcdf import read_maps, write_maps
from faultwave.run import simulate
from tests.messages import raises

from .reciprocity import TENSORS, both, moments
from .test_grids import case

SIGMA = 0.06
SITE, FAULT = [420.0, 930.0, -510.0], [[1010.0, 610.0, -820.0], [870.0, 700.0, -905.0]]
VARIED = {
    "expression": {"rho": "2700 + 0.2 * x", "vp": "3464 + 0.3 * y - 0.2 * z", "vs": "2000 - 0.4 * z"}
}  # fmt: skip


BOX = {"shape": "box", "lower": [0, 0, -1500], "upper": [1500, 1600, 0], "cells": [2, 2, 2]}


def settings(boundaries, sigma=SIGMA, **changes):
    sources = moments(FAULT, TENSORS, sigma)
    return case(
        grid__boundaries=boundaries, sources=sources, material=VARIED, end_time=0.9,
        output={"receivers": {"points": [SITE], "interval": 0.01}}, **changes,
    )  # fmt: skip


@pytest.mark.parametrize("sides", ["periodic", "rigid"])
def test_exact_in_a_symmetric_box(sides):
    forward, found = both(settings(dict.fromkeys("xyz", sides), numerics={"precision": "double"}), TENSORS, SIGMA)
    assert np.abs(forward).max() > 0 and np.abs(forward - found).max() <= 1e-10 * np.abs(forward).max()


@pytest.mark.parametrize("sides", ["periodic", "rigid"])
def test_single_precision_in_a_symmetric_box(sides):
    """Forces push by the density that the grid keeps in sixteen bits."""
    forward, found = both(settings(dict.fromkeys("xyz", sides)), TENSORS, SIGMA)
    assert np.abs(forward - found).max() <= 1e-5 * np.abs(forward).max()


@pytest.mark.parametrize(
    ("sides", "depth"), [({"z": "absorbing"}, 510.0), ({}, 510.0), ({}, 0.0), ({}, 20.0), ({"z-": "rigid"}, 120.0)]
)
def test_with_absorbing_layers_and_a_free_surface(sides, depth):
    """The free surface is its own mirror, too: for sites on it, beside it and below, in any material, moments as shallow as they like."""
    made = settings(sides, numerics={"precision": "double"}, grid__absorbing={"width": 5})
    made["output"]["receivers"]["points"] = [[*SITE[:2], -depth]]
    if "z" not in sides:
        made["sources"][1]["location"][2] = -35.0
    forward, found = both(made, TENSORS, SIGMA)
    assert (np.abs(forward).max(1) > 0).all()
    assert (np.abs(forward - found).max(1) <= 1e-10 * np.abs(forward).max(1)).all()


@pytest.mark.parametrize("depth", [0.0, 35.0, 120.0])
def test_a_site_on_and_in_the_sea(depth, tmp_path):
    """Water of 250 m: no horizontal motion on top of it, as there is no pressure, and reciprocity as anywhere."""
    (tmp_path / "sea.txt").write_text("depth vp vs rho\n0 1500 0 1000\n250 3464 2000 2700\n")
    made = settings({}, numerics={"precision": "double"}, grid__absorbing={"width": 5})
    made["material"] = {"layers": str(tmp_path / "sea.txt")}
    made["output"]["receivers"]["points"] = [[*SITE[:2], -depth]]
    made["sources"][1]["location"][2] = -520.0  # a moment that shears, away from water
    forward, found = both(made, TENSORS, SIGMA)
    moves = np.abs(forward).max(1)
    assert moves[2] > 0 and (moves[:2] > 0).all() == (depth > 0)
    assert (np.abs(forward - found).max(1) <= 1e-10 * moves.max()).all()


@pytest.mark.parametrize("order", [4, 8])
def test_in_an_attenuating_medium(order):
    """Memory variables keep reciprocity: where Q varies, too, with a site on the free surface. Of what the grid itself does: tensors
    freed of time dispersion are compared with seismograms that are, too, in ``test_time_dispersion``."""
    made = settings(
        {}, numerics={"precision": "double"}, grid__absorbing={"width": 5}, attenuation={}, grid__order=order,
        grid__time_dispersion="keep",
    )  # fmt: skip
    made["material"] = {"expression": VARIED["expression"] | {"Qp": "60 + 0.01 * x", "Qs": "40 - 0.01 * z"}}
    made["output"]["receivers"]["points"] = [[*SITE[:2], 0.0]]
    made["sources"][1]["location"][2] = -35.0
    forward, found = both(made, TENSORS, SIGMA)
    assert np.abs(forward).max() > 0 and np.abs(forward - found).max() <= 1e-10 * np.abs(forward).max()


def test_the_file_and_moment_rates(tmp_path):
    """A moment rate that is a narrow pulse gives what the Gaussian alone gives, later; attenuating media, points from a file."""
    made = settings({"z+": "free-surface"}, 0.12, attenuation={})
    made["material"] = {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 60, "Qs": 30}}
    made["end_time"] = 1.2
    deck, points = tmp_path / "case.yaml", tmp_path / "points.txt"
    deck.write_text(yaml.safe_dump(made))
    points.write_text("\n".join(" ".join(map(str, p)) for p in FAULT))
    result = CliRunner().invoke(
        app, ["sgt", str(deck), "--points", str(points), "--duration", "0.12", "--output", str(tmp_path / "out")]
    )
    assert result.exit_code == 0, result.output
    (path,) = (tmp_path / "out").glob("*-sgt.nc")
    green = read_maps(path)
    assert (
        green["strain"].shape == (1, 3, 2, 6, len(green["time"])) and green.attrs["components"] == "xx yy zz xy yz xz"
    )
    plain = seismograms(green, TENSORS)
    rates = np.zeros((2, len(green["time"])))
    rates[:, 10] = 1 / 0.01
    later = seismograms(green, TENSORS, rates)
    assert np.allclose(later[..., 10:], plain[..., :-10], atol=1e-6 * np.abs(plain).max())
    forward = simulate(made).run(write=False).receivers
    velocity = np.stack([forward.quantity(f"v{i}")[:, 0] for i in (1, 2, 3)])
    assert np.abs(velocity - plain[0]).max() < 2e-3 * np.abs(velocity).max()


def test_what_is_missing_is_told(tmp_path):
    made = settings(dict.fromkeys("xyz", "rigid"))
    for broken in (
        {"sources": []},
        {"output": {}},
        {"engine": "dg", "grid": None},
        {"engine": "dg", "mesh": {"generate": BOX}},
    ):
        with raises(InputError):
            green_tensors({**made, **broken})
    with raises(InputError):
        green_tensors(made, points=np.array([[0.0, 0.0, 500.0]]))
    with raises(InputError):
        save_green_tensors("any.yaml", tmp_path, tmp_path / "absent.txt", None, print)


def test_xarray_reads_them_as_the_guide_says(tmp_path):
    xarray = pytest.importorskip("xarray")
    made = settings({}) | {"end_time": 0.3}
    path = write_maps(tmp_path / "a-sgt.nc", green_tensors(made))
    with xarray.open_dataset(path) as green:
        assert green.strain.dims == ("site", "force", "point", "component", "time")
        weights = xarray.DataArray([1, 1, 1, 2, 2, 2], dims="component")
        moments = xarray.DataArray(TENSORS, dims=("point", "component"))
        velocity = (green.strain.isel(site=0, force=0).astype(float) * moments * weights).sum(["point", "component"])
        expected = seismograms(read_maps(path), TENSORS)[0, 0]
        assert np.allclose(velocity.values, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
        assert np.abs(expected).max() > 0 and green.attrs["components"] == "xx yy zz xy yz xz"


def test_what_does_not_fit_is_told(tmp_path, monkeypatch):
    deck = tmp_path / "case.yaml"
    deck.write_text(yaml.safe_dump(settings({}) | {"end_time": 0.3}))
    # the file alone is larger than any disk: what runs write themselves is judged before

    def full(folder, size, *more):
        check_disk(folder, 1e15 * size, *more)

    monkeypatch.setattr("faultwave.green_tensors.check_disk", full)
    with pytest.raises(InputError, match=r"the file of strain needs .* GiB"):
        save_green_tensors(str(deck), tmp_path / "out", None, None, print)
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr("faultwave.green_tensors.machine_memory", lambda: 1000.0)
    with pytest.raises(InputError, match=r"strain at \d points needs about"):
        green_tensors(str(deck))


def test_a_run_that_is_too_short_says_so(tmp_path):
    deck, said = tmp_path / "case.yaml", []
    deck.write_text(yaml.safe_dump(settings({}) | {"end_time": 0.1}))
    save_green_tensors(str(deck), tmp_path / "out", None, 0.1, said.append)
    assert any("is before the peak of the forces at 0.6 s" in text for text in said)


def test_a_file_is_replaced_with_force_only(tmp_path):
    deck = tmp_path / "case.yaml"
    deck.write_text(yaml.safe_dump(settings({}) | {"end_time": 0.1}))
    made = save_green_tensors(str(deck), tmp_path / "out", None, 0.1, lambda _: None)
    before = made.read_bytes()
    with raises(InputError):
        save_green_tensors(str(deck), tmp_path / "out", None, 0.05, lambda _: None)
    assert made.read_bytes() == before
    save_green_tensors(str(deck), tmp_path / "out", None, 0.05, lambda _: None, force=True)
    assert read_maps(made).attrs["duration"] == 0.05


@pytest.mark.parametrize("text", ["# none\n", "1 2 3\n4 5\n"], ids=str)
def test_a_file_of_points_that_holds_none(tmp_path, text):
    (tmp_path / "p.txt").write_text(text)
    with raises(InputError):
        save_green_tensors("case.yaml", tmp_path / "out", tmp_path / "p.txt", None, print)


def test_places_keep_double_precision(tmp_path):
    from faultwave.observe.dataset import Dataset, Variable
    from faultwave.output.formats.maps_netcdf import write_maps

    places = np.array([[512345.678901, 3812345.678901, -1234.5678901]])
    made = Dataset("sgt", {"site_location": Variable(places, ("site", "axis"), "m", "where")}, {})
    assert np.array_equal(read_maps(write_maps(tmp_path / "a.nc", made))["site_location"], places)
