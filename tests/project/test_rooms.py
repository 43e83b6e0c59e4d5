"""The import contract: it holds for the package, and it notices what breaks it."""

import grimp
import pytest

pytest.importorskip("importlinter", reason="import-linter comes with the dev extra")

from tools.rooms import RoomsContract, Row


def contract(*rows: str) -> RoomsContract:
    return RoomsContract("rooms", {"root_packages": ["house"]}, {"may_import": list(rows)})


def house(*imports: tuple[str, str]) -> grimp.ImportGraph:
    graph = grimp.ImportGraph()
    graph.add_module("house")
    for importer, imported in imports:
        for module in (importer, imported):
            parts = module.split(".")
            for n in range(2, len(parts) + 1):
                graph.add_module(".".join(parts[:n]))
        graph.add_import(importer=importer, imported=imported, line_number=7, line_contents="import x")
    return graph


def broken(rows: list[str], *imports: tuple[str, str]) -> list[tuple[str, str]]:
    check = contract(*rows).check(house(*imports), verbose=False)
    assert check.kept == (not check.metadata["broken"] and not check.metadata["unknown"])
    return [(module, target) for module, target, *_ in check.metadata["broken"]]


def test_allowed_imports_pass():
    rows = ["base:", "laws: base", "run: base laws"]
    assert not broken(rows, ("house.laws.elastic", "house.base.units"), ("house.run", "house.laws"))
    assert not broken(rows, ("house.laws.elastic", "house.laws.law"))


def test_a_forbidden_import_is_found():
    rows = ["base:", "laws: base"]
    assert broken(rows, ("house.base.units", "house.laws.elastic")) == [("house.base.units", "house.laws.elastic")]


def test_a_room_without_a_row_breaks_the_contract():
    check = contract("base:").check(house(("house.attic.box", "house.base")), verbose=False)
    assert not check.kept
    assert check.metadata["unknown"] == ["attic"]


def test_parts_of_rooms():
    rows = ["base:", "backends: base", "engines: backends -backends.cpu -engines.dg -engines.fd"]
    rows += ["engines.dg: backends -backends.cpu engines.common", "engines.fd: backends engines.common"]
    assert not broken(rows, ("house.engines.dg.operator", "house.backends.base"))
    assert not broken(rows, ("house.engines.dg.operator", "house.engines.common.points"))
    assert not broken(rows, ("house.engines.dg.operator", "house.engines.dg.basis"))
    for wrong in (
        ("house.engines.dg.operator", "house.backends.cpu.lower"),
        ("house.engines.dg.operator", "house.engines.fd.stencil"),
        ("house.engines.common.points", "house.engines.dg.basis"),
        ("house.engines.common.points", "house.base.units"),
    ):
        assert broken(rows, wrong) == [wrong]


def test_a_longer_name_does_not_match_a_prefix_of_letters():
    rows = ["base:", "baseline:", "run: base"]
    assert broken(rows, ("house.run", "house.baseline")) == [("house.run", "house.baseline")]


def test_a_row_needs_a_colon():
    with pytest.raises(ValueError, match="room: allowed"):
        Row.parse("laws base")
