"""Samples of a posterior as SRF files, which cases, ensembles and campaigns read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.inversion.assembly import SourceModel
from faultwave.inversion.fault import Fault
from faultwave.output.atomic import atomic_text, translate_os_errors


def slip_rates(models: np.ndarray, sources: SourceModel) -> np.ndarray:
    """Return slip rates (samples, directions, subfaults) [m/s] of a model every half duration of a window.

    Triangles that overlap by half add to a rate that is linear between these samples, so that nothing is lost.
    """
    parts = models.reshape(sources.windows, sources.potency.shape[1], -1)
    zero = np.zeros((1, *parts.shape[1:]))
    return np.concatenate([zero, 2.0 / sources.duration * parts, zero])


def write_rupture_table(path: Path, count: int) -> None:
    """Write the table of ruptures with which a campaign computes the ground motion of all samples in the same folder.

    They are equally likely variations of one rupture. Its annual rate is 1, so that hazard is that of one such earthquake a year.
    """
    with atomic_text(path) as file:
        file.write("rupture,file,annual_rate\n")
        file.writelines(f"posterior,{sample_name(number)},1\n" for number in range(count))


def sample_name(number: int) -> str:
    """Return the name of the SRF file of a sample, counted from 0."""
    return f"sample-{number + 1:04d}.srf"


def write_srf(path: Path, fault: Fault, sources: SourceModel, model: np.ndarray) -> None:
    """Write a model as an SRF file of version 2.0."""
    rates = 100.0 * slip_rates(model, sources)
    if rates.shape[1] == 1:
        rates = np.concatenate([rates, np.zeros_like(rates)], 1)
    step, moduli = 0.5 * sources.duration, fault.column("modulus")
    slip = step * rates.sum(0)
    names = ("geographic", "strike", "dip", "rake", "area", "vs", "density")
    place, strike, dip, rake, area, vs, density = (fault.column(n) for n in names)
    lines = ["2.0", f"POINTS {len(fault)}"]
    for i, (longitude, latitude, depth) in enumerate(place):
        rock = f"{vs[i]:.8g} {density[i]:.8g}" if np.isfinite(moduli[i]) else "-1 -1"
        lines.append(
            f"{longitude:.9f} {latitude:.9f} {depth:.7f} {strike[i]:.6g} {dip[i]:.6g} {1e4 * area[i]:.9g} {sources.onset[i]:.9g} "
            f"{step:.9g} {rock}"
        )
        counts = [len(rates) if slips.any() else 0 for slips in rates[:, :, i].T]
        lines.append(f"{rake[i]:.6g} {slip[0, i]:.8g} {counts[0]} {slip[1, i]:.8g} {counts[1]} 0 0")
        lines += [" ".join(f"{x:.8g}" for x in rates[:, d, i]) for d in range(2) if counts[d]]
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_text(path) as file:
        file.write("\n".join(lines) + "\n")
