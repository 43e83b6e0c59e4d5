"""Loading of easi files as fields: construction of the component tree and its evaluation in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.base.files.paths import candidate_paths, first_file, search_advice, shown
from faultwave.base.log import get_logger, warn_once
from faultwave.base.registry import modules
from faultwave.media.easi import components
from faultwave.media.easi.component import REGISTRY, Batch, Component, Roots, enter, gather
from faultwave.media.easi.source import Block, Source
from faultwave.media.points import Floats, Integers, PointError

logger = get_logger(__name__)

CHUNK = 1 << 16  # points evaluated at once: columns of this length stay in cache
MAXIMUM_DEPTH = 100
MAXIMUM_COUNT = 100_000
"""Largest number of components of a file; a few lines of nested aliases could otherwise exhaust any memory."""


@cache
def _registry() -> dict[str, type[Component]]:
    """Return the components by tag, from every module of the folder ``components`` and of the entry points named like it."""
    modules(components.__name__, components.__name__)
    return REGISTRY


@dataclass
class TreeBuilder:
    """Builder of the component tree of a file and of the files that it includes."""

    roots: tuple[str, ...]
    path: Path
    open_files: list[Path] = field(default_factory=list)
    warnings: dict[tuple[str, str], Problem] = field(default_factory=dict)
    regrouped_files: set[Path] = field(default_factory=set)
    depth: int = 0
    count: int = 0

    def file(self, path: Path) -> Component:
        self.open_files.append(path.resolve())
        try:
            root = Source.read(path).compose()
            for line in root.source.indented:
                what = (
                    "a tag in the column of the key before it is not valid YAML; it is read as the tag of the "
                    "key, as in yaml-cpp"
                )
                self.warn(f"{path}:{line}", what, "Indent it, or write it behind the key.")
            return self.component(root, self.roots)
        finally:
            self.open_files.pop()

    def component(self, block: Block, inputs: Sequence[str]) -> Component:
        if not block.tag:
            raise block.error("a component without a tag", "one of " + ", ".join(sorted(_registry())))
        kind = _registry().get(block.tag)
        if kind is None:
            known = _registry()
            raise block.error(f"unknown component {block.tag}", ", ".join(sorted(known)), suggest(block.tag, known))
        if block.is_list and "components" in kind.keys:
            self._refuse_list(block, inputs)
        self._look_for_unknown_keys(block, kind)
        self.depth += 1
        self.count += 1
        try:
            if self.count > MAXIMUM_COUNT:
                raise block.error(f"more than {MAXIMUM_COUNT:,} components, which aliases (*) can create")
            if self.depth > MAXIMUM_DEPTH:
                raise block.error(f"nested more than {MAXIMUM_DEPTH} levels deep")
            return kind.build(block, tuple(sorted(inputs)), self)
        finally:
            self.depth -= 1

    def _look_for_unknown_keys(self, block: Block, kind: type[Component]) -> None:
        if not block.is_mapping or block.tag == "!Switch":
            return
        for key, _ in block.pairs(block.tag):
            name = key.text("a key")
            if name not in kind.keys:
                advice = suggest(name, kind.keys) or "Known here: " + ", ".join(sorted(kind.keys))
                self.warn(key.where, f"{block.tag} ignores the unknown key '{name}'", advice)

    def _refuse_list(self, block: Block, inputs: Sequence[str]) -> None:
        """Raise InputError for a list in place of the keys of a component, which easi ignores, and for mistakes in it."""

        def refuse() -> None:
            raise block.error(
                f"{block.tag} has a list instead of keys, which easi ignores",
                "keys",
                "Put the list below 'components:'.",
            )

        checks: list[Callable[[], object]] = [
            refuse,
            *(partial(self.component, item, inputs) for item in block.items() if item.tag),
        ]
        gather(checks)

    def children(self, block: Block, outputs: Sequence[str]) -> tuple[Component, ...]:
        given = None if block.is_empty else block.get("components")
        if given is None or (given.is_empty and not given.tag):
            return ()
        if given.is_list:
            if given.tag:
                what = f"the tag {given.tag} before the list of components has no effect, as in easi"
                self.warn(given.where, what, "Remove it, or add its own 'components:'.")
            items = list(given.items())
            if not items:
                raise given.error("'components' is an empty list", "at least one component")
            return tuple(gather(partial(self.component, item, outputs) for item in items))
        return (self.component(given, outputs),)

    def include(self, block: Block) -> Component:
        name = Path(block.text("the file to include").strip())
        candidates = candidate_paths(name, block.source.path.parent)
        found = first_file(candidates)
        if found is None:
            raise block.error(f"'{shown(name)}' does not exist", advice=search_advice(candidates))
        if found.resolve() in self.open_files:
            raise block.error(f"'{name}' includes itself")
        return self.file(found)

    def warn(self, where: str, what: str, advice: str = "") -> None:
        self.warnings[where, what] = Problem(where, what, advice=advice, severity="warning")

    def regrouped(self, source: Source, where: str) -> None:
        """Warn once per file that its arithmetic has another meaning for readers that group from the right."""
        if source.path not in self.regrouped_files:
            self.regrouped_files.add(source.path)
            advice = "Add brackets where it matters"
            self.warn(where, "a-b-c and a/b*c group from the left here; recent easi groups them from the right", advice)


@dataclass(frozen=True)
class EasiField:
    """Field given by an easi file (see ``media.field.Field``)."""

    root: Component
    path: Path
    dimensions: tuple[str, ...]

    @property
    def source(self) -> str:
        return str(self.path)

    @property
    def parameters(self) -> frozenset[str]:
        return self.root.supplied

    @property
    def axes(self) -> frozenset[str]:
        """Axes along which the field may vary."""
        return frozenset() if self.root.uniform and not self.root.children else frozenset("xyz")

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        """Return the values of parameters at points.

        Parameters
        ----------
        points : ndarray (n, 3)
            Places [m].
        groups : ndarray (n,)
        names : sequence of str
        time : float, optional
            Time [s], if the file depends on t.

        Raises
        ------
        PointError
            With coordinates where no component accepts a point or one lacks a parameter.
        InputError
            If the file needs a time and none is given.
        """
        if "t" in self.dimensions and time is None:
            raise InputError(
                Problem(self.source, "depends on time t, which is not available here", "a function of x, y, z")
            )
        result = {name: np.empty(len(points)) for name in names}
        for first in range(0, len(points), CHUNK):
            part = slice(first, first + CHUNK)
            try:
                values = self._chunk(points[part], groups[part], names, time)
            except PointError as error:
                raise error.shifted(first) from None
            for name, column in values.items():
                result[name][part] = column
        return result

    def _chunk(self, points: Floats, groups: Integers, names: Sequence[str], time: float | None) -> dict[str, Floats]:
        columns = {axis: np.ascontiguousarray(points[:, k]) for k, axis in enumerate("xyz")}
        if "t" in self.dimensions:
            columns["t"] = np.full(len(points), time)
        roots = Roots(points, groups, columns)
        return enter(self.root, Batch(roots, columns, np.arange(len(points))), names)


def load_easi(path: Path, time: bool | None = None) -> EasiField:
    """Return the field of an easi file.

    Mistakes that do not prevent a run are logged.

    Parameters
    ----------
    path : Path
    time : bool, optional
        Root dimensions: t, x, y, z if True, x, y, z if False, the ones that the file is written for if None.

    Raises
    ------
    InputError
        With the file, line and column of every mistake.
    """
    still, moving = ("x", "y", "z"), ("t", "x", "y", "z")
    choices: dict[bool | None, list[tuple[str, ...]]] = {True: [moving], False: [still], None: [still, moving]}
    first_error: InputError | None = None
    for dimensions in choices[time]:
        builder = TreeBuilder(dimensions, path)
        try:
            root = builder.file(path)
        except InputError as error:
            first_error = first_error or error
            continue
        for problem in builder.warnings.values():
            warn_once(logger, str(problem))  # one file may serve several fields
        return EasiField(root, path, dimensions)
    assert first_error is not None
    raise first_error
