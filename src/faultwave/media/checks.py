"""Checks of material parameters given in two forms, and of layers whose depths may be in other units."""

from __future__ import annotations

from collections.abc import Collection

from faultwave.base.errors import Problems
from faultwave.media.field import (
    Constant,
    Converted,
    Expression,
    Field,
    Layers,
    Leaf,
    Merged,
    Modified,
    RegionOverrides,
    Regions,
    Rule,
    leaves,
)

SAME = (("mu", "vs"), ("lambda", "vp"))
"""Equivalent parameters: the one that is read if both are given, and its other form."""


def check_contradictions(
    field: Field, parameters: Collection[str], rules: Collection[Rule] | None, problems: Problems
) -> None:
    """Report materials that give a parameter and another form of it.

    It is an error if the case itself states one of them, a warning if files give both, as several programs may use
    them.

    Parameters
    ----------
    field : Field
    parameters : collection of str
        Parameters that are read.
    rules : collection of Rule or None
        Rules of the wave law for parameters given all together or not at all; None: there are no other forms.
    problems : Problems
    """
    if rules is None:
        return
    for place in _places(field):
        owners = {name: leaf for leaf in place for name in leaf.parameters}
        pairs = [pair for pair in SAME if pair[0] in parameters and {*pair} <= owners.keys()]
        whole = [name for name, _, _ in rules if name in owners]
        others = sorted({"vp", "vs", "mu", "lambda"} & owners.keys()) if whole else []
        pairs += [(whole[0], other) for other in others]
        for read, other in pairs:
            _warn_of_pair(read, owners[read], other, owners[other], problems)


def _warn_of_pair(read: str, by: Leaf, other: str, at: Leaf, problems: Problems) -> None:
    what = f"{other} is defined, and so is {read}, which determines the same property"
    if isinstance(by, Constant | Expression) or isinstance(at, Constant | Expression):
        where = f"{at.source}.{other}" if isinstance(at, Constant | Expression) else at.source
        problems.error(where, what, advice=f"Remove one of them; {read} is in {by.source}.")
    else:
        problems.warn(at.source, f"{what}: {read} is used and {other} is ignored")


def _places(field: Field) -> list[list[Leaf]]:
    """Return groups of elementary fields that hold at the same place, one group per region."""
    match field:
        case Converted() | Modified():
            return _places(field.field)
        case RegionOverrides():
            return _places(field.everywhere) + _places(field.regions)
        case Regions():
            return [leaves(part) for part in field.fields.values()]
        case Merged():
            regions = [place for part in field.fields if isinstance(part, Regions) for place in _places(part)]
            base = [leaf for part in field.fields if not isinstance(part, Regions) for leaf in leaves(part)]
            return [base + place for place in regions] or [base]
    return [leaves(field)]


THIN = 0.005
"""Fraction of a model's depth above which layers that end there are doubted, equal to 40 m in 8 km."""


def warn_layers(field: Field, depth: float, problems: Problems) -> None:
    """Warn if all layers of a file lie in the uppermost metres of a model that is ``depth`` [m] deep."""
    for leaf in leaves(field):
        if isinstance(leaf, Layers) and 0.0 < leaf.tops[-1] < THIN * depth:
            what = f"the deepest layer begins at a depth of {leaf.tops[-1]:g} m, but the model is {depth:g} m deep"
            advice = "Are depths in km? Use a header 'depth[km]' then; vp[km/s] and rho[g/cm^3] likewise."
            problems.warn(leaf.source, what, advice=advice)
