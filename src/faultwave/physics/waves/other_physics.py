"""Parameters of a material that other wave physics reads: what a run with one law leaves unread of a file made for another."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from faultwave.physics.waves import laws

POROELASTIC = (
    "porosity", "permeability", "tortuosity", "viscosity", "bulk_solid", "bulk_fluid", "rho_fluid",
)  # fmt: skip
"""Of Biot's theory (Carcione 2014, ch. 7), by the names that SeisSol's materials have."""

ROCK = ("rho", "vp", "vs", "mu", "lambda", "Qp", "Qs")
"""What nearly every model of the ground has, whatever is run with it."""


def readers_of(names: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Of the ``names`` that are not ``known`` to a run, those that other physics reads: what does, in words."""
    found: dict[str, str] = {}
    others = {name: {p.name for p in law.parameters} for name, law in laws().items()}
    for name in sorted(set(names) - set(known) - set(ROCK)):
        reading = [law for law, parameters in others.items() if name in parameters]
        if name in POROELASTIC:  # of rock; Maxwell's permeability is of no rock model
            found[name] = "law: poroelastic" if "poroelastic" in reading else "a poroelastic law, which is not built"
        elif reading:
            found[name] = " or ".join(f"law: {law}" for law in reading)
    return found


__all__ = ["readers_of"]
