"""For every kind of everything: a setting changes what is made of it, or it is refused by its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from faultwave.case.load import load_case
from faultwave.case.settings.common import Kinds, ParameterErrors, Settings
from faultwave.case.settings.model import Case, Initial
from faultwave.case.settings.sources import Current, Source, TimeFunction
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.time_functions import time_function

RICKER = {"kind": "ricker", "duration": 0.5}
VALUES = {
    "duration": 0.7, "frequency": 3.0, "acceleration": 0.2, "samples": [0.0, 1.0, 0.5], "interval": 0.3,
    "location": [1.0, 2.0, 3.0], "geographic": [10.0, 45.0, -1.0], "tensor": {"xy": 2.0}, "force": [1.0, 2.0, 3.0], "z": -5.0,
    "velocity": [1.0, 0.0, 0.0], "onset": 0.4, "time_function": RICKER, "file": "a.srf", "slip_rate": "cosine",
    "nodes": {"spacing": 1.0, "interval": 1.0, "steps": 1},
    "moment": [1.0, 0.0, 0.0], "density": [0.0, 1.0, 0.0], "surface": "sheet", "volumes": ["inside"],
    "wave": [{"mode": "P", "k": [1.0, 0.0, 0.0]}], "field": {"constant": {"v1": 1.0}},
    "vertical": "ground", "outside": "nearest", "water": "fluid", "crs": "EPSG:32611", "names": {"vs": "beta"}, "shape": [2, 2, 2],
    "spacing": 10.0, "vertical_spacing": 5.0, "origin": [1.0, 0.0, 0.0], "variables": ["vp", "vs", "rho"], "byte_order": "big",
    "width": 12, "along": 0.01, "mode": 2, "wavenumbers": [0.5, 0.7], "depth": 2.0, "height": 3.0, "level": 0.3, "amplitude": 2.0,
    "angle": 5.0, "phase": 0.4, "boundaries_only": True,
    "strike": 30.0, "dip": 60.0, "rake": 45.0, "magnitude": 5.0, "seismic_moment": 2e15,
    "pressure": 1e5, "center": [1.0, 2.0, 3.0],
}  # fmt: skip
"""A value of every setting of a group with kinds; a new one belongs here."""


def groups(kind: type[BaseModel] = Case, seen: set[type] | None = None) -> Iterator[type[BaseModel]]:
    """Every group of settings in a case."""
    seen = set() if seen is None else seen
    if kind in seen:
        return
    seen.add(kind)
    yield kind
    for field in kind.model_fields.values():
        for found in inside(field.annotation):
            yield from groups(found, seen)


def inside(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from inside(part)


def choices(group: type[BaseModel]) -> tuple[str, ...]:
    return get_args(group.model_fields["kind"].annotation)


WITH_KINDS = [g for g in groups() if "kind" in g.model_fields]
EACH = [(group, kind) for group in WITH_KINDS for kind in choices(group)]


def uses(group: type[BaseModel], kind: str, name: str) -> bool:
    extra = group.model_fields[name].json_schema_extra
    return not isinstance(extra, dict) or kind in extra.get("kinds", (kind,))


def test_every_group_with_a_kind_refuses_what_that_does_not_use():
    assert {Source, Current, TimeFunction, Initial} <= set(WITH_KINDS)
    assert [g for g in WITH_KINDS if not issubclass(g, Kinds)] == []


@pytest.mark.parametrize(("group", "kind"), EACH, ids=lambda x: getattr(x, "__name__", x))
def test_what_a_kind_does_not_use_is_refused_by_name(group, kind):
    needed = {n: VALUES[n] for n, field in group.model_fields.items() if field.is_required() and n != "kind"}
    for name in group.model_fields:
        if name == "kind" or uses(group, kind, name):
            continue
        with pytest.raises(ValidationError) as caught:
            group.model_validate({**needed, "kind": kind, name: VALUES[name]})
        causes = [item.get("ctx", {}).get("error") for item in caught.value.errors()]
        told = [c.wrong[name] for c in causes if isinstance(c, ParameterErrors)]
        assert told and f"has no effect with kind {kind}, which uses" in told[0]


def sampled(**values: Any) -> np.ndarray:
    t = np.linspace(0.0, 6.0, 601)
    made = time_function(TimeFunction.model_validate(values))
    return np.concatenate([made.value(t), made.integral(t)])


NEEDED = {
    "yoffe": {"acceleration": 0.1},
    "burst": {"frequency": 2.0},
    "samples": {"samples": [0.0, 1.0, 0.0], "interval": 0.1},
}


@pytest.mark.parametrize("kind", choices(TimeFunction))
def test_every_setting_of_a_time_function_changes_it(kind):
    plain = sampled(kind=kind, **NEEDED.get(kind, {}))
    for name in TimeFunction.model_fields:
        if name != "kind" and uses(TimeFunction, kind, name):
            assert not np.array_equal(sampled(**{"kind": kind, **NEEDED.get(kind, {}), name: VALUES[name]}), plain), (
                name
            )


def test_a_ricker_by_its_frequency():
    assert np.array_equal(sampled(kind="ricker", frequency=2.0), sampled(kind="ricker", duration=0.5))
    with pytest.raises(ValidationError, match="not both"):
        TimeFunction.model_validate({"kind": "ricker", "frequency": 2.0, "duration": 0.4})
    with pytest.raises(ValidationError, match="needs a frequency"):
        TimeFunction.model_validate({"kind": "burst"})


POINT = {
    "moment-tensor": {"tensor": {"xx": 1.0}},
    "force": {"force": [0.0, 0.0, 1.0]},
    "double-couple": {"strike": 10.0, "dip": 80.0, "rake": 5.0, "seismic_moment": 1e15},
}


@pytest.mark.parametrize("kind", sorted(POINT))
def test_every_setting_of_a_point_source_changes_it(kind):
    from faultwave.case.settings.grid import Projection

    projection = Projection(crs="+proj=tmerc +lon_0=10 +lat_0=45")

    def made(**values: Any) -> str:
        setting = {
            "kind": kind,
            "location": [0.0, 0.0, 0.0],
            "time_function": {"kind": "brune"},
            **POINT[kind],
            **values,
        }
        return repr(load_sources([Source.model_validate(setting)], projection=projection))

    plain = made()
    for name in Source.model_fields:
        if name != "kind" and uses(Source, kind, name):
            other = {"magnitude": {"seismic_moment": None}, "geographic": {"location": None}}.get(name, {})
            assert made(**{**other, name: VALUES[name]}) != plain, name


def test_a_case_tells_the_line_and_the_word(tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(
        "end_time: 1\nmesh:\n  generate: {shape: box, cells: [2, 2, 2], lower: [0, 0, 0], upper: [1, 1, 1]}\n"
        "material:\n  constant: {rho: 1, vp: 2, vs: 1}\n"
        "sources:\n  - kind: force\n    force: [1, 0, 0]\n    tensor: {xx: 1}\n    time_function:\n"
        "      kind: brune\n      frequency: 2 Hz\n"
    )
    case, problems = load_case(path)
    assert case is None
    told = {p.where.rsplit(":", 1)[1]: str(p) for p in problems.errors}
    assert "time_function.frequency: has no effect with kind brune, which uses duration" in told["12"], told


def test_what_else_is_wrong_is_told_as_well() -> None:
    with pytest.raises(ValidationError) as caught:
        TimeFunction.model_validate({"kind": "yoffe", "frequency": 2.0})
    (cause,) = [item["ctx"]["error"] for item in caught.value.errors()]
    assert "frequency" in cause.wrong and "needs acceleration" in cause.group


def test_what_is_written_down_can_be_read_again():
    made = TimeFunction.model_validate(RICKER)
    assert TimeFunction.model_validate(made.model_dump()) == made
    assert "samples" not in made.model_dump(mode="json")


def test_empty_settings_say_nothing():
    assert Initial.model_validate({"kind": "zero", "wave": [], "field": None}).kind == "zero"
    assert issubclass(Initial, Settings)
