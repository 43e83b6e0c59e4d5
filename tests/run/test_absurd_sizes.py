"""Sizes that no machine can mesh, and settings that are missing, are answered before anything is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.domain.tets.generators.generate import generate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def changed(example: str, tmp_path: Path, *changes: tuple[str, Any]) -> str:
    """Return the problems of an example with changes at dotted places; None removes."""
    document = YAML(typ="safe").load(EXAMPLES / example / "case.yaml")
    for place, value in changes:
        node = document
        *path, last = [int(key) if key.isdigit() else key for key in place.split(".")]
        for key in path:
            node = node[key]
        if value is None:
            del node[last]
        else:
            node[last] = value
    for file in (EXAMPLES / example).iterdir():
        if file.name != "case.yaml" and file.is_file():
            (tmp_path / file.name).symlink_to(file)
    with (tmp_path / "case.yaml").open("w") as stream:
        YAML(typ="safe").dump(document, stream)
    return str(fw.check(tmp_path / "case.yaml"))


@pytest.mark.parametrize(
    ("example", "place", "value", "words"),
    [
        ("leapfrog", "law", None, "defines permittivity, which the elastic law does not read"),
        ("everything", "mesh.build.depth", 1e30, "mesh.build: lower, upper and depth make a box"),
        ("fault-on-a-grid", "grid.fault.upper.2", 1e30, "grid.fault: ends -1e+30 m from the side z+ of the box"),
        ("fault-on-a-grid", "grid.fault.upper.0", 1e30, "from the side x+ of the box"),
        ("plasticity", "mesh.generate.half_width.0", 1e30, "mesh.generate: half_width and depth make a box"),
        ("plasticity", "mesh.generate.half_width.1", "12 m", "mesh.generate.half_width: 12 m"),
        ("plasticity", "mesh.generate.depth", 1e30, "mesh.generate: half_width and depth make a box"),
        ("plasticity", "mesh.generate.size", "1 m", "mesh.generate: makes about"),
    ],
)
def test_the_setting_is_named(example: str, place: str, value: Any, words: str, tmp_path: Path) -> None:
    assert words in changed(example, tmp_path, (place, value))


def test_boxes_of_more_bricks_than_memory_holds() -> None:
    box = {
        "shape": "box",
        "cells": (10**5, 10**5, 10**5),
        "lower": (0.0, 0.0, 0.0),
        "upper": (1.0, 1.0, 1.0),
        "boundaries": {},
    }
    with pytest.raises(InputError, match=r"mesh.generate.cells: makes about 6e\+15 cells"):
        generate(box)
