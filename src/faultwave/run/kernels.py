"""The kernels a run would use, for looking at: what each costs, and every stage of its lowering."""

from __future__ import annotations

from faultwave import backends
from faultwave.base.errors import InputError, Problem, suggest
from faultwave.engines.dg import kernels as dg
from faultwave.engines.dg.fault_points import point_rule
from faultwave.engines.dg.rupture import rupture
from faultwave.faults import laws as friction_laws
from faultwave.kernels.language import Kernel
from faultwave.kernels.text import cost, formulas_text, statements_text
from faultwave.laws import law as wave_law


def catalogue(order: int = 4, law: str = "elastic") -> dict[str, Kernel]:
    """Every kernel of the dg engine by name; those of friction are called rupture-LAW. Raises InputError."""
    if not 2 <= order <= 8:
        raise InputError(Problem("order", f"is {order}", "2 to 8"))
    waves = wave_law(law)
    made = [
        dg.predict(waves, order, False), dg.predict(waves, order, True), dg.correct(waves, order),
        dg.accumulate(waves, order), dg.integrate(waves, order), dg.evaluate(waves, order),
        *(dg.slow_traces(waves, order, face, fault) for fault in (False, True) for face in range(4)),
    ]  # fmt: skip
    found = {kernel.name: kernel for kernel in made}
    points = len(point_rule("symmetric", order - 1).weights)
    for friction in friction_laws().values():
        constants = {c.name: c.default for c in friction.constants if c.default is not None}
        if len(constants) == len(friction.constants):  # others mean nothing without a case
            found[f"rupture-{friction.name}"] = rupture(friction, constants, order, points, order, 1)
    return found


def kernel_table(order: int = 4, law: str = "elastic") -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and a row for each kernel: name, arithmetic operations and bytes moved per item in double."""
    rows: list[tuple[str, ...]] = []
    for name, kernel in catalogue(order, law).items():
        work = cost(kernel)
        rows.append((name, f"{work.flops}", f"{work.bytes}", f"{work.flops / work.bytes:.2f}"))
    return ("kernel", "operations", "bytes", "operations a byte"), rows


def kernel_stages(
    name: str, *, backend: str = "cpu", order: int = 4, precision: str = "double", law: str = "elastic"
) -> list[tuple[str, str]]:
    """(stage, text) from the kernel's statements to what the backend compiles.

    Raises InputError for an unknown kernel, BackendError for an unknown or absent backend.
    """
    known = catalogue(order, law)
    if name not in known:
        raise InputError(Problem("kernel", f"'{name}' does not exist", ", ".join(known), suggest(name, known)))
    if precision not in ("double", "single"):
        raise InputError(Problem("precision", f"is '{precision}'", "double, single"))
    kernel = known[name]
    stages = [("statements", statements_text(kernel)), ("formulas", formulas_text(kernel))]
    source = getattr(backends.make(backend, precision), "source", None)
    if source is not None:  # the reference executes the statements themselves
        stages.append((f"source of the {backend} backend, {precision}", source(kernel)))
    return stages
