"""What a case says and its physics does not read is told by its name, not ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultwave.base.errors import Problems
from faultwave.run.planned import check
from tests.run.rupture.setup import ROCK, settings, slip_weakening
from tests.run.rupture.test_laws import rate_and_state

BOX = {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, 0], "upper": [1e3, 1e3, 1e3]}


def case(**more: Any) -> dict[str, Any]:
    return {"end_time": 0.1, "mesh": {"generate": BOX}, "material": {"constant": ROCK}, "numerics": {"order": 2}} | more


def besides_rest(found: Problems) -> list[str]:
    """What is told of a case without a source, beside that nothing moves in it."""
    texts = [str(problem) for problem in found.items]
    return [text for text in texts if "so nothing moves" not in text]


def told(found: Problems, where: str, *words: str, severity: str = "error") -> None:
    """There is one such problem, and it says all words."""
    named = [p for p in found.items if p.where == where and p.severity == severity]
    assert len([p for p in named if all(word in str(p) for word in words)]) == 1, found


def test_sound_cases_have_no_problems(tmp_path: Path) -> None:
    assert not besides_rest(check(case()))
    found = check(settings(tmp_path, slip_weakening(forced_rupture_ramp=0.1, healing_threshold=0.01)))
    assert not found.errors and "nothing" not in repr(found)


def test_parameters_of_another_friction_law(tmp_path: Path) -> None:
    fault = slip_weakening(values={"rs_a": 0.01}, expression={"rs_sl0": "0.02"})
    found = check(settings(tmp_path, fault))
    told(found, "fault.parameters.constant.rs_a", "'rs_a' is not a parameter of friction linear-slip-weakening", "mu_s")
    told(found, "fault.parameters.expression.rs_sl0", "'rs_sl0'")
    file = tmp_path / "fault.yaml"
    file.write_text(
        "!ConstantMap\nmap: {mu_s: 0.7, mu_d: 0.5, d_c: 0.4, cohesion: 0, T_n: -1.2e8, T_s: 7e7, T_d: 0, rs_a: 0.01, nuc_xx: 1, "
        "tp_half_width: 0.02}\n"
    )
    found = check(settings(tmp_path, fault | {"parameters": {"easi": str(file)}}))
    assert not found.errors  # a file may serve several programs
    told(
        found,
        "fault.parameters",
        "rs_a, tp_half_width: friction linear-slip-weakening does not read them",
        severity="warning",
    )


def test_settings_of_another_friction_law(tmp_path: Path) -> None:
    used = {"healing_threshold": 0.01, "forced_rupture_ramp": 0.1, "weakening": "quadratic", "sliding": "smooth"}
    fault = rate_and_state("ageing", 1e-9, 75e6, **used)
    found = check(settings(tmp_path, fault))
    told(found, "fault.healing_threshold", "has no effect with friction rate-and-state-ageing")
    told(found, "fault.weakening", "has no effect with friction rate-and-state-ageing")
    told(found, "fault.sliding", "has no effect with friction rate-and-state-ageing")
    told(found, "fault.forced_rupture_ramp", "has no effect")
    found = check(settings(tmp_path, slip_weakening(damping_end=1.0)))
    told(found, "fault.damping_end", "has no effect while fault.damping is 1", severity="warning")


def test_parameters_of_another_material() -> None:
    found = check(case(material={"constant": ROCK | {"rs_a": 0.01}}))
    told(found, "material.constant.rs_a", "'rs_a' is not a parameter of the elastic law", "vp")
    found = check(case(material={"constant": ROCK | {"Qp": 100.0, "Qs": 50.0}}))
    told(found, "material", "defines Qp and Qs", "elastic", severity="warning")
    grid = {"lower": [0, 0, -1e3], "upper": [1e3, 1e3, 0], "spacing": 100.0}
    found = check({"engine": "fd", "grid": grid, "end_time": 0.1, "material": {"constant": ROCK | {"rs_a": 0.01}}})
    told(found, "material.constant.rs_a", "'rs_a' is not a parameter of the elastic law on a grid")


def test_regions_that_no_cell_is_in() -> None:
    found = check(case(material={"regions": {"1": ROCK, "7": ROCK}}))
    told(found, "material.regions.7", "no cell of the mesh is in volume 7", "allowed: 1")


def test_impedances_of_faces_that_there_are_not() -> None:
    sound = BOX | {"boundaries": {"x": "impedance"}}
    walls = {"law": "acoustic", "material": {"constant": {"rho": 1.2, "vp": 340.0}}, "mesh": {"generate": sound}}
    assert not check(case(**walls, impedances={"10": 400.0})).errors
    told(check(case(**walls, impedances={"10": 400.0, "5": 1.0})), "impedances.5", "no such face of kind impedance")
    told(check(case(**walls, impedances={"10": 400.0, "77": 1.0})), "impedances.77", "no such face")


def test_quantities_that_the_initial_state_has_not() -> None:
    initial = {"kind": "easi", "field": {"constant": {"v1": 1.0, "rho": 2.0}}}
    told(
        check(case(initial=initial)),
        "initial.field.constant.rho",
        "'rho' is not a parameter of the initial state",
        "v2",
    )


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ({"generate": BOX | {"seed": 3}}, "seed has no effect without perturb or shuffle"),
        ({"generate": BOX, "size": 10.0}, "size: for mesh files only, and this mesh is generated"),
        ({"generate": BOX, "boundary_format": "i32"}, "boundary_format: for mesh files only"),
    ],
)
def test_settings_of_another_kind_of_mesh(mesh: dict[str, Any], words: str) -> None:
    assert any(words in str(p) for p in check(case(mesh=mesh)).errors)


def test_more_columns_of_stations(tmp_path: Path) -> None:
    """Codes of station and network may follow a place; a number may be anything, so it is none."""
    file = tmp_path / "stations.txt"
    file.write_text("500 500 500 # the middle\n250 250 250 PASC CI 00\n250 250 100 0.5\n1 1 1 PASADENA1\n2 2 2 A C.I\n")
    found = check(case(output={"receivers": {"file": str(file)}}))
    told(found, f"{file}:2", "'00' after the network would have no effect", "with #")
    told(found, f"{file}:3", "'0.5' is not a station code", "letters")
    told(found, f"{file}:4", "'PASADENA1' is not a station code", "1 to 8")
    told(found, f"{file}:5", "'C.I' is not a network code", "letters")


def test_codes_that_are_given_twice(tmp_path: Path) -> None:
    file = tmp_path / "stations.txt"
    file.write_text("500 500 500 PASC CI\n250 250 250 PASC NP\n250 250 100 PASC CI\n")
    receivers = {"points": [[100.0, 100.0, 100.0]], "names": ["GSC"], "file": str(file), "network": "CI"}
    told(
        check(case(output={"receivers": receivers})),
        f"{file}:3",
        "receiver 4 is called CI.PASC, like receiver 2",
        "another",
    )
    few = check(case(output={"receivers": receivers | {"names": ["GSC", "SVD"]}}))
    assert any("names has 2 for 1 points and geographic ones" in str(p) for p in few.errors)


def test_origin_times_that_are_none() -> None:
    for value in ("soon", 5, True):
        found = check(case(output={"origin_time": value}))
        assert any("is not a date and time" in str(p) and "2019-07-06T03:19:53" in str(p) for p in found.errors), found


MODEL = "!ConstantMap\nmap: {rho: 2700, mu: 3e10, lambda: 3e10, porosity: 0.1, permeability: 1e-13, c11: 1e11, c66: 3e10, unknown: 3}\n"


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_a_material_file_made_for_other_physics(tmp_path: Path, engine: str) -> None:
    """What another law reads is an error that names it; what nobody knows may be for another program."""
    (tmp_path / "rock.yaml").write_text(MODEL)
    grid = {
        "engine": "fd",
        "grid": {"spacing": 200.0, "lower": [-1e3, -1e3, -1e3], "upper": [1e3, 1e3, 0.0]},
        "mesh": None,
    }
    found = check(case(material={"easi": str(tmp_path / "rock.yaml")}, **(grid if engine == "fd" else {})))
    texts = [str(p) for p in found.errors]
    assert len(texts) == 2 and all(str(tmp_path / "rock.yaml") in text for text in texts), texts
    assert any("defines c11, c66, which the elastic law" in t and "law: anisotropic" in t for t in texts)
    assert any("defines permeability, porosity, which the elastic law" in t and "law: poroelastic" in t for t in texts)


def test_boundaries_that_the_law_does_not_have() -> None:
    """Said while planning, where the case says it, with every kind that the law can have."""

    def on_top(kind: str, law: str = "elastic", **more: Any) -> dict[str, Any]:
        box = BOX | {"boundaries": {"z+": kind}}
        return case(mesh={"generate": box}, law=law, **more)

    for kind in ("sealed-surface", "pec"):
        found = check(on_top(kind))
        told(
            found,
            "mesh.generate.boundaries.z+",
            f"are of kind {kind}",
            "elastic law",
            "gravity",
            "dirichlet",
            "analytic",
        )
    found = check(on_top("impedance", impedances={"10": 1e6}))
    told(found, "mesh.generate.boundaries.z+", "are of kind impedance")
    assert not check(on_top("symmetry")).errors
    water = {"rho": 1000.0, "lambda": 2.25e9}
    assert not check(on_top("impedance", "acoustic", impedances={"10": 1e6}, material={"constant": water})).errors
    found = check(on_top("pmc", "acoustic", material={"constant": water}))
    told(found, "mesh.generate.boundaries.z+", "are of kind pmc", "impedance")


POROUS = {
    "rho": 2080, "lambda": 5.28e9, "mu": 6.4e9, "bulk_solid": 20e9, "bulk_fluid": 2.5e9, "rho_fluid": 1040, "porosity": 0.4,
    "permeability": 6e-13, "tortuosity": 2, "viscosity": 1e-3,
}  # fmt: skip
CRYSTAL = {
    "rho": 2700, **{f"c{i}{j}": 0.0 for i in range(1, 7) for j in range(i, 7)}, "c11": 97e9, "c22": 97e9, "c33": 70e9, "c12": 10e9,
    "c13": 30e9, "c23": 30e9, "c44": 32e9, "c55": 32e9, "c66": 43e9,
}  # fmt: skip


def rock(law: str, values: dict[str, Any], **more: Any) -> dict[str, Any]:
    return case(law=law, material={"constant": values}, **more)


def test_materials_that_say_one_thing_twice(tmp_path: Path) -> None:
    """Moduli and speeds: one of them would silently lose. Files may serve several programs."""
    both = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0, "mu": 8.1e9, "lambda": 8.1e9}
    grid = {"lower": [0, 0, -1e3], "upper": [1e3, 1e3, 0], "spacing": 100.0}
    for wrong in (
        rock("elastic", both),
        {"engine": "fd", "grid": grid, "end_time": 0.1, "material": {"constant": both}},
    ):
        found = check(wrong)
        told(found, "material.constant.vs", "so is mu")
        told(found, "material.constant.vp", "so is lambda")
    told(check(rock("anisotropic", CRYSTAL | {"vp": 6e3})), "material.constant.vp", "so is c11")
    file = tmp_path / "rock.yaml"
    file.write_text("!ConstantMap\nmap: {" + ", ".join(f"{k}: {v}" for k, v in both.items()) + "}\n")
    found = check(case(material={"easi": str(file)}))
    assert not found.errors
    told(found, str(file), "vs is defined", "mu is used", severity="warning")
    assert not besides_rest(check(rock("elastic", {"rho": 2700.0, "vp": 6000.0, "mu": 8.1e9})))
    water = {
        "regions": {"1": {"rho": 1000.0, "vp": 1500.0, "vs": 0.0}},
        "constant": {"rho": 2700.0, "mu": 8.1e9, "lambda": 8.1e9},
    }
    assert not besides_rest(check(case(material=water)))


def test_porous_rock_takes_no_speeds() -> None:
    """They depend on the fluid and on the density of both."""
    lacking = {k: v for k, v in POROUS.items() if k not in ("lambda", "mu")} | {"vp": 3000, "vs": 1500}
    found = check(rock("poroelastic", lacking))
    told(found, "material.constant.vp", "not a parameter of the poroelastic law", "Set mu and lambda")
    told(found, "material.constant", "parameter mu, lambda is missing: the field defines bulk_fluid")
    assert not check(rock("poroelastic", POROUS)).errors


def test_missing_and_wrong_parameters_are_told_once() -> None:
    found = check(rock("poroelastic", {k: v for k, v in POROUS.items() if k != "porosity"}))
    told(found, "material.constant", "parameter porosity is missing: the field defines bulk_fluid", "required are")
    assert "did you mean" not in repr(found)
    (wrong,) = check(rock("poroelastic", POROUS | {"porosity": 40})).errors
    assert "porosity is 40" in str(wrong) and "[]" not in str(wrong)


def test_a_law_that_does_not_attenuate() -> None:
    q = ROCK | {"Qp": 60.0, "Qs": 30.0}
    told(check(rock("elastic", q, attenuation={"high": 50})), "attenuation", "elastic law", "viscoelastic")
    assert not check(case(material={"constant": q}, attenuation={"high": 50})).errors


def test_parameters_given_as_constants(tmp_path: Path) -> None:
    fault = rate_and_state("ageing", 1e-9, 75e6, modifiers=["thermal-pressurisation"])
    fault["constants"] |= {"tp_half_width": 0.02}
    found = check(settings(tmp_path, fault))
    told(found, "fault.constants.tp_half_width", "is a parameter: define it in fault.parameters")
    fault["modifiers"] = []
    told(check(settings(tmp_path, fault)), "fault.constants.tp_half_width", "Add thermal-pressurisation")


def test_averages_that_a_material_has_not() -> None:
    for law, values in (("anisotropic", CRYSTAL), ("poroelastic", POROUS)):
        numerics = {"order": 2, "homogenise": True}
        told(check(rock(law, values, numerics=numerics)), "numerics.homogenise", "be averaged", severity="warning")
        assert "homogenise" not in repr(check(rock(law, values)))
    assert not besides_rest(check(case(numerics={"order": 2, "homogenise": True})))


def test_materials_in_other_units() -> None:
    in_gpa = {name: value / (1e9 if name != "rho" else 1.0) for name, value in CRYSTAL.items()}
    told(check(rock("anisotropic", in_gpa)), "material", "only 0.19 m/s", "other units", severity="warning")
    too_stiff = {name: value * (1e6 if name != "rho" else 1.0) for name, value in CRYSTAL.items()}
    told(check(rock("anisotropic", too_stiff)), "material", "m/s by c11", severity="warning")
    for name, value in (("permeability", 0.6), ("bulk_solid", 2e16), ("bulk_fluid", 2.5e15)):
        told(check(rock("poroelastic", POROUS | {name: value})), "material", f"{name} is up to", severity="warning")
    assert not besides_rest(check(rock("anisotropic", CRYSTAL)))
    assert not besides_rest(check(rock("poroelastic", POROUS)))


def test_bands_of_q_that_the_run_does_not_meet() -> None:
    q = case(material={"constant": ROCK | {"Qp": 60.0, "Qs": 30.0}}, end_time=0.5)
    told(check(q | {"attenuation": {"high": 0.001}}), "attenuation", "longer than the run of 0.5 s", severity="warning")
    found = check(q | {"attenuation": {"high": 5000}})
    told(found, "attenuation", "Q is constant from 50 Hz", "resolves", severity="warning")
    assert not besides_rest(check(q | {"attenuation": {"high": 20, "reference": 1}}))


@pytest.mark.parametrize(
    ("side", "constant", "warns"), (("x-", "c15", 1), ("x-", "c35", 1), ("x-", "c23", 0), ("y-", "c15", 0))
)
def test_sides_of_symmetry_of_rock_without_it(side: str, constant: str, warns: int) -> None:
    """A plane x = const is one of mirror symmetry where constants with 5 or 6 alone vanish; c15 is even in y."""
    box = BOX | {"boundaries": {side: "symmetry"}}
    found = check(rock("anisotropic", CRYSTAL | {constant: 2e9}, mesh={"generate": box}))
    assert len(besides_rest(found)) == warns
    if warns:
        told(found, f"mesh.generate.boundaries.{side}", "not symmetric to the plane", "2.06 %", severity="warning")
