"""The import contract of the house: each room imports only the rooms its row in pyproject.toml names.

One table with a row for every room, rooms still to come included, instead of one `forbidden` contract a room, which
would have to list everything that must NOT be imported and could not name what does not exist yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


@dataclass(frozen=True)
class Row:
    """What one room (or part of a room) may import; names are relative to the root package."""

    room: str
    allowed: frozenset[str]
    forbidden: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> Row:
        """'room: a b -b.part' -> Row."""
        room, colon, names = text.partition(":")
        if not colon:
            raise ValueError(f"'{text}' is not of the form 'room: allowed allowed -forbidden'")
        words = names.split()
        return cls(
            room.strip(),
            frozenset(w for w in words if not w.startswith("-")),
            frozenset(w[1:] for w in words if w.startswith("-")),
        )

    def permits(self, target: str) -> bool:
        """Whether this room may import ``target``; its own parts always, unless a longer name forbids it."""
        yes = longest(target, self.allowed | {self.room})
        no = longest(target, self.forbidden)
        return yes is not None and (no is None or len(no) < len(yes))


def longest(module: str, names: frozenset[str] | set[str]) -> str | None:
    """The longest of ``names`` that is ``module`` or a package around it."""
    return max((n for n in names if module == n or module.startswith(n + ".")), key=len, default=None)


class RoomsContract(Contract):
    """Every direct import between modules of the root package follows the table ``may_import``.

    Direct imports suffice: what a permitted room imports in turn is checked against that room's own row.
    """

    type_name = "rooms"

    may_import = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        rows = {row.room: row for row in map(Row.parse, self.may_import)}  # type: ignore[arg-type]
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
                    broken.append((module, target, row.room, lines))
        return ContractCheck(kept=not (broken or unknown), metadata={"broken": broken, "unknown": unknown})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for room in check.metadata["unknown"]:
            output.print_error(f"'{room}' is no room: give it a row in pyproject.toml and in docs/architecture.md")
        for module, target, room, lines in check.metadata["broken"]:
            where = ", ".join(map(str, lines))
            output.print_error(f"{module} (line {where}) imports {target}: the room '{room}' may not")
