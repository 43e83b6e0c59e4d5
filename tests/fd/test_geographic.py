"""Longitudes and latitudes of receivers, sources and materials, all by the projection that the case declares."""

from __future__ import annotations

import numpy as np
import pyproj
import pytest

from faultwave.base.projection import Projection
from faultwave.case.load import load_case
from faultwave.output.results import load_results
from faultwave.run import simulate
from faultwave.run.planned import check
from tests.media.models import files
from tests.messages import expect

from .test_grids import case, problems

PLACE = {"crs": "EPSG:32611", "origin": [-117.9, 34.2], "azimuth": "30 deg"}
XYZ = np.array([[350.0, 650.0, 0.0], [1050.0, 1250.0, -100.0], [740.0, 180.0, 0.0]])


def lonlat(xy):
    """Of local x, y, by PROJ alone."""
    to_map = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32611", always_xy=True)
    a = np.radians(30.0)
    east, north = to_map.transform(*PLACE["origin"])
    x, y = np.asarray(xy, float)[..., 0], np.asarray(xy, float)[..., 1]
    # y points 30 degrees clockwise from north, x to its right
    e, n = east + x * np.cos(a) + y * np.sin(a), north - x * np.sin(a) + y * np.cos(a)
    return np.stack(to_map.transform(e, n, direction="INVERSE"), -1)


def geographic(xyz):
    return [[*map(float, lonlat(p[:2])), float(p[2])] for p in np.asarray(xyz)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same case by x, y, z and by longitude and latitude."""
    folder = tmp_path_factory.mktemp("geographic")
    local = case(output__receivers={"points": XYZ.tolist(), "interval": 0.05}, projection=PLACE)
    other = case(projection=PLACE)
    (source,) = (dict(s) for s in other["sources"])
    (source["geographic"],) = geographic([source.pop("location")])
    (folder / "sites.txt").write_text("# lon lat z\n" + " ".join(map(repr, geographic(XYZ)[2])) + "\n")
    receivers = {
        "points": XYZ[:1].tolist(),
        "geographic": geographic(XYZ)[1:2],
        "geographic_file": str(folder / "sites.txt"),
    }
    other["sources"], other["output"]["receivers"] = [source], {**receivers, "interval": 0.05}
    return [simulate(c, output=folder / n).run() for n, c in (("local", local), ("other", other))], folder


def test_places_are_those_of_the_projection(runs):
    (local, other), _ = runs
    assert np.abs(other.receivers["location"] - XYZ).max() < 1e-5
    scale = np.abs(local.receivers["values"]).max((0, 1))
    assert (np.abs(other.receivers["values"] - local.receivers["values"]).max((0, 1)) < 1e-4 * scale + 1e-30).all()


def test_seismograms_know_where_they_are(runs, tmp_path):
    _, folder = runs
    traces = load_results(folder / "local").traces["receiver"]
    found = np.array([traces[n].geographic for n in (1, 2, 3)])
    assert found[:, :2] == pytest.approx(lonlat(XYZ), abs=1e-9)
    # y: 30 degrees from grid north, which west of the central meridian lies west of true north there
    convergence = pyproj.Proj("EPSG:32611").get_factors(-117.9, 34.2).meridian_convergence
    assert convergence < -0.4 and found[:, 2] == pytest.approx(30.0 + convergence, abs=0.02)
    obspy = pytest.importorskip("obspy")
    from faultwave.output.results import convert

    convert(folder / "local", "sac", tmp_path)
    head = {path.name[-5]: obspy.read(path)[0].stats.sac for path in tmp_path.glob("*R0002*.sac")}
    assert (head["E"].stlo, head["E"].stla) == pytest.approx(tuple(found[1, :2]), abs=1e-4)
    assert (head["E"].cmpaz, head["N"].cmpaz, head["Z"].cmpinc) == pytest.approx(
        (found[1, 2] + 90, found[1, 2], 0), abs=1e-3
    )


def test_material_source_and_receiver_in_degrees(tmp_path):
    """The vs of a model in longitudes, latitudes and depths at a source that is given in them too."""
    from types import SimpleNamespace

    from faultwave.media import load_field

    made = files.netcdf(tmp_path / "m.nc", degrees=True)
    place = {"crs": files.CRS, "origin": list(files.ORIGIN)}
    settings = case(
        material={"models": [{"kind": "netcdf", "file": str(made.file)}]}, projection=place, grid={"lower": [0, 0, -1500],
        "upper": [1500, 1600, 0], "spacing": 100.0, "absorbing": {"width": 5}},
        output__receivers={"geographic": [[-117.19, 34.105, -300]]},
    )  # fmt: skip
    settings["sources"] = [{"kind": "moment-tensor", "geographic": [-117.195, 34.11, "-0.5 km"], "tensor": {"xy": 1e15},
                            "time_function": {"kind": "ricker", "duration": 0.5}}]  # fmt: skip
    sim = simulate(settings)
    lam, mu, rho = sim.plan.source_material[0]
    expected = files.truth(1e5 * (-117.195 - files.ORIGIN[0]), 1e5 * (34.11 - files.ORIGIN[1]), -500.0)
    assert np.sqrt(mu / rho) == pytest.approx(expected["vs"], rel=1e-5)
    assert sim.plan.parts["receivers"].points[0] == pytest.approx(
        [*Projection(files.CRS, files.ORIGIN).to_local(-117.19, 34.105)[0], -300]
    )
    field = load_field(
        SimpleNamespace(easi=None, constant={}, expression={}, layers=None, models=[made]), projection=files.CASE
    )
    assert field.evaluate(sim.plan.parts["receivers"].points, np.ones(1, int), ["vs"])["vs"] == pytest.approx(
        files.truth(1e5 * 0.01, 1e5 * 0.005, -300.0)["vs"], rel=1e-5
    )


def told(**changes):
    return problems(
        output__receivers={"interval": 0.05, **changes.pop("receivers", {"points": [[300, 900, 0]]})}, **changes
    )


@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_without_a_projection(engine, tmp_path):
    settings = case(engine=engine, output__receivers={"geographic": [[-117.0, 34.0, 0]]})
    settings["sources"][0] = {**settings["sources"][0], "geographic": [-117.0, 34.0, -500]}
    del settings["sources"][0]["location"]
    if engine == "dg":
        box = {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, -1500], "upper": [1500, 1600, 0]}
        settings["mesh"] = {"generate": {**box, "boundaries": {"z+": "free-surface"}}}
    made, found = load_case(settings)
    assert made is not None, found.items
    text = "\n".join(map(str, check(made).errors))
    expect(text)


def test_what_is_no_place(tmp_path):
    (tmp_path / "sites.txt").write_text("-117.9 34.2 0\n34.2 -117.9 0\n-117.9 34.2\n")
    text = told(receivers={"geographic": [[34.2, -117.9, 0], [-117.9, 94, 0]]}, projection=PLACE)
    expect(text)
    text = told(receivers={"geographic_file": str(tmp_path / "sites.txt")}, projection=PLACE)
    expect(text)
    (tmp_path / "sites.txt").write_text("-117.9 34.2 0\n34.2 -117.9 0\n-116.9 34.2 0\n")
    text = told(receivers={"geographic_file": str(tmp_path / "sites.txt")}, projection=PLACE)
    expect(text)


def test_outside_of_the_box(tmp_path):
    """With file and line of the case, by both coordinates that the user knows."""
    path = tmp_path / "case.yaml"
    path.write_text(
        "engine: fd\nend_time: 1\ngrid: { lower: [0, 0, -1500], upper: [1500, 1600, 0], spacing: 100 }\n"
        "material: { constant: { rho: 2700, vp: 4000, vs: 2000 } }\nprojection: { crs: 'EPSG:32611', origin: [-117.9, 34.2] }\n"
        "output:\n  receivers:\n    geographic:\n      - [-117.899, 34.201, 0]\n      - [-116.9, 34.2, 0]\n"
    )
    made, found = load_case(path)
    assert made is not None, found.items
    (error,) = check(made).errors
    assert error.where == f"{path}:10" and "receiver 2 at (" in error.what and "outside the box" in error.what


def test_location_or_geographic():
    settings = case(projection=PLACE)
    settings["sources"][0]["geographic"] = [-117.9, 34.2, -500]
    made, found = load_case(settings)
    assert made is None and "set location or geographic, not both" in str(found.errors[0])
    settings["sources"] = [
        {"kind": "awp", "file": __file__, "geographic": [0, 0, 0], "nodes": {"spacing": 1, "interval": 1, "steps": 1}}
    ]
    made, found = load_case(settings)
    assert made is None and "geographic: has no effect with kind awp" in str(found.errors[0])


@pytest.mark.parametrize("engine", ["fd", "dg"])
def test_maps_whose_lengths_are_not_those_of_earth(engine):
    settings = case(engine=engine, projection={"crs": "EPSG:3857", "origin": [-117.9, 34.2]})
    if engine == "dg":
        box = {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, -1500], "upper": [1500, 1600, 0]}
        settings["mesh"] = {"generate": {**box, "boundaries": {"z+": "free-surface"}}}
    made, found = load_case(settings)
    assert made is not None, found.items
    (warned,) = (w for w in check(made).warnings if w.where == "projection")
    assert "1.208 (east) and 1.214 (north) times those on Earth" in warned.what
    settings["projection"] = {"crs": "EPSG:2225", "origin": [-122.0, 41.0]}
    made, found = load_case(settings)
    assert made is not None, found.items
    assert [e.what for e in check(made).errors] == ["'EPSG:2225' counts in US survey foot, not in metres"]
