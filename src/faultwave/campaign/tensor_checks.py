"""Checks of the settings of a campaign against the sampling, the length and the band of its tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.base.errors import Problems
from faultwave.campaign.settings import CampaignSettings
from faultwave.campaign.synthesis import LARGEST_GAIN, STOP, Band
from faultwave.campaign.tensors import Site, TensorFile, reach, read_strain
from faultwave.case.settings_file import Where
from faultwave.observe.motions.rotated import SAMPLES_PER_PERIOD, is_sampled, spectral_period

SHORTEST = 10
"""Smallest number of samples of a seismogram."""
ALIASED = 0.05
"""Largest amplitude of the forces, as a fraction, at frequencies that the samples of strain mistake for those of interest."""
BROADBAND = ("PGA", "CAV", "Arias")
"""Measures that high frequencies dominate."""
TRIED = 4
"""Number of points whose strain is read to find out whether it has decayed at the end of a file."""
DECAYED = 0.02
"""Largest strain at the end of a file, as a fraction of the largest one, that leaves seismograms accurate to their end."""


def check_times(campaign: CampaignSettings, sites: Sequence[Site], where: Where, problems: Problems) -> None:
    """Check duration, frequencies and periods against the sampling of the tensors."""
    wanted = campaign.duration
    for file in {s.file.path: s.file for s in sites}.values():
        if file.duration < SHORTEST * file.interval:
            what = f"ends at {file.centre + file.duration:.4g} s, but the forces are strongest at {file.centre:.4g} s"
            problems.error(str(file.path), what, advice="Compute the tensors with a longer end_time.")
        elif wanted is not None and wanted > file.duration + 1e-6 * file.interval:
            what = (
                f"duration is {wanted:g} s, but the tensors of {file.path} end {file.duration:.4g} s after their centre"
            )
            advice = f"Compute them with end_time: {file.centre + wanted:.4g} s."
            problems.error(where(("duration",)), what, f"up to {file.duration:.4g} s", advice)
        elif wanted is not None and wanted < (SHORTEST - 1e-6) * file.interval:
            what = f"duration is {wanted:g} s; the interval of {file.path} is {file.interval:g} s"
            problems.error(where(("duration",)), what, f"from {SHORTEST * file.interval:g} s, {SHORTEST} intervals")
        _check_frequencies(campaign, file, where, problems)


def _check_frequencies(campaign: CampaignSettings, file: TensorFile, where: Where, problems: Problems) -> None:
    corner, band = campaign.max_frequency, Band(file.sigma, campaign.max_frequency)
    if corner is not None:
        largest = float(np.sqrt(2 * np.log(LARGEST_GAIN)) / (2 * np.pi * file.sigma * STOP))
        largest = min(largest, 0.5 / file.interval / STOP)
        if corner > largest * (1 + 1e-9):
            what = f"max_frequency is {corner:g} Hz, above what the forces of {file.path} and its interval contain"
            advice = "Compute the tensors with a shorter --duration, or a shorter output.receivers.interval."
            problems.error(where(("max_frequency",)), what, f"up to {largest:.4g} Hz", advice)
    folded = 1.0 / file.interval - STOP * corner if corner is not None else 0.5 / file.interval
    left = float(band.smoothing(max(folded, 0.0)))
    if left > ALIASED and folded > 0:  # above the sampling frequency, max_frequency itself is an error
        what = (
            f"the forces of {file.path} still have {100 * left:.0f} % of their amplitude at {folded:.4g} Hz, so that samples every "
            f"{file.interval:g} s mistake higher frequencies for lower ones"
        )
        advice = "Compute the tensors with a shorter output.receivers.interval, or a longer --duration."
        problems.error(str(file.path), what, f"up to {100 * ALIASED:.0f} %", advice)
    for name in campaign.levels:
        period = spectral_period(name)
        if period is None:
            if corner is not None and name in BROADBAND:
                what = f"{name} is that of motion below max_frequency, {corner:g} Hz, and smaller than the one of all frequencies"
                problems.warn(where(("measures",)), what)
            continue
        if not is_sampled(period, file.interval):
            what = f"{name} needs {SAMPLES_PER_PERIOD} samples a period; the interval of {file.path} is {file.interval:g} s"
            problems.error(where(("measures",)), what, f"periods from {SAMPLES_PER_PERIOD * file.interval:g} s")
        elif corner is not None and period < 2.0 / corner * (1 - 1e-9):
            what = f"{name} also depends on motion above max_frequency, {corner:g} Hz"
            problems.warn(where(("measures",)), what, f"periods from {2.0 / corner:g} s")
        elif corner is None and (left := float(band.smoothing(1.0 / period))) < 0.9:
            what = f"the smoothing by the forces of {file.path} reduces motion at the period of {name} to {100 * left:.0f} %"
            problems.warn(where(("measures",)), what, advice="Set max_frequency, which removes the smoothing.")


def check_ends(
    corner: float | None, sites: Sequence[Site], needed: Sequence[int], used: dict[str, np.ndarray], problems: Problems
) -> None:
    """Warn of sites whose files end while strain is strong, within the time over which the low-pass spreads motion.

    Parameters
    ----------
    corner : float or None
        Corner frequency of the low-pass [Hz]; without one nothing is spread.
    sites : sequence of Site
        Sites.
    needed : sequence of int
        Number of samples of strain that the seismograms of each site need.
    used : dict of str to ndarray
        Numbers of the points that ruptures use, by the path of the file.
    problems : Problems
        Receives a warning, with the strongest strain.
    """
    found = list[tuple[float, Site, int]]()
    for site, samples in zip(sites, needed, strict=True):
        file, points = site.file, used[str(site.file.path)]
        if corner is None or not len(points) or samples + reach(file.interval, corner) <= file.samples:
            continue
        strain = np.abs(read_strain(site, points[np.linspace(0, len(points) - 1, TRIED).astype(int)]))
        if (left := float(strain[..., -1].max() / max(strain.max(), 1e-300))) > DECAYED:
            found.append((left, site, samples))
    if not found:
        return
    left, site, samples = max(found, key=lambda item: item[0])
    file, others = site.file, f"; so do {len(found):,} sites in total" if len(found) > 1 else ""
    after = reach(file.interval, corner)
    end, short = file.centre + file.duration, (samples + after - file.samples) * file.interval
    what = f"the strain of site {site.name} ends at {end:.4g} s with {100 * left:.0f} % of its peak{others}"
    advice = f"The end of its seismograms is inaccurate. Compute the tensors with end_time: {end + short:.4g} s"
    if file.duration - short > SHORTEST * file.interval:
        advice += f", or set duration: {file.duration - short:.4g} s"
    problems.warn(str(file.path), what, f"up to {100 * DECAYED:g} %, where max_frequency is set", advice + ".")
