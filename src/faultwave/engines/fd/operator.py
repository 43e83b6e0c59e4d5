"""The operator of a grid: arrays and program on a backend, advanced by whole steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave import backends
from faultwave.engines.fd.grid import HALF
from faultwave.engines.fd.halves import Units, spread_rounding
from faultwave.engines.fd.media import Medium
from faultwave.engines.fd.points import RECORDED, Sampler, Sources, StrainSampler
from faultwave.engines.fd.program import Observer, Scheme, build_program, profiles
from faultwave.engines.fd.stencils import FIELDS, VELOCITY
from faultwave.laws import Law
from faultwave.media.attenuation import Relaxation


class Operator:
    """Velocities at (n - 1/2) dt and stresses at n dt after n ``steps``."""

    def __init__(
        self, scheme: Scheme, medium: Medium, relaxation: Relaxation | None, sources: Sources, sampler: Sampler | StrainSampler | None,
        backend: str, precision: str, threads: int | None, observers: Sequence[Observer] = (),
    ):  # fmt: skip
        self.scheme, self.sources, self.sampler, self.steps = scheme, sources, sampler, 0
        self.units = Units.fitting(medium.coefficients) if precision == "single" else Units()
        program = build_program(scheme, sources.injections, sampler.tapes if sampler else (), observers, self.units)
        self.runner = backends.make_stencils(backend, program, precision, threads)
        for number, (name, values) in enumerate(medium.coefficients.items()):
            self._fill(name, np.asarray(values), number)
        for name, values in profiles(scheme).items():
            self.runner.view(name)[...] = values
        if scheme.free_surface:
            lam, mu2 = (self.runner.view(n)[-1].astype(float) for n in ("lam", "mu2"))
            self.runner.view("surface_ratio")[0] = lam / (lam + mu2)
            for name in ("mu_xz", "mu_yz"):
                self.runner.view(name)[-1] = 0.0  # no shear traction on the surface
        if relaxation is not None:
            self._memory_coefficients(relaxation)

    def _fill(self, name: str, values: np.ndarray, number: int) -> None:
        view, unit = self.runner.view(name), self.units.of(name)
        whole = np.broadcast_to(values, view.shape)
        if view.dtype != np.float16:
            view[...] = whole / unit
            return
        for k in range(len(whole)):
            view[k] = spread_rounding(whole[k : k + 1] / unit, (k, 0, 0), number)[0]

    def coefficient(self, name: str) -> np.ndarray:
        """A coefficient as it is computed with (nz, ny, nx), in SI units."""
        return self.runner.values(name).astype(float) * self.units.of(name)

    def _memory_coefficients(self, relaxation: Relaxation) -> None:
        """r' = A r - B (...): Crank-Nicolson of tau r_t + r = -(defect) (strain rate), with r halved (Day & Bradley 2001)."""
        from faultwave.media.attenuation import ORDER

        tau = relaxation.spectrum.times[ORDER].reshape(2, 2, 2)
        tau = tau[:, :, np.arange(self.scheme.grid.shape[2]) % 2] / self.scheme.step
        self.runner.view("A")[...] = (tau - 0.5) / (tau + 0.5)
        self.runner.view("B")[...] = 0.5 / (tau + 0.5)

    @property
    def time(self) -> float:
        """Time of the stresses [s]; velocities are half a step behind."""
        return self.steps * self.scheme.step

    def advance(self, steps: int) -> np.ndarray | None:
        """Take ``steps``; what the receivers saw after each, (steps, receivers, 1 or 4, 9): velocities half a step earlier."""
        tapes = self.runner.run(steps, self.sources.amplitudes(self.steps, steps))
        self.steps += steps
        return self.sampler.values(tapes) if self.sampler else None

    def set_state(self, state: Callable[[np.ndarray, float], np.ndarray]) -> None:
        """Start from state(points (n, 3), time) -> (n, 9), velocities half a step before now."""
        for column, name in enumerate(RECORDED):
            when = self.time - 0.5 * self.scheme.step if name in VELOCITY else self.time
            places = self.scheme.grid.places(name)
            values = state(places.reshape(-1, 3), when)[:, column]
            self.runner.view(name)[...] = values.reshape(places.shape[:3])
        self._wrap()

    def _wrap(self) -> None:
        from faultwave.backends.grid import wrap_axis

        for name in FIELDS:
            for axis in self.scheme.periodic:
                wrap_axis(self.runner.view(name, 2), "zyx".index(axis))

    def finite(self) -> bool:
        """Whether the velocities are numbers; one that is not spreads to all of them soon."""
        return self.runner.finite(VELOCITY)

    def error(self, solution: Callable[[np.ndarray, float], np.ndarray]) -> np.ndarray:
        """Relative L2 error (9,) against solution(points, time), each quantity at its own places and time."""
        result = np.zeros(len(RECORDED))
        for column, name in enumerate(RECORDED):
            when = self.time - 0.5 * self.scheme.step if name in VELOCITY else self.time
            places = self.scheme.grid.places(name)
            exact = solution(places.reshape(-1, 3), when)[:, column].reshape(places.shape[:3])
            mine = self.runner.values(name).astype(float)
            result[column] = np.sqrt(((mine - exact) ** 2).sum() / max((exact**2).sum(), 1e-300))
        return result

    def energies(self, law: Law) -> dict[str, float]:
        """Strain energy of the stresses now and kinetic energy half a step before, of the box without layers' distinction.

        Shear stresses are averaged to nothing: each quantity counts with the modulus at its own place.
        """
        h3 = self.scheme.grid.spacing**3

        def v(name: str) -> np.ndarray:
            return self.runner.values(name)

        def c(name: str, k: int) -> np.ndarray:
            return np.asarray(v(name)[k], float) * self.units.of(name)

        total = {
            "elastic_energy": 0.0,
            "elastic_kinetic_energy": 0.0,
            "momentumX": 0.0,
            "momentumY": 0.0,
            "momentumZ": 0.0,
        }
        for k in range(self.scheme.grid.shape[0]):
            for name, axis in VELOCITY.items():
                speed, rho = v(name)[k].astype(float), 1.0 / c(f"b_{axis}", k)
                total["elastic_kinetic_energy"] += 0.5 * h3 * float((rho * speed * speed).sum())
                total[f"momentum{axis.upper()}"] += h3 * float((rho * speed).sum())
            lam, mu2 = c("lam", k), c("mu2", k)
            normal = [v(n)[k].astype(float) for n in ("sxx", "syy", "szz")]
            trace, square = sum(normal), sum(s * s for s in normal)
            solid = np.where(mu2 > 0, mu2, 1.0)
            energy = np.where(
                mu2 > 0, (square - lam / (3 * lam + solid) * trace**2) / (2 * solid), trace**2 / (18 * lam)
            )
            total["elastic_energy"] += h3 * float(energy.sum())
            for name in ("sxy", "sxz", "syz"):
                mu, s = c(f"mu_{name[1:]}", k), v(name)[k].astype(float)
                total["elastic_energy"] += (
                    0.5 * h3 * float(np.where(mu > 0, s * s / np.where(mu > 0, mu, 1.0), 0.0).sum())
                )
        return total

    def nbytes(self) -> int:
        """Memory of all arrays."""
        return self.runner.nbytes


__all__ = ["HALF", "Operator"]
