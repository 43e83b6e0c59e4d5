"""Laws of wave physics, and the material parameters that only other laws read.

Every instance of ``PlainLaw`` at the top of a module of this package, or of an entry point 'faultwave.physics.waves',
is a law. ``law(name)`` finds one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import cast

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.base.registry import scan
from faultwave.physics.waves.law import Law, PlainLaw


def laws() -> dict[str, Law]:
    """Return all laws by name, including entry points of the group 'faultwave.physics.waves'."""
    found = scan(__name__, PlainLaw)
    return {name: cast(Law, found[name]) for name in sorted(found)}


def law(name: str) -> Law:
    """Return the law called ``name``.

    Raises
    ------
    InputError
        If there is none; the message lists the names that exist.
    """
    known = laws()
    if name not in known:
        raise InputError(Problem("law", f"'{name}' does not exist", ", ".join(known), suggest(name, known)))
    return known[name]


ROCK = ("rho", "vp", "vs", "mu", "lambda", "Qp", "Qs")
"""Parameters that nearly every model of the ground contains, whatever law is run."""


def readers_of(names: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return the law that reads each parameter which the present run does not read.

    If several laws read it, the one that reads most of the unread names is returned: rock and electromagnetics both
    have a permeability.

    Parameters
    ----------
    names
        Parameters of a model.
    known
        Parameters that the run reads.

    Returns
    -------
    dict
        Parameter -> 'law: NAME'.
    """
    unread = set(names) - set(known) - set(ROCK)
    read = {law.name: unread & {p.name for p in law.parameters} for law in laws().values()}
    found: dict[str, str] = {}
    for name in sorted(unread):
        reading = [law for law, parameters in read.items() if name in parameters]
        if reading:
            found[name] = f"law: {max(reading, key=lambda law: len(read[law]))}"
    return found
