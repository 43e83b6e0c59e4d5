"""Reports on the kernels of a law and order: cost, generated source, and resources on graphics processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from faultwave import backends
from faultwave.backends.device.compilers import FunctionsMissing, architecture, build, target_of
from faultwave.backends.device.lower import lower
from faultwave.backends.device.model import modelled
from faultwave.base.errors import InputError, Problem, suggest
from faultwave.dg.fault.coupling import make_coupling
from faultwave.dg.fault.points import point_rule
from faultwave.dg.fault.rupture import FrictionOptions, FrictionSizes, rupture
from faultwave.dg.method.forms import form as find_form
from faultwave.dg.method.yielding import Medium, yield_points, yielding
from faultwave.dg.operators import kernels
from faultwave.kernels.count import cost
from faultwave.kernels.language import Kernel
from faultwave.kernels.mathematics import write_kernel
from faultwave.physics.friction import laws as friction_laws
from faultwave.physics.rheology import rheologies
from faultwave.physics.waves import law as find_law

if TYPE_CHECKING:
    from faultwave.backends.cpu.runtime import CpuBackend


def all_kernels(order: int, law_name: str) -> dict[str, Kernel]:
    """Return every kernel of a law at an order by name.

    Elastic ones come with the friction kernels of each law and the yielding kernels of each rheology.
    """
    law = find_law(law_name)
    form = find_form(law, order)
    faults, split = kernels.StoringVariant("stress" in law.roles), kernels.StoringVariant(derivatives=False, parts=2)
    makers = (kernels.predict, kernels.correct_and_predict)
    found = [
        *[make(form, retained, to_slower=retained is split) for make in makers for retained in (None, faults, split)],
        kernels.correct(form), kernels.sample(form, np.ones((1, form.b3))), kernels.samples(form, 1), kernels.energies(form),
    ]  # fmt: skip
    result = {k.name: k for k in found}
    if "stress" in law.roles:
        points = len(point_rule("symmetric", order - 1).weights)
        for name, friction in friction_laws().items():
            constants = {c.name: c.default if c.default is not None else 1.0 for c in friction.constants}
            sizes = FrictionSizes(tuple(form.predictor.face_rows), points, 1, FrictionOptions(order))
            result[f"rupture-{name}"] = rupture(friction, constants, sizes, make_coupling(form.law))
        nodes = yield_points("nodes", order - 1)
        for name, rock in rheologies().items():
            constants = {c.name: c.default if c.default is not None else 1.0 for c in rock.constants}
            made = yielding(form, Medium(rock, constants, nodes, 1, len(nodes.points), True))
            result[f"yielding-{name}"] = made
            result[f"correct_and_predict-{name}"] = kernels.correct_and_predict(form, None, (made,))
    return result


def kernel_table(order: int, law: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows: name, useful flops, and numbers and bytes moved per item."""
    rows: list[tuple[str, ...]] = []
    for name, kernel in all_kernels(order, law).items():
        c = cost(kernel)
        rows.append((name, f"{c.flops:,}", f"{c.numbers:,}", f"{8 * c.numbers:,}"))
    return ("kernel", "useful flops an item", "numbers moved an item", "bytes in double"), rows


def kernel_stages(
    name: str,
    backend: str = "cpu",
    order: int = 4,
    precision: str = "double",
    law: str = "elastic",
    assembly: bool = False,
) -> list[tuple[str, str]]:
    """Return the stages of a kernel: its mathematics, then the source of a backend that generates one.

    Parameters
    ----------
    name : str
        A kernel of ``all_kernels``.
    backend : str, optional
        Where the kernel would run.
    order : int, optional
        Convergence order, 2 to 8.
    precision : {"double", "single"}, optional
        Precision of the run.
    law : str, optional
        Wave law.
    assembly : bool, optional
        Show contractions as the assembly that the backend ``cpu`` compiles on x86-64, instead of C with the same sums.

    Returns
    -------
    list of (str, str)
        Title and text of each stage.

    Raises
    ------
    InputError
        If the kernel does not exist.
    BackendError
        If the backend does not exist or cannot be used.
    """
    known = all_kernels(order, law)
    if name not in known:
        raise InputError(Problem("kernel", f"'{name}' does not exist", ", ".join(known), suggest(name, known)))
    stages = [("mathematics", "\n".join(write_kernel(known[name])))]
    if backend in ("cuda", "hip"):  # their text needs no device
        arch = {"cuda": "sm_90", "hip": "gfx90a"}[backend]
        return [
            *stages,
            (f"{backend} source for {arch}", lower(known[name], target_of(arch), precision == "single")[0]),
        ]
    made = backends.make(backend, precision)
    if backend == "cpu":
        stages.append(("cpu source", cast("CpuBackend", made).source(known[name], assembly=assembly)))
    elif hasattr(made, "source"):
        stages.append((f"{backend} source", made.source(known[name])))
    return stages


def kernel_report(
    arch: str, names: Sequence[str] = (), order: int = 4, precision: str = "double", law: str = "elastic"
) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    """Return title, header and rows of the report on kernels compiled for a graphics processor that need not be present.

    Parameters
    ----------
    arch : str
        Architecture, such as ``sm_90``.
    names : sequence of str, optional
        Kernels of ``all_kernels``; all by default.
    order : int, optional
    precision : {'double', 'single'}, optional
    law : str, optional

    Returns
    -------
    title : str
    header : tuple of str
    rows : list of tuple
        Resources of each kernel and its rate: the limit by bytes and flops of an item against the data sheet, and the prediction of
        ``backends.device.model``.
    """
    known, single = all_kernels(order, law), precision == "single"
    for name in names:
        if name not in known:
            raise InputError(Problem("kernel", f"'{name}' does not exist", ", ".join(known), suggest(name, known)))
    target = target_of(arch)
    rows: list[tuple[str, ...]] = []
    for name in names or known:
        kernel = known[name]
        counted = cost(kernel)
        try:
            made = build(kernel, arch, single)
        except FunctionsMissing:
            if names:
                raise
            rows.append((name, "needs hipcc", *[""] * 12))
            continue
        moved = counted.bytes(4 if single else 8, 4)
        rate = target.roof(moved, counted.flops, single and not kernel.fixed)
        p, model = made.plan, modelled(made.plan, made.groups, moved, counted.flops)
        rows.append((
            name, f"{made.registers}", f"{made.spilled}", f"{made.stack}", f"{p.shared:,}", f"{p.share}", f"{p.threads}",
            f"{made.groups}", f"{100 * made.occupancy:.0f} %", f"{moved:,}", f"{counted.flops:,}", f"{rate / 1e6:,.0f}",
            f"{model.rate / 1e6:,.0f}", model.limit,
        ))  # fmt: skip
    header = (
        "kernel", "registers", "spilled bytes", "stack bytes", "fast memory bytes", "items a group", "threads", "groups",
        "occupancy", "bytes an item", "flops an item", "M items/s at most", "M items/s by the model",
        "limit",
    )  # fmt: skip
    return f"{law}, order {order}, {precision}, {arch} ({target.device})", header, rows


__all__ = ["all_kernels", "architecture", "kernel_report", "kernel_stages", "kernel_table"]
