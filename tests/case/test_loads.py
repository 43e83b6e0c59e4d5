"""What may load a fault besides its own stress and nucleation."""

import pytest

from faultwave.case.load import load_case
from faultwave.case.plausibility import fault_loads

ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
FORCE = {
    "kind": "force",
    "location": [0, 0, -100],
    "force": [0, 0, 1e9],
    "time_function": {"kind": "gaussian", "duration": 0.1},
}
BOX = {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [-1e3, -1e3, -2e3], "upper": [1e3, 1e3, 0]}}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ()),
        ({"sources": [FORCE]}, ("sources",)),
        ({"initial": {"kind": "easi", "field": {"constant": {"v1": 1.0}}}}, ("the initial state (easi)",)),
    ],
)
def test_loads_of_a_case(more, expected):
    case, problems = load_case({"end_time": 1.0, "mesh": BOX, "material": {"constant": ROCK}, **more})
    assert case is not None, problems
    assert fault_loads(case) == expected
