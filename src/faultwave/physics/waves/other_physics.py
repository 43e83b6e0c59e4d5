"""Parameters of a material that other wave physics reads: what a run with one law leaves unread of a file made for another."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from faultwave.physics.waves import laws

ROCK = ("rho", "vp", "vs", "mu", "lambda", "Qp", "Qs")
"""What nearly every model of the ground has, whatever is run with it."""


def readers_of(names: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Of the ``names`` that are not ``known`` to a run, those that another law reads, and which: of several the one that reads most of
    them, as rock and electromagnetics both have a permeability."""
    unread = set(names) - set(known) - set(ROCK)
    read = {law.name: unread & {p.name for p in law.parameters} for law in laws().values()}
    found: dict[str, str] = {}
    for name in sorted(unread):
        reading = [law for law, parameters in read.items() if name in parameters]
        if reading:
            found[name] = f"law: {max(reading, key=lambda law: len(read[law]))}"
    return found


__all__ = ["readers_of"]
