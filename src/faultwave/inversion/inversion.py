"""Public class and function of inversions: plan, posterior, results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.campaign.batches import PointFinder
from faultwave.campaign.plan import identified
from faultwave.campaign.sources import moment_magnitude
from faultwave.inversion.assembly import assemble, make_data
from faultwave.inversion.data_plan import read_tensors
from faultwave.inversion.evidence import at_limit, estimate
from faultwave.inversion.fault import read_fault
from faultwave.inversion.forward import Forward
from faultwave.inversion.moment_tensor.plan import MomentTensorPlan, make_moment_tensor_plan
from faultwave.inversion.moment_tensor.quakeml import NAME as QUAKEML
from faultwave.inversion.moment_tensor.quakeml import write_quakeml
from faultwave.inversion.moment_tensor.result import NAME as MOMENT_TENSOR
from faultwave.inversion.moment_tensor.result import TABLE, MomentTensorResult, write_centroids, write_moment_tensor
from faultwave.inversion.moment_tensor.solution import solve_moment_tensor
from faultwave.inversion.noise import Noise
from faultwave.inversion.nonnegative import NonnegativeProjection
from faultwave.inversion.plan import InversionPlan, make_plan
from faultwave.inversion.posterior import CholeskySolver, IterativeSolver, Posterior, predicted_covariance
from faultwave.inversion.prior import SlipPrior, make_prior
from faultwave.inversion.result import NAME, InversionResult, write_result
from faultwave.inversion.settings import load_inversion
from faultwave.inversion.srf_files import sample_name, write_rupture_table, write_srf
from faultwave.output.atomic import atomic_text, remove

INITIAL_AMPLITUDE = 1.0
"""Standard deviation of slip with which the search of the largest evidence begins [m]."""
INITIAL_LENGTH = 0.25
"""Correlation length with which the search begins, as a fraction of the fault."""


class Inversion:
    """Inversion of seismograms and static offsets for kinematic slip or a moment tensor from stored strain Green tensors.

    Parameters
    ----------
    source : str, Path or dict
        Inversion file (YAML), or its contents.
    folder : str or Path, optional
        Folder of the results instead of the one of the file.

    Raises
    ------
    InputError
        With every problem of the file.
    """

    def __init__(self, source: str | Path | Mapping[str, object], folder: str | Path | None = None):
        self.settings, self._where = load_inversion(source, folder)

    def __repr__(self) -> str:
        return f"<Inversion '{self.settings.title or self.folder.name}' in {self.folder}>"

    @property
    def folder(self) -> Path:
        """Folder of the results."""
        return self.settings.results

    def plan(self) -> InversionPlan | MomentTensorPlan:
        """Check everything and return the plan; nothing is written.

        Raises
        ------
        InputError
            With every problem found.
        """
        if self.settings.moment_tensor is not None:
            return make_moment_tensor_plan(self.settings, self._where)
        return make_plan(self.settings, self._where)

    def write_points(self, path: str | Path) -> int:
        """Write the places of all subfaults as the file of ``faultwave sgt --points``, and return their number.

        The setting ``projection`` is needed if no file of tensors exists.

        Raises
        ------
        InputError
            With every problem found.
        """
        problems, stated = Problems(), self.settings.projection
        if self.settings.slip is None:
            problems.error(self._where(("moment_tensor",)), "has no subfaults", "slip")
            problems.raise_errors()
        if stated is not None:
            projection = identified(stated.model_dump(mode="json"))[0]
        else:
            _, projection = read_tensors(self.settings, self._where, problems)
        fault = read_fault(self.settings.kinematic, projection, self._where, problems)
        problems.raise_errors()
        assert fault is not None
        with atomic_text(Path(path)) as file:
            file.writelines("{:.3f} {:.3f} {:.3f}\n".format(*place) for place in fault.column("location"))
        return len(fault)

    def check(self) -> Problems:
        """Return every problem of the inversion; nothing is written."""
        problems = Problems()
        try:
            problems.extend(self.plan().warnings)
        except InputError as error:
            problems.extend(error.problems)
        return problems

    def run(self, plan: InversionPlan | MomentTensorPlan | None = None) -> InversionResult | MomentTensorResult:
        """Compute the posterior of slip, or the moment tensor, write the results and return them.

        Raises
        ------
        InputError
            With every problem found, before the computation.
        RunError
            If the solution fails, or results cannot be written.
        """
        plan = plan or self.plan()
        if isinstance(plan, MomentTensorPlan):
            return self._moment_tensor(plan)
        found = solve(plan)
        remove((self.folder / NAME).with_suffix(".png"))  # of an earlier run
        write_result(self.folder / NAME, found, self.settings.title)
        remove(*sample_path(self.folder, 0).parent.glob("sample-*.srf"))  # of an earlier, longer list
        for number, sample in enumerate(found.samples):
            write_srf(sample_path(self.folder, number), plan.fault, plan.sources, sample)
        write_rupture_table(sample_path(self.folder, 0).with_name("ruptures.csv"), len(found.samples))
        write_srf(self.folder / "mean.srf", plan.fault, plan.sources, found.mean)
        return found

    def _moment_tensor(self, plan: MomentTensorPlan) -> MomentTensorResult:
        """Compute the moment tensor, write the results and return them."""
        found, settings = solve_moment_tensor(plan), self.settings
        remove((self.folder / MOMENT_TENSOR).with_suffix(".png"))  # of an earlier run
        write_moment_tensor(self.folder / MOMENT_TENSOR, found, settings.title)
        write_centroids(self.folder / TABLE, found)
        if settings.origin_time is not None:
            write_quakeml(self.folder / QUAKEML, found, settings.title, settings.origin_time)
        else:
            remove(self.folder / QUAKEML)  # of an earlier run
        return found


def invert(
    source: str | Path | Mapping[str, object], folder: str | Path | None = None
) -> InversionResult | MomentTensorResult:
    """Invert seismograms and static offsets for slip or a moment tensor, write the results and return them.

    Parameters
    ----------
    source : str, Path or dict
        Inversion file (YAML), or its contents.
    folder : str or Path, optional
        Folder of the results instead of the one of the file.

    Returns
    -------
    InversionResult or MomentTensorResult
        Posterior mean of slip, standard deviation, resolution, samples, and the fit of the data; or moment tensor and centroid.

    Raises
    ------
    InputError
        With every problem found, before the computation.
    RunError
        If the solution fails, or results cannot be written.
    """
    return Inversion(source, folder).run()


def sample_path(folder: Path, number: int) -> Path:
    """Return the SRF file of a sample."""
    return folder / "samples" / sample_name(number)


def solve(plan: InversionPlan) -> InversionResult:
    """Return the posterior of a plan."""
    settings = plan.inversion
    forward = assemble(plan.sources, plan.seismograms, plan.window, plan.every, plan.offsets)
    data, noise = make_data(plan.seismograms, plan.window, settings.noise, settings.unit == "m", plan.offsets)
    prior = _first_prior(plan)
    posterior, evidence, prior, noise = _posterior(plan, forward, prior, noise, data)
    mean, samples = posterior.mean, posterior.samples(np.random.default_rng(settings.seed), settings.samples)
    if settings.kinematic.nonnegative:
        projection = NonnegativeProjection.of(forward, prior, noise)
        mean, samples = projection.apply(mean[:, None])[:, 0], projection.apply(samples)
    found = Solution(posterior, mean, samples)
    return _result(plan, found, _numbers(plan, found, evidence, prior))


@dataclass(frozen=True)
class Solution:
    """Posterior with its mean and samples, which may be restricted to slip that is not negative.

    Attributes
    ----------
    posterior : Posterior
        Gaussian posterior.
    mean : ndarray (m,)
        Its mean, or the most probable non-negative model.
    samples : ndarray (m, samples)
        Samples.
    """

    posterior: Posterior
    mean: np.ndarray
    samples: np.ndarray

    def spread(self, functionals: np.ndarray, restricted: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return standard deviations (k,) of functionals (m, k), of the samples if these are restricted, and the resolution (k,)."""
        variance, resolution = self.posterior.covariance_of(functionals)
        if restricted:
            return (functionals.T @ self.samples).std(1, ddof=1), resolution
        return np.sqrt(variance), resolution


def _first_prior(plan: InversionPlan) -> SlipPrior:
    slip, (along, down) = plan.inversion.kinematic, plan.fault.extent()
    amplitude = INITIAL_AMPLITUDE if slip.amplitude == "auto" else slip.amplitude
    lengths = slip.correlation_length
    if lengths == "auto":
        lengths = (INITIAL_LENGTH * max(along, down), INITIAL_LENGTH * max(along, down))
    ratios = (1.0, slip.across) if slip.across else (1.0,)
    return make_prior(plan.fault.segments, lengths, slip.hurst, amplitude, ratios, slip.windows)


def _posterior(
    plan: InversionPlan, forward: Forward, prior: SlipPrior, noise: Noise, data: np.ndarray
) -> tuple[Posterior, float, SlipPrior, Noise]:
    """Return the posterior, the logarithm of the evidence (NaN where unknown), and the chosen prior and noise."""
    if not plan.dense:
        iterative = IterativeSolver(forward, prior, noise)
        return Posterior(forward, prior, noise, iterative, data), float("nan"), prior, noise
    if plan.searched:
        best = estimate(forward, prior, noise, data, plan.searched)
        prior, noise, predicted = best.prior, best.noise, best.predicted
    else:
        predicted = predicted_covariance(forward, prior)
    solver = CholeskySolver.of(predicted, noise)
    return Posterior(forward, prior, noise, solver, data), solver.log_evidence(data), prior, noise


def _totals(plan: InversionPlan) -> np.ndarray:
    """Return the functionals (parameters, directions * subfaults) of total slip."""
    return np.tile(np.eye(plan.parameters // plan.sources.windows), (plan.sources.windows, 1))


def _numbers(plan: InversionPlan, found: Solution, evidence: float, prior: SlipPrior) -> dict[str, float]:
    sources, posterior, restricted = plan.sources, found.posterior, plan.inversion.kinematic.nonnegative
    noise = posterior.noise
    finder = PointFinder(plan.file)
    stiffness = sources.moduli(finder.lame(finder.nearest(sources.location)[0])) * plan.fault.column("area")
    weights = np.zeros((sources.windows, sources.potency.shape[1], len(plan.fault)))
    weights[:, 0] = stiffness
    moment = float(weights.ravel() @ found.mean)
    deviation = float(found.spread(weights.reshape(-1, 1), restricted)[0][0])
    predicted = posterior.forward.matmat(found.mean[:, None])[:, 0]
    residuals = posterior.data - predicted
    white = noise.whiten(residuals[:, None])[:, 0]
    series, static = slice(plan.samples), slice(plan.samples, None)
    magnitude = moment_magnitude(moment) if moment > 0 else float("nan")
    along, down = prior.correlations[0].lengths
    limited = "correlation_length" in plan.searched and at_limit(along / _first_prior(plan).correlations[0].lengths[0])
    return {
        "moment": moment, "moment_deviation": deviation, "magnitude": magnitude,
        "magnitude_deviation": deviation / (1.5 * np.log(10.0) * moment) if moment > 0 else float("nan"),
        "variance_reduction": _reduction(residuals[series], posterior.data[series]),
        "offset_variance_reduction": _reduction(residuals[static], posterior.data[static]),
        "chi2": float((white**2).mean()), "offset_chi2": float((white[static] ** 2).mean()) if len(plan.offsets) else float("nan"),
        "log_evidence": evidence, "amplitude": prior.amplitude,
        "length_strike": along, "length_dip": down, "length_limited": float(limited), "nonnegative": float(restricted),
        "noise_scale": noise.scale,
    }  # fmt: skip


def _reduction(residuals: np.ndarray, data: np.ndarray) -> float:
    """Return one minus the squared residuals over the squared data, NaN without data."""
    return float(1.0 - (residuals**2).sum() / (data**2).sum()) if len(data) else float("nan")


def _result(plan: InversionPlan, found: Solution, numbers: dict[str, float]) -> InversionResult:
    posterior = found.posterior
    directions, count = plan.sources.potency.shape[1], len(plan.fault)
    shape, channels = (plan.sources.windows, directions, count), (len(plan.channels), plan.window.count)
    deviation, resolution = found.spread(_totals(plan), plan.inversion.kinematic.nonnegative)
    mean = found.mean.reshape(shape)
    along, down, segment = np.empty(count), np.empty(count), np.empty(count)
    for number, part in enumerate(plan.fault.segments):
        along[part.rows], down[part.rows], segment[part.rows] = part.along, part.down, number + 1
    predicted = posterior.forward.matmat(found.mean[:, None])[:, 0]
    series, static, offsets = slice(plan.samples), slice(plan.samples, None), plan.offsets
    deviations = posterior.noise.deviations
    return InversionResult(
        mean, mean.sum(0), deviation.reshape(directions, count), resolution.reshape(directions, count),
        found.samples.T.reshape(-1, *shape), plan.fault.column("geographic"), along, down, segment, plan.sources.onset,
        tuple(plan.channels), plan.window.time, posterior.data[series].reshape(channels), predicted[series].reshape(channels),
        deviations[series].reshape(channels), offsets.names, offsets.place, offsets.direction, posterior.data[static],
        predicted[static], deviations[static], numbers,
    )  # fmt: skip
