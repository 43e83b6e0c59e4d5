"""Mistakes in decks that only show when their files are read."""

from __future__ import annotations

from pathlib import Path

import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.domain.tets.formats.puml import write_puml
from faultwave.domain.tets.generators.box import Box, box_mesh

DECK = """\
&equations
MaterialFileName = 'material.yaml'
/
&DynamicRupture
FL = 16
ModelFileName = 'fault.yaml'
YRef = -1e5
/
&MeshNml
MeshFile = 'mesh.h5'
/
&Output
OutputFile = 'out/x'
/
&AbortCriteria
EndTime = 0.1
/
"""
FAULT = "!ConstantMap\nmap: {mu_s: 0.7, mu_d: 0.5, d_c: 0.4, cohesion: 0, T_n: -1e8, T_s: 6e7, T_d: 0, forced_rupture_time: 1e9}\n"


def test_a_fault_in_a_material_without_mu(tmp_path: Path) -> None:
    """The material is that of a fluid then; the message names its file and what is missing."""
    mesh = box_mesh(Box((2, 2, 2), (-1e3, -1e3, -2e3), (1e3, 1e3, 0), {"z+": "free-surface"}, fault=("y", 0.0)))
    write_puml(tmp_path / "mesh.h5", mesh)
    (tmp_path / "fault.yaml").write_text(FAULT)
    (tmp_path / "material.yaml").write_text("!ConstantMap\nmap: {rho: 2700, lambda: 3e10}\n")
    (tmp_path / "parameters.par").write_text(DECK)
    with pytest.raises(InputError, match=r"material.yaml: defines lambda, rho but no mu.*Faults need a solid: add mu"):
        fw.simulate(tmp_path / "parameters.par")


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ({"build": {"lower": [-1e4, -1e4], "upper": [1e4, 1e4], "depth": 1e30, "far_size": 5e3}}, "lower, upper and depth make a box"),
        ({"build": {"lower": [-1e4, -1e4], "upper": [1e4, 1e4], "depth": 1e30}}, "lower, upper and depth make a box"),
        ({"generate": {"shape": "tpv5", "half_width": [1e30, 3e4]}}, "half_width and depth make a box"),
        ({"generate": {"shape": "tpv5", "size": 1e-9}}, "fault_length and fault_depth make a box"),
    ],
)  # fmt: skip
def test_boxes_that_no_machine_meshes(mesh: dict, words: str) -> None:
    case = {"end_time": 1.0, "mesh": mesh, "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}}}
    with pytest.raises(InputError, match=words):
        fw.simulate(case)


def test_parameters_of_another_law_that_nothing_else_gives(tmp_path: Path) -> None:
    box = {
        "shape": "box",
        "cells": [1, 1, 1],
        "lower": [0, 0, 0],
        "upper": [1, 1, 1],
        "boundaries": {"x": "pec", "y": "pec", "z": "pec"},
    }
    case = {"end_time": 1e-9, "mesh": {"generate": box}, "material": {"constant": {"relative_permittivity": 1}}}
    with pytest.raises(InputError, match="defines permittivity, which the elastic law does not read.*law: maxwell"):
        fw.simulate(case)
