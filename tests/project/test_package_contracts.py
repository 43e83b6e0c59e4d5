"""Import contract of the packages: allowed imports pass, others are found."""

import grimp
import pytest

pytest.importorskip("importlinter", reason="import-linter comes with the dev extra")

from tools.package_contracts import PackagesContract, Row


def contract(*rows: str) -> PackagesContract:
    return PackagesContract("packages", {"root_packages": ["root"]}, {"may_import": list(rows)})


def graph_of(*imports: tuple[str, str]) -> grimp.ImportGraph:
    graph = grimp.ImportGraph()
    graph.add_module("root")
    for importer, imported in imports:
        for module in (importer, imported):
            parts = module.split(".")
            for n in range(2, len(parts) + 1):
                graph.add_module(".".join(parts[:n]))
        graph.add_import(importer=importer, imported=imported, line_number=7, line_contents="import x")
    return graph


def broken(rows: list[str], *imports: tuple[str, str]) -> list[tuple[str, str]]:
    check = contract(*rows).check(graph_of(*imports), verbose=False)
    assert check.kept == (not check.metadata["broken"] and not check.metadata["unknown"])
    return [(module, target) for module, target, *_ in check.metadata["broken"]]


def test_allowed_imports_pass():
    rows = ["base:", "laws: base", "run: base laws"]
    assert not broken(rows, ("root.laws.elastic", "root.base.units"), ("root.run", "root.laws"))
    assert not broken(rows, ("root.laws.elastic", "root.laws.law"))


def test_forbidden_import_is_found():
    rows = ["base:", "laws: base"]
    assert broken(rows, ("root.base.units", "root.laws.elastic")) == [("root.base.units", "root.laws.elastic")]


def test_package_without_row_breaks_contract():
    check = contract("base:").check(graph_of(("root.extra.box", "root.base")), verbose=False)
    assert not check.kept
    assert check.metadata["unknown"] == ["extra"]


def test_subpackages():
    rows = ["base:", "backends: base", "engines: backends -backends.cpu -engines.dg -engines.fd"]
    rows += ["engines.dg: backends -backends.cpu engines.common", "engines.fd: backends engines.common"]
    assert not broken(rows, ("root.engines.dg.operator", "root.backends.base"))
    assert not broken(rows, ("root.engines.dg.operator", "root.engines.common.points"))
    assert not broken(rows, ("root.engines.dg.operator", "root.engines.dg.basis"))
    for wrong in (
        ("root.engines.dg.operator", "root.backends.cpu.lower"),
        ("root.engines.dg.operator", "root.engines.fd.stencil"),
        ("root.engines.common.points", "root.engines.dg.basis"),
        ("root.engines.common.points", "root.base.units"),
    ):
        assert broken(rows, wrong) == [wrong]


def test_a_longer_name_does_not_match_a_prefix_of_letters():
    rows = ["base:", "baseline:", "run: base"]
    assert broken(rows, ("root.run", "root.baseline")) == [("root.run", "root.baseline")]


def test_a_row_needs_a_colon():
    with pytest.raises(ValueError, match="package: allowed"):
        Row.parse("laws base")
