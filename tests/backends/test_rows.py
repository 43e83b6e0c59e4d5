"""Rows of points that lie in several launches: when one loop serves them, and that it does what NumPy does."""

import dataclasses
import os
import re

import numpy as np
import pytest

from faultwave.backends.cpu.rows import RowFunction, first_cache_bytes, layer_terms, rows_of, same_formulas
from faultwave.backends.grid import GridArrays
from faultwave.backends.numpy.stencil import written
from faultwave.fd.method import stencils
from faultwave.fd.method.program import build_program
from faultwave.kernels.stencil import Box, Stencil
from tests.fd.setups import everything, runner, scheme


@pytest.mark.parametrize("beside", [(), ("y",), ("y", "z")])
@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize("planes", [1, 2])
def test_a_layer_across_x_adds_terms(beside, damped, planes):
    plain, layer = (
        stencils.stress(True, False, stencils.StencilPlace(axes, damped)) for axes in (beside, ("x", *beside))
    )
    found, each = layer_terms(plain, layer, planes), range(planes)
    memories = {(name, plane) for name in ("psi_eu_x", "psi_ev_x", "psi_ew_x") for plane in each}
    assert {(s.array, s.plane) for s in found.added} == memories
    assert set(found.factors) == ({(name, plane) for name in stencils.STRESS for plane in each} if damped else set())
    assert same_formulas(
        layer, stencils.stress(True, False, stencils.StencilPlace(("x", *beside), damped))
    ) and not same_formulas(plain, layer)


def test_what_more_than_added_terms():
    inside = stencils.StencilPlace()
    plain, layer = stencils.velocity(False, inside), stencils.velocity(False, stencils.StencilPlace(("x",)))
    assert layer_terms(layer, plain) is None and layer_terms(plain, stencils.stress(False, False, inside)) is None
    sponge = layer_terms(plain, stencils.velocity(True, inside))
    assert not sponge.added and set(sponge.factors) == {(name, 0) for name in stencils.VELOCITY}

    def unused(p):  # its memory goes into no sum
        return {**plain.function(p), "psi_u_x": p.at("psi_u_x")}

    def without(p):
        return {**layer.function(p), "w": p.at("w")}

    def more(p):
        result = layer.function(p)
        return {**result, "w": result["w"] + p.at("b_z")}

    assert all(layer_terms(plain, Stencil(f.__name__, f)) is None for f in (unused, without, more))


@pytest.mark.parametrize("planes", [1, 2])
def test_nothing_is_added_to_products(planes):
    """Without a layer a sum joins the product and rounds once, which a row that adds a term to it cannot do."""

    def made(product, layer):
        def update(p):
            slope = p.at("v", 0, 0, 1) - p.at("v", 0, 0, 0)
            changing = p.at("c") * slope if product else slope
            memory = 0.5 * p.at("psi") + slope
            new = {"psi": memory} if layer else {}
            return {"u": p.at("u") + (changing + memory if layer else changing), **new}

        return Stencil("layer" if layer else "plain", update)

    assert layer_terms(made(False, False), made(False, True), planes).added
    assert layer_terms(made(True, False), made(True, True), planes) is None


def rows(of):
    program = build_program(of)
    arrays = GridArrays(program, np.float32, 16)
    return [(row, RowFunction(program, arrays, row)) for level in program.levels for row in rows_of(level)]


@pytest.mark.parametrize(("size", "level"), [(0, 2), (32 * 2**10, 2), (48 * 2**10, 3)])
def test_rows_are_fetched_into_the_first_cache_where_it_is_large_enough(size, level, monkeypatch):
    monkeypatch.setattr("faultwave.backends.cpu.rows.first_cache_bytes", lambda: size)
    text = "".join(made.text for _, made in rows(scheme((20, 26, 53))))
    assert set(re.findall(r"__builtin_prefetch\(.*?, 0, (\d)\);", text)) == {str(level)}


def test_what_the_system_says_of_the_first_cache(monkeypatch):
    sizes = {"SC_LEVEL1_DCACHE_SIZE": 49152}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert first_cache_bytes.__wrapped__() == 49152
    sizes["SC_LEVEL1_DCACHE_SIZE"] = -1  # not known
    assert first_cache_bytes.__wrapped__() == 0

    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)
    assert first_cache_bytes.__wrapped__() == 0


def test_layers_at_the_ends_of_rows_share_their_loop():
    """Nine kinds of rows a level for 27 regions, and one loop in each; where nothing is left between the layers, a loop for each.
    So a row is rounded alike on processes that have one of its layers only, whatever their widths."""
    wide = rows(scheme((20, 26, 53), {"z+": "absorbing"}))
    assert len(wide) == 18 and all(len(row) == 3 and made.text.count("for (long i") == 1 for row, made in wide)
    narrow = rows(scheme((20, 26, 21), {"z+": "absorbing"}))
    assert all(len(row) == 2 and made.text.count("for (long i") == 2 for row, made in narrow)
    uneven = rows(scheme(**UNEVEN))
    assert all(len(row) == 3 and made.text.count("for (long i") == 1 for row, made in uneven)


UNEVEN = {  # layers of 16 points at one end of rows, of 17 at the other
    "shape": (9, 8, 49),
    "width": 10,
    "sides": {"y-": "rigid", "y+": "rigid", "z-": "rigid", "z+": "rigid"},
}
VARIANTS = {
    "elastic": {},
    "attenuation": {"attenuation": True},
    "one side": {"attenuation": True, "sides": {"x-": "rigid"}},
    "surface": {"attenuation": True, "sides": {"z+": "free-surface"}},
    "uneven": UNEVEN,
}


def started(variant, along, backend, precision):
    """Fields and memories of layers full of noise."""
    more = {"shape": (17, 18, 53), "sides": {}} | VARIANTS[variant]
    of = scheme(**more | {"sides": {"z+": "absorbing"} | more["sides"]})
    of = dataclasses.replace(of, absorber=dataclasses.replace(of.absorber, along=along))
    made, rng = runner(of, backend, precision), np.random.default_rng(3)
    names = written([launch for level in made.program.levels for launch in level], made.program, with_halo=False)
    for name in names:
        made.view(name)[...] = rng.normal(size=made.view(name).shape) * (1e-7 if name in stencils.VELOCITY else 1.0)
    return of, made, names


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("along", [0.0, 0.5])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_every_region_is_numpy(variant, along, precision):
    (of, here, names), (_, there, _) = (started(variant, along, b, precision) for b in ("numpy", "cpu"))
    assert len(names) > 9 and any(len(row) > 1 for row in rows_of(here.program.levels[0]))
    for made in (here, there):
        made.run(3, np.zeros((2, 3, 1)))
    for name in names:
        wanted, found = here.view(name), there.view(name)
        assert np.abs(found - wanted).max() <= (3e-6 if precision == "single" else 1e-14) * np.abs(wanted).max(), name
    for region in (launch for launch in here.program.levels[1] if not launch.lag):
        inside = tuple(slice(a, b) for a, b in zip(region.box.lo, region.box.hi, strict=True))
        assert np.abs(everything(there, of.attenuation)["sxx"][2:, 2:, 2:][inside]).max() > 0


@pytest.mark.parametrize("along", [0.0, 0.5])
def test_pieces_of_rows_are_the_whole(along):
    """Wherever boxes are cut, every point is the same to the last bit, and nothing beyond a piece is touched."""
    (_, whole, names), (_, pieces, _) = (started("attenuation", along, "cpu", "single") for _ in range(2))
    whole.run(2, np.zeros((2, 2, 1)))
    cuts = [[(0, 7), (17, 30)], [(50, 53)], [(7, 16), (16, 17), (45, 49)], [(30, 45), (49, 50)]]
    for number in range(4):
        level = pieces.program.levels[number % 2]
        for turn in np.random.default_rng(number).permutation(4):
            boxes = [[_cut(launch.box, *cut) for cut in cuts[turn]] for launch in level]
            work = [[[]] * (len(pieces.program.levels[n]) + 2) for n in range(2)]
            work[number % 2] = [*([b for b in listed if b.points > 0] for listed in boxes), [], []]
            pieces.run(1, np.zeros((2, 1, 1)), work)
    for name in names:
        assert np.array_equal(pieces.view(name), whole.view(name)), name


def _cut(box, first, end):
    (z0, y0, x0), (z1, y1, x1) = box.lo, box.hi
    return Box((z0, y0, max(x0, first)), (z1, y1, max(min(x1, end), max(x0, first))))
