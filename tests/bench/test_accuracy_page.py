"""What the documentation says of the table of accuracy, derived from the table again."""

import re
from pathlib import Path

import numpy as np
import pytest

from faultwave.bench import results
from faultwave.bench.accuracy import table

ROOT = Path(__file__).resolve().parents[2]
DOUBLE, SINGLE = "double", "single"


@pytest.fixture(scope="module")
def page():
    return " ".join((ROOT / "docs/performance.md").read_text("utf-8").split())


@pytest.fixture(scope="module")
def ladders():
    return {p["name"]: (p, dict(table.series(p))) for p in table.read()["problems"]}


def costs(problem, points, levels=None):
    """(distances, levels), NaN where an error was not reached."""
    asked = levels or problem["levels"]
    return np.array([[table.cost(points, e, i) for e in asked] for i in range(len(problem["distances"]))])


def spread(values):
    return f"{np.nanmin(values):.2g} to {np.nanmax(values):.2g}"


def test_the_page_has_the_table_of_the_package():
    opening, closing = results.markers("accuracy")
    text = (ROOT / "docs/performance.md").read_text("utf-8")
    assert text.split(opening)[1].split(closing)[0].strip() == table.markdown(table.read()).strip()


def test_the_budget_is_that_of_the_makefile(page):
    asked = re.search(r"bench accuracy (--budget \d+) --write", (ROOT / "Makefile").read_text("utf-8"))
    assert f"`faultwave bench accuracy {asked[1]}`" in page


def test_grids_beside_tetrahedra(page, ladders):
    times = []
    for name in ("full-space", "loh1"):
        problem, found = ladders[name]
        best = {e: np.nanmin([costs(problem, v, (0.05, 0.01)) for k, v in found.items() if k[0] == e], axis=0)
                for e in ("dg", "fd")}  # fmt: skip
        times.append(best["dg"] / best["fd"])
    assert f"take {spread(np.concatenate(times))} times as long at 5 and 1 %" in page
    problem, found = ladders["full-space"]
    assert f"0.1 % after 12 wavelengths in {costs(problem, found['fd', 8, SINGLE])[-1, -1]:.2g} core-seconds" in page
    fine = {k: costs(problem, v, (0.01, 0.001)) for k, v in found.items()}
    assert (np.nanmin(list(fine.values()), axis=0) == fine["fd", 8, SINGLE]).all()
    problem, found = ladders["loh1"]
    four, eight = (costs(problem, found["fd", order, SINGLE]) for order in (4, 8))
    assert not (eight <= four).any()


def test_order_4_on_grids_errs_as_is_said(page, ladders):
    (point,) = (p for p in ladders["full-space"][1]["fd", 4, SINGLE] if p["size"] == 28)
    assert (
        f"at {point['points']:.1f} points each, they are {100 * point['errors'][-1]:.1f} % with the default step"
        in page
    )


def test_orders_on_tetrahedra(page, ladders):
    worst = 0.0
    for problem, found in ladders.values():
        each = {k[1]: costs(problem, v) for k, v in found.items() if k[0] == "dg" and k[2] == DOUBLE}
        best = np.fmin.reduce(list(each.values()))
        assert not (each[2] <= best).any()
        worst = np.nanmax([worst, *(each[4] / best).ravel()])
    assert f"it costs up to {worst:.2g} times as much as the cheapest order" in page


def test_single_precision_beside_double(page, ladders):
    shares = {"long": [], "brief": []}
    for name, (problem, found) in ladders.items():
        for order in (4, 6):
            single, double = (found.get(("dg", order, precision)) for precision in (SINGLE, DOUBLE))
            if single is None or double is None:
                continue
            share = costs(problem, single) / costs(problem, double)
            shares["brief" if name == "cavity" else "long"] += share[np.isfinite(share)].tolist()
            by_size = {p["size"]: p["errors"] for p in double}
            for point in single:
                for a, b in zip(point["errors"], by_size.get(point["size"], ()), strict=False):
                    assert b < 1e-3 or a == pytest.approx(b, rel=0.01)
    low, high = min(shares["brief"]), max(shares["brief"])
    assert f"It takes {spread(shares['long'])} of the time in the full space" in page
    assert f"and {low:.2f} to {high:.2g} of it in the cavity" in page


def test_errors_on_the_way(page, ladders):
    known = [p["errors"] for points in ladders["full-space"][1].values() for p in points]
    growth = [e[-1] / e[0] for e in known if e[0] < 0.05]
    assert f"factors of {spread(growth)} between 3 and 12 wavelengths" in page


def test_ruptures(page, ladders):
    problem, found = ladders["tpv5"]
    keys = list(found)
    seconds = np.stack([costs(problem, found[key])[0] for key in keys])
    for level, of_level in zip(problem["levels"], seconds.T, strict=True):
        told = f"{1000 * level:.0f} ms after {np.nanmin(of_level):.1f}" if np.isfinite(of_level).any() else None
        assert (told or f"{1000 * level:.0f} ms were not reached") in page
        assert told is None or keys[int(np.nanargmin(of_level))] == ("dg", 4, SINGLE)
    off = {order: 1000 * found["dg", order, DOUBLE][0]["errors"][0] for order in (3, 4, 5, 6)}
    assert f"order 3 is off by {off[3]:.0f} ms, 4 by {off[4]:.0f}, 5 by {off[5]:.0f}, 6 by {off[6]:.0f}" in page
