"""Plausibility checks of a fault before a run: loads against strengths, and critical lengths against elements.

Pure functions of arrays over fault points. References: Andrews (1976), Uenishi & Rice (2003), Day et al. (2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.physics.friction.law import Weakening

BARRIER = 10.0
"""Ratio of strength to normal stress above which a point is taken as a barrier that never slips."""
ENOUGH = 2.0
"""Number of points in the cohesive zone below which rupture is not resolved (Day et al. 2005 advise 3 in the median)."""
WHERE = "fault.parameters"


@dataclass(frozen=True)
class LoadedFault:
    """Loads, strengths and resolution of the n points of a fault before the run.

    Attributes
    ----------
    area : (n,) array
        Area that each point represents [m^2].
    tau, nucleated : (n,) array
        Shear traction, and the same with all that nucleation adds until the end of the run [Pa].
    sigma : (n,) array
        Normal traction [Pa].
    modulus, poisson : (n,) array
        Shear modulus [Pa] and Poisson's ratio of the softer side.
    spacing : (n,) array
        Distance between points of the solution [m].
    weakening
        Strength before and after weakening; None if the friction law has none.
    end : float
        End of the run [s].
    nucleated_weakening
        Strengths under the normal traction and pore pressure that nucleation leaves; None: unchanged.
    nucleated_sigma : (n,) array or None
        Normal traction after nucleation [Pa].
    """

    area: np.ndarray
    tau: np.ndarray
    nucleated: np.ndarray
    sigma: np.ndarray
    modulus: np.ndarray
    poisson: np.ndarray
    spacing: np.ndarray
    weakening: Weakening | None
    end: float
    nucleated_weakening: Weakening | None = None
    nucleated_sigma: np.ndarray | None = None

    @property
    def nucleated_strength(self) -> Weakening | None:
        """Strengths after nucleation."""
        return self.weakening if self.nucleated_weakening is None else self.nucleated_weakening

    @property
    def lack(self) -> np.ndarray:
        """Shear stress [Pa] (n,) missing to failure, before or after nucleation, whichever is less; negative: the point breaks."""
        w, after = self.weakening, self.nucleated_strength
        assert w is not None and after is not None
        return np.asarray(np.minimum(w.peak - self.tau, after.peak - self.nucleated))

    @property
    def starts(self) -> np.ndarray:
        """Mask (n,) of points that break spontaneously: above their strength before or after nucleation, or forced."""
        w = self.weakening
        if w is None or not w.threshold:
            return np.zeros(len(self.tau), bool)
        found = self.lack < 0
        return found if w.forced is None else found | (w.forced < self.end)

    @property
    def may_slip(self) -> np.ndarray:
        """Mask (n,) of points that are under compression and are not barriers."""
        w, pressed = self.weakening, self.sigma < 0
        return pressed if w is None else pressed & (w.peak < BARRIER * np.maximum(-self.sigma, 1.0))

    @property
    def s_ratio(self) -> np.ndarray:
        """S ratio (peak - tau) / (tau - dynamic) (n,); NaN at barriers and where the load does not exceed the dynamic strength."""
        w = self.weakening
        if w is None:
            return np.full(len(self.tau), np.nan)
        drop = self.tau - w.dynamic
        return np.where(self.may_slip & (drop > 0), (w.peak - self.tau) / np.where(drop > 0, drop, 1.0), np.nan)

    @property
    def cohesive_zone(self) -> np.ndarray:
        """Static length of the cohesive zone (n,) [m]: 9 pi / 32 mu/(1 - nu) d / (peak - dynamic); NaN without weakening.

        See Day et al. (2005), equation 30.
        """
        return 9.0 * np.pi / 32.0 * self._weakening_length

    @property
    def critical_half_length(self) -> np.ndarray:
        """Critical half length (n,) [m] of spontaneous rupture, 0.579 mu/(1 - nu) d / (peak - dynamic) (Uenishi & Rice 2003)."""
        return 0.579 * self._weakening_length

    @property
    def _weakening_length(self) -> np.ndarray:
        w = self.weakening
        if w is None:
            return np.full(len(self.tau), np.nan)
        drop = w.peak - w.dynamic
        length = self.modulus / (1.0 - self.poisson) * w.distance / np.where(drop > 0, drop, 1.0)
        return np.where(self.may_slip & (drop > 0), length, np.nan)

    def griffith_half_length(self, patch: np.ndarray) -> float:
        """Return the half length [m] of a Griffith crack that grows with the mean stress drop in a patch (Andrews 1976).

        It is mu/(1 - nu) (peak - dynamic) d / (pi (tau - dynamic)^2), averaged over the points ``patch`` (k,); infinite
        without stress drop.
        """
        w, after = self.weakening, self.nucleated_strength
        assert w is not None and after is not None
        share = self.area[patch] / self.area[patch].sum()
        drop = float(share @ np.maximum(self.tau - w.dynamic, self.nucleated - after.dynamic)[patch])
        energy = (w.peak - w.dynamic) * w.distance * self.modulus / (1.0 - self.poisson)
        return float(share @ energy[patch]) / (np.pi * drop**2) if drop > 0 else np.inf

    def area_fraction(self, mask: np.ndarray) -> float:
        """Return the fraction of the fault area where ``mask`` (n,) is True."""
        return float(self.area[mask].sum() / self.area.sum())


def rows(fault: LoadedFault, patch: np.ndarray) -> list[tuple[str, str]]:
    """Return the rows of the forecast of ``faultwave plan`` for a fault: label and text each.

    Parameters
    ----------
    fault
        Loads and strengths.
    patch : (k,) array
        Points of the largest connected patch that breaks spontaneously.
    """
    pressure = fault.sigma / 1e6
    found = [("normal stress on the fault", f"{_span(pressure)} MPa, negative in compression")]
    w = fault.weakening
    if w is None:
        return found
    slips = fault.may_slip
    if slips.any():
        found.append(("shear stress on the fault", f"{_span(fault.tau[slips] / 1e6)} MPa"))
        found.append(
            (
                "strength before and after weakening",
                f"{_span(w.peak[slips] / 1e6)} and {_span(w.dynamic[slips] / 1e6)} MPa",
            )
        )
    ratio = fault.s_ratio
    if np.isfinite(ratio).any():
        found.append(
            (
                "S ratio, strength excess over stress drop",
                f"median {np.nanmedian(ratio):.3g}, minimum {np.nanmin(ratio):.3g}",
            )
        )
    if w.threshold:
        found.append(
            ("above strength at the start", f"{100 * fault.area_fraction(fault.tau > w.peak):.3g} % of the area")
        )
    if len(patch):
        half, griffith = _critical(fault, patch)
        text = f"{_radius(fault, patch):.4g} m in radius; critical half length {half:.4g} m (Uenishi & Rice 2003), "
        text += f"{griffith:.4g} m (Andrews 1976)" if np.isfinite(griffith) else "no stress drop in the patch"
        found.append(("patch that fails without a rupture front", text))
    return found


def doubts(fault: LoadedFault, patch: np.ndarray, loads: Sequence[str] = ()) -> Problems:
    """Return warnings about settings that are probably not as intended.

    Parameters
    ----------
    fault
        Loads, strengths and lengths at its points.
    patch : (k,) array
        Points of the largest connected patch that breaks spontaneously.
    loads
        Descriptions of other causes that may change stress or pore pressure on the fault during the run.
    """
    problems = Problems()
    _warn_normal_stress(fault, problems)
    w, after = fault.weakening, fault.nucleated_strength
    if w is None or after is None:
        return problems
    if w.threshold:
        _warn_start(fault, patch, loads, problems)
    slips = fault.may_slip
    low = slips & (fault.tau <= w.dynamic) & (fault.nucleated <= after.dynamic)
    if slips.any() and fault.area_fraction(low) > 0.95 * fault.area_fraction(slips):
        what = f"the shear stress is below the dynamic strength on {100 * fault.area_fraction(low):.3g} % of the fault"
        problems.warn(
            WHERE,
            what,
            advice="Rupture gains no energy there and will die out. Check the stress and the friction parameters.",
        )
    return problems


FINER_MESH = "use smaller elements on the fault, or a higher order"


def warn_resolution(fault: LoadedFault, problems: Problems, finer: str = FINER_MESH) -> None:
    """Warn if the cohesive zone is not resolved; ``finer`` is the advice of the warning."""
    points = cohesive_points(fault)
    if len(points) and np.median(points) < ENOUGH:
        what = f"the forecast median number of points in the cohesive zone is {np.median(points):.2g}"
        advice = f"Rupture speed and slip rate will depend on the resolution: {finer}."
        problems.warn("fault", what, f"at least {ENOUGH:g} to 3 (Day et al. 2005)", advice)


def cohesive_points(fault: LoadedFault) -> np.ndarray:
    """Return the number of points of the solution in the cohesive zone (k,), at points that weaken."""
    points = fault.cohesive_zone / fault.spacing
    return np.asarray(points[np.isfinite(points)])


def _warn_normal_stress(fault: LoadedFault, problems: Problems) -> None:
    pulled = fault.sigma >= 0
    if pulled.any():
        advice = "Friction needs compression, which is negative: only cohesion holds there."
        if fault.area_fraction(fault.sigma > 0) > 0.5:
            advice += " Is compression positive in the case? Write T_n: -120 MPa for a pressure of 120 MPa."
        what = f"the normal stress is not compressive on {100 * fault.area_fraction(pulled):.3g} % of the fault"
        problems.warn(WHERE, what, "T_n < 0", advice)
    opened = ~pulled & (fault.nucleated_sigma >= 0) if fault.nucleated_sigma is not None else np.zeros_like(pulled)
    if opened.any():
        what = f"nucleation removes all compression on {100 * fault.area_fraction(opened):.3g} % of the fault"
        advice = (
            "Only cohesion holds there afterwards. Are pore pressure and normal traction of nucleation "
            "in Pa and of realistic magnitude?"
        )
        problems.warn("fault.nucleation", what, advice=advice)


def _warn_start(fault: LoadedFault, patch: np.ndarray, loads: Sequence[str], problems: Problems) -> None:
    w = fault.weakening
    assert w is not None
    above = fault.area_fraction(fault.tau > w.peak)
    if above > 0.5:
        many = "all of the fault is" if above > 0.999 else f"{100 * above:.3g} % of the fault are"
        advice = (
            "It fails instantly, without a rupture front. Check the units and signs of stress and friction parameters."
        )
        problems.warn(WHERE, f"{many} above its strength at the start", advice=advice)
    elif not fault.starts.any():
        lack = float(np.min(fault.lack[fault.may_slip], initial=np.inf))
        nearest = f"; the nearest point lacks {lack / 1e6:.3g} MPa" if np.isfinite(lack) else ""
        after = fault.nucleated_strength
        nucleated = bool((fault.nucleated != fault.tau).any() or (after is not None and (after.peak != w.peak).any()))
        even = ", including all stress from fault.nucleation" if nucleated else ""
        advice = "No rupture will start: overstress a patch, or " + (
            "raise what fault.nucleation adds." if nucleated else "give fault.nucleation."
        )
        if loads:
            advice = (
                f"A rupture starts only if {' or '.join(loads)} changes stress or pore pressure by this "
                "amount, which only the run can show."
            )
        problems.warn(WHERE, f"no point of the fault is above its strength{even}{nearest}", advice=advice)
    elif len(patch):
        radius, needed = _radius(fault, patch), max(_critical(fault, patch))
        if radius < needed:
            length = (
                f"less than the critical half length {needed:.3g} m"
                if np.isfinite(needed)
                else "and its stress does not drop"
            )
            what = f"the patch that fails without a rupture front is {radius:.3g} m in radius, {length}"
            advice = "Rupture may die out: enlarge the patch or its stress (Andrews 1976; Uenishi & Rice 2003)."
            problems.warn(WHERE, what, advice=advice)


def _critical(fault: LoadedFault, patch: np.ndarray) -> tuple[float, float]:
    """Return the half lengths [m] of Uenishi & Rice (2003) and Andrews (1976); the first is 0 without weakening."""
    half = fault.critical_half_length[patch]
    half = half[np.isfinite(half)]
    return float(np.median(half)) if len(half) else 0.0, fault.griffith_half_length(patch)


def _radius(fault: LoadedFault, patch: np.ndarray) -> float:
    """Return the radius of a disc with the area of the patch [m]."""
    return float(np.sqrt(fault.area[patch].sum() / np.pi))


def _span(values: np.ndarray) -> str:
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else f"{low} to {high}"
