"""Material parameters in a model file that only other wave laws read."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from faultwave.physics.waves import laws

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


__all__ = ["readers_of"]
