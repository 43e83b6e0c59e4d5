"""Named columns of arrays, and a dictionary with informative key errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from faultwave.base.types import Record


class Row(dict[str, Any]):
    """Row of values, or all rows at once, by name: ``row['rho']`` or ``row.rho``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no column is called '{name}': {', '.join(self)}") from None


_COMPONENTS: dict[int, list[str]] = {
    3: ["_x", "_y", "_z"],
    6: ["_xx", "_yy", "_zz", "_xy", "_yz", "_xz"],
    9: [f"_{a}{b}" for a in "xyz" for b in "xyz"],
}
"""Suffixes of the components of vectors, symmetric tensors and matrices, by number of components."""


class Columns:
    """Names of columns with their widths, in order; width None is one scalar, otherwise a list of numbers."""

    def __init__(self, **widths: int | None):
        self.widths = widths
        self.places: dict[str, slice] = {}
        end = 0
        for name, width in widths.items():
            begin, end = end, end + (1 if width is None else width)
            self.places[name] = slice(begin, end)
        self.size = end

    def __iter__(self) -> Iterator[str]:
        return iter(self.widths)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columns) and list(self.widths.items()) == list(other.widths.items())

    @property
    def labels(self) -> tuple[str, ...]:
        """Name of every single column; the name of a wide one is repeated."""
        return tuple(name for name, place in self.places.items() for _ in range(place.stop - place.start))

    @property
    def component_names(self) -> tuple[str, ...]:
        """Distinct name of every single column, with suffixes of vectors and tensors where the width allows."""
        return tuple(
            name + component
            for name, width in self.widths.items()
            for component in ([""] if width is None else _COMPONENTS.get(width, [f"_{i}" for i in range(width)]))
        )

    def runs(self, names: Iterable[str]) -> list[slice]:
        """Return the slices of the named columns, merged where they are adjacent."""
        found: list[slice] = []
        for place in (self.places[name] for name in names):
            if found and found[-1].stop == place.start:
                found[-1] = slice(found[-1].start, place.stop)
            else:
                found.append(place)
        return found

    def row(self, values: Sequence[object] | np.ndarray) -> Row:
        """Return a row (size,) of numbers or expressions by name."""
        if len(values) != self.size:
            raise ValueError(f"{len(values)} numbers for {self.size} columns")
        return Row(
            (name, values[place.start] if self.widths[name] is None else list(values[place]))
            for name, place in self.places.items()
        )

    def flat(self, values: Record) -> list[Any]:
        """Return the values as a flat list, the inverse of ``row``; names without a column are ignored."""
        found: list[Any] = []
        for name, width in self.widths.items():
            part = [values[name]] if width is None else list(values[name])
            if width is not None and len(part) != width:
                raise ValueError(f"{len(part)} numbers for {width} columns of {name}")
            found += part
        return found

    def split(self, values: np.ndarray) -> Row:
        """Split an array (..., size) by name into arrays (...) if the width is None, else (..., width)."""
        return Row(
            (name, values[..., place.start] if self.widths[name] is None else values[..., place])
            for name, place in self.places.items()
        )

    def join(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Join arrays by name into one array (..., size), the inverse of ``split``."""
        parts = [v[..., None] if self.widths[name] is None else v for name, v in ((n, values[n]) for n in self.widths)]
        for (name, width), part in zip(self.widths.items(), parts, strict=True):
            if width is not None and part.shape[-1] != width:
                raise ValueError(f"{name} is {part.shape[-1]} wide, not {width}")
        return np.concatenate(parts, -1)


Key = TypeVar("Key")
Value = TypeVar("Value")
SHOWN = 20
"""Largest number of keys listed in an error."""


class NamedDict(dict[Key, Value]):
    """Dictionary whose KeyError lists the existing keys; ``what`` describes its items."""

    def __init__(self, what: str, items: dict[Key, Value]):
        super().__init__(items)
        self.what = what

    def __missing__(self, key: object) -> NoReturn:
        there = [repr(k) for k in self]
        more = f" and {len(there) - SHOWN} more" if len(there) > SHOWN else ""
        raise KeyError(f"there is no {self.what} {key!r}, only {', '.join(there[:SHOWN]) or 'none'}{more}")
