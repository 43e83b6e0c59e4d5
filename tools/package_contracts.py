"""Import contract of the packages: each package imports only those that its row in pyproject.toml names.

One table has a row for every package. A set of `forbidden` contracts would need one negative list for each package and
could not name packages that do not exist yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


@dataclass(frozen=True)
class Row:
    """Allowed imports of one package or subpackage; names are relative to the root package."""

    package: str
    allowed: frozenset[str]
    forbidden: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> Row:
        """Return the row that a line such as 'package: a b -b.part' states."""
        package, colon, names = text.partition(":")
        if not colon:
            raise ValueError(f"'{text}' is not of the form 'package: allowed allowed -forbidden'")
        words = names.split()
        return cls(
            package.strip(),
            frozenset(w for w in words if not w.startswith("-")),
            frozenset(w[1:] for w in words if w.startswith("-")),
        )

    def permits(self, target: str) -> bool:
        """Check that this package may import ``target``: always its own modules, unless a longer name forbids it."""
        yes = longest(target, self.allowed | {self.package})
        no = longest(target, self.forbidden)
        return yes is not None and (no is None or len(no) < len(yes))


def longest(module: str, names: frozenset[str] | set[str]) -> str | None:
    """Return the longest of ``names`` that is ``module`` or a package that contains it."""
    return max((n for n in names if module == n or module.startswith(n + ".")), key=len, default=None)


class PackagesContract(Contract):
    """Every direct import between modules of the root package follows the table ``may_import``.

    Direct imports suffice, because the imports of a permitted package are checked against that package's own row.
    """

    type_name = "packages"

    may_import = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        rows = {row.package: row for row in map(Row.parse, self.may_import)}  # type: ignore[arg-type]
        root = self.session_options["root_packages"][0]
        inside = {m: m.removeprefix(root + ".") for m in graph.modules if m.startswith(root + ".")}
        unknown = sorted({m.split(".")[0] for m in inside.values()} - set(rows))
        broken = []
        for module, name in sorted(inside.items()):
            row = rows.get(longest(name, set(rows)) or "")
            if row is None:
                continue
            for target in sorted(graph.find_modules_directly_imported_by(module)):
                if target in inside and not row.permits(inside[target]):
                    lines = [d["line_number"] for d in graph.get_import_details(importer=module, imported=target)]
                    broken.append((module, target, row.package, lines))
        return ContractCheck(kept=not (broken or unknown), metadata={"broken": broken, "unknown": unknown})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for package in check.metadata["unknown"]:
            output.print_error(
                f"the package '{package}' has no row: add one to pyproject.toml and docs/architecture.md"
            )
        for module, target, package, lines in check.metadata["broken"]:
            where = ", ".join(map(str, lines))
            output.print_error(
                f"{module} (line {where}) imports {target}, which the package '{package}' may not import"
            )
