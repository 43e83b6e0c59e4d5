"""What a run on a grid observes of its free surface: snapshots and maps of intensity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.projection import Projection
from faultwave.fd import intensity as stencils
from faultwave.fd.fields import assembled, degrees
from faultwave.fd.operator import Operator
from faultwave.fd.plan import FdPlan
from faultwave.fd.room import SAMPLES
from faultwave.observe.dataset import Dataset, Variable
from faultwave.observe.fields import surface_fields
from faultwave.output.formats.awp_series import COMPONENTS
from faultwave.output.formats.geotiff import write_geotiff
from faultwave.output.formats.image import Lattice
from faultwave.output.formats.maps_netcdf import write_maps
from faultwave.output.formats.shakemap import write_shakemap
from faultwave.physics.sources.released import magnitude, moment_of

TOGETHER = 6  # steps, into which most numbers of steps in one pass go


class SurfaceView:
    """Arrays of the surface within the box asked for, layers left out."""

    def __init__(self, plan: FdPlan, operator: Operator):
        grid, self.world = plan.scheme.grid, plan.world
        first = np.round((plan.lower - np.array(grid.lower)) / grid.spacing).astype(int)
        count = np.round((plan.upper - plan.lower) / grid.spacing).astype(int)
        owned, box = operator.subdomain.owned.box, operator.subdomain.box
        self.here = owned.hi[0] == grid.shape[0]
        lo = [max(owned.lo[2 - k], int(first[k])) for k in (1, 0)]
        hi = [max(low, min(owned.hi[2 - k], int(first[k] + count[k]))) for low, k in zip(lo, (1, 0), strict=True)]
        y, x = (slice(a - box.lo[k], b - box.lo[k]) for a, b, k in zip(lo, hi, (1, 2), strict=True))
        self.inner = (y, x)
        y, x = (slice(a - first[k], b - first[k]) for a, b, k in zip(lo, hi, (1, 0), strict=True))
        self.place = (y, x)
        self.x = plan.lower[0] + grid.spacing * (np.arange(count[0]) + 0.5)
        self.y = plan.lower[1] + grid.spacing * (np.arange(count[1]) + 0.5)
        self.top, self.spacing, self.values = float(plan.upper[2]), grid.spacing, operator.runner.values

    def __call__(self, name: str) -> np.ndarray:
        """(ny, nx) of an array, now; on the first process, which puts together what all have."""
        block = np.array(self.values(name)[0][self.inner], float) if self.here else np.zeros((0, 0))
        place = self.place if block.size else (slice(0, 0), slice(0, 0))
        return assembled(self.world, (len(self.y), len(self.x)), place, block)


class SurfaceShots:
    """Velocity, displacement and peak speed of the surface for snapshots, every n-th point along each axis."""

    FIELDS = {**{f"{q}{c}": f"surface_{q}{c}" for q in "vu" for c in "123"}, "PGV": "surface_peak"}

    def __init__(self, plan: FdPlan, operator: Operator):
        setting = plan.case.output.surface
        assert setting is not None
        self.names, self.every = surface_fields(setting), setting.every
        self.surface = SurfaceView(plan, operator)
        self.read = list(dict.fromkeys([*self.names, *(COMPONENTS if "awp" in setting.formats else ())]))
        x, y = (a[:: self.every] for a in (self.surface.x, self.surface.y))
        h = self.every * self.surface.spacing
        made = Lattice((float(x[0]), float(y[0]), self.surface.top), h, (len(y), len(x)))
        projection = None if plan.case.projection is None else _projection(plan.case.projection)
        self.lattice = Lattice(made.origin, h, made.shape, degrees(made, projection))

    def __call__(self) -> dict[str, np.ndarray]:
        """(ny, nx) of each field, now."""
        return {n: self.surface(self.FIELDS[n])[:: self.every, :: self.every] for n in self.read}


class IntensityMaps:
    """Peaks, spectral accelerations, Arias intensity and duration of the whole run."""

    def __init__(self, plan: FdPlan, operator: Operator):
        self.plan, self.operator, self.surface = plan, operator, SurfaceView(plan, operator)
        self.times: list[float] = [0.0]
        self.arias: list[np.ndarray] = [np.zeros((len(self.surface.y), len(self.surface.x)), np.float32)]

    def steps(self) -> Sequence[int]:
        """After which steps the growth of Arias intensity is looked at, whatever steps are taken together; and the last."""
        every = -(-self.plan.steps // SAMPLES)
        every = every if every == 1 else -(-every // TOGETHER) * TOGETHER
        return sorted({*range(every, self.plan.steps, every), self.plan.steps})

    def take(self) -> None:
        """Remember Arias intensity of now."""
        if self.operator.time > self.times[-1]:
            self.times.append(self.operator.time)
            self.arias.append(self.surface("arias").astype(np.float32))

    def dataset(self) -> Dataset:
        """Maps (y, x) so far; all processes ask for them at once, the first one gets them."""
        setting, s = self.plan.case.output.intensity, self.surface
        assert setting is not None
        self.take()
        dims = ("y", "x")
        variables = {
            "x": Variable(s.x, ("x",), "m", "x of the cells' centres"),
            "y": Variable(s.y, ("y",), "m", "y of the cells' centres"),
        }
        named = [("PGA", "PGA", "m/s^2", "peak ground acceleration", 1.0), ("PGV", "PGV", "m/s", "peak ground velocity", 1.0),
                 ("PGD", "PGD", "m", "peak ground displacement", 1.0)]  # fmt: skip
        for n, period in enumerate(setting.periods):
            text = f"pseudo-spectral acceleration at {period:g} s, damping {setting.damping:g}"
            named.append((f"SA{n}", f"SA_{period:g}s", "m/s^2", text, (2 * np.pi / period) ** 2))
        for array, name, unit, text, factor in named:
            turned = np.stack([s(stencils.peak(array, angle)) for angle in range(stencils.ANGLES)])
            variables[name] = Variable(factor * np.median(turned, 0), dims, unit, f"{text}, RotD50")
        variables["PGV_max"] = Variable(s("surface_peak"), dims, "m/s", "largest horizontal ground speed")
        growth = np.stack(self.arias)
        variables["arias"] = Variable(
            growth[-1].astype(float), dims, "m/s", "Arias intensity, sum of both horizontal components"
        )
        duration = stencils.duration(self.times, growth)
        variables["D5_95"] = Variable(duration, dims, "s", "time from 5 to 95 % of Arias intensity")
        projection = self.plan.case.projection
        attrs: dict[str, Any] = {"crs": projection.crs if projection else None, "end_time": self.operator.time,
                 "resolved_frequency": self.plan.frequency, "case": self.plan.case.title}  # fmt: skip
        if projection is not None:
            attrs |= {
                "origin": None if projection.origin is None else list(projection.origin),
                "azimuth": projection.azimuth,
            }
        places, first = _sources(self.plan)
        if first >= 0:
            order = [first, *(n for n in range(len(places)) if n != first)]
            for k, axis in enumerate("xyz"):
                text = f"{axis} of the sources, the first to act first"
                variables[f"source_{axis}"] = Variable(places[order, k], ("source",), "m", text)
        if projection is not None:
            lonlat = _projection(projection).to_continuous(np.stack(np.meshgrid(s.x, s.y), -1).reshape(-1, 2))
            for k, name in enumerate(("longitude", "latitude")):
                variables[name] = Variable(lonlat[:, k].reshape(len(s.y), len(s.x)), dims, "degree", name)
        return Dataset("ground motion intensity", variables, attrs)

    def write(self, folder: Path, maps: Dataset) -> list[Path]:
        """``maps`` as PREFIX-intensity.nc and, where asked for, .tif and PREFIX-grid.xml."""
        out = self.plan.case.output
        setting = out.intensity
        assert setting is not None
        files = [write_maps(folder / f"{out.prefix}-intensity.nc", maps)]
        if self.plan.case.projection is None:
            return files
        projection = _projection(self.plan.case.projection)
        plain = Dataset(
            maps.name, {k: v for k, v in maps.variables.items() if k not in ("longitude", "latitude")}, maps.attrs
        )
        if "geotiff" in setting.formats:
            origin, ex, ey = projection.to_map(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
            to_map = np.stack([ex - origin, ey - origin, origin], 1)
            epsg = projection.epsg()
            assert epsg is not None  # checked with the plan
            files.append(write_geotiff(folder / f"{out.prefix}-intensity.tif", plain, epsg, to_map))
        if "shakemap" in setting.formats:
            s = self.surface
            corners = projection.to_continuous(np.array([[x, y] for x in s.x[[0, -1]] for y in s.y[[0, -1]]]))
            event = {"event_id": out.prefix, **_event(self.plan, projection), "event_description": self.plan.case.title}
            files.append(write_shakemap(folder / f"{out.prefix}-grid.xml", plain, projection.to_local, corners, event))
        return files


def _sources(plan: FdPlan) -> tuple[np.ndarray, int]:
    """Places (n, 3) of the sources that act, and which of them begins first."""
    acting = [s for s in plan.sources if s.moment.any() or s.force.any() or s.potency.any()]
    if not acting:
        return np.zeros((0, 3)), -1
    return np.array([s.location for s in acting], float), int(np.argmin([s.onset for s in acting]))


def _event(plan: FdPlan, projection: Projection) -> dict[str, str]:
    """Magnitude, place and depth of what the sources are together; nothing where none acts. The origin time is 1970."""
    places, first = _sources(plan)
    if first < 0:
        return {}
    moment = moment_of(plan.sources, plan.source_material[:, :2], plan.case.end_time)
    lon, lat = projection.to_continuous(places[first, :2])[0]
    depth = 1e-3 * (float(plan.upper[2]) - places[first, 2])
    size = {"magnitude": f"{magnitude(moment):.2f}"} if moment > 0 else {}
    return {**size, "depth": f"{depth:.3f}", "lat": f"{lat:.6f}", "lon": f"{lon:.6f}"}


def _projection(setting: Any) -> Projection:
    return Projection(setting.crs, setting.origin, setting.azimuth)
