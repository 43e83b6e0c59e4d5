"""Named arrays with dimensions, units and descriptions, passed from observers to writers and users as results.

Three layouts occur; the functions at the end build them and check their arrays:

* receivers: ``time`` (nt,), ``values`` (nt, nr, nq), ``location`` and ``requested`` (nr, 3);
* fault receivers: the same with ``time`` (nt, nr), padded with NaN because each point samples at the steps of its own
  cluster, plus ``normal``, ``strike``, ``dip`` (nr, 3) and ``initial_traction`` (nr, 3) = (P_0, T_s, T_d);
* energies: ``time`` (nt,) and one (nt,) variable per name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from faultwave.base import wording
from faultwave.base.types import Record, Settings

if TYPE_CHECKING:
    import xarray


QUANTITIES: dict[str, tuple[str, str]] = {
    **{f"s_{c}": ("Pa", f"stress change {c}") for c in ("xx", "yy", "zz", "xy", "yz", "xz")},
    **{f"v{i}": ("m/s", f"particle velocity along x{i}") for i in (1, 2, 3)},
    **{f"u{i}": ("m", f"displacement along x{i}") for i in (1, 2, 3)},
    **{f"rot{i}": ("1/s", f"curl of the velocity about x{i}, twice the rotation rate") for i in (1, 2, 3)},
    **{f"eps{c}": ("1/s", f"strain rate {c}") for c in ("xx", "xy", "xz", "yy", "yz", "zz")},
    **{f"E{i}": ("V/m", f"electric field along x{i}") for i in (1, 2, 3)},
    **{f"H{i}": ("A/m", f"magnetic field along x{i}") for i in (1, 2, 3)},
    "electric_energy": ("J", "energy of the electric field"),
    "magnetic_energy": ("J", "energy of the magnetic field"),
    "sigma": ("Pa", "minus acoustic pressure"),
    "pprime": ("Pa", "acoustic pressure"),
    "p": ("Pa", "pore pressure"),
    **{f"v{i}_f": ("m/s", f"filtration velocity of the pore fluid along x{i}") for i in (1, 2, 3)},
    "PGV": ("m/s", "largest horizontal ground speed so far"),
    "SRs": ("m/s", "slip rate along strike"),
    "SRd": ("m/s", "slip rate along dip"),
    "T_s": ("Pa", "change of shear traction along strike"),
    "T_d": ("Pa", "change of shear traction along dip"),
    "P_n": ("Pa", "change of normal traction"),
    "u_n": ("m/s", "normal velocity"),
    "Mud": ("", "friction coefficient"),
    "StV": ("", "state variable of the friction law"),
    "Ts0": ("Pa", "shear traction along strike"),
    "Td0": ("Pa", "shear traction along dip"),
    "Pn0": ("Pa", "normal traction, negative in compression"),
    "Sls": ("m", "slip along strike"),
    "Sld": ("m", "slip along dip"),
    "Vr": ("m/s", "rupture speed"),
    "ASl": ("m", "accumulated slip"),
    "PSR": ("m/s", "peak slip rate"),
    "RT": ("s", "rupture time, slip rate first above 1 mm/s; 0 before"),
    "DS": ("s", "time when the dynamic strength is reached; 0 before"),
    "P_f": ("Pa", "pore pressure change, negative when the pressure rises"),
    "Tmp": ("K", "temperature"),
    "gravitational_energy": ("J", "gravitational energy of the sea surface"),
    "acoustic_energy": ("J", "strain energy of acoustic cells"),
    "acoustic_kinetic_energy": ("J", "kinetic energy of acoustic cells"),
    "elastic_energy": ("J", "elastic strain energy of the stress change"),
    "elastic_kinetic_energy": ("J", "kinetic energy of elastic cells"),
    "momentumX": ("kg*m/s", "momentum along x1"),
    "momentumY": ("kg*m/s", "momentum along x2"),
    "momentumZ": ("kg*m/s", "momentum along x3"),
    "total_frictional_work": ("J", "frictional work of the traction change"),
    "static_frictional_work": ("J", "frictional work of a quasi-static rupture with the same final state"),
    "potency": ("m^3", "seismic potency"),
    "seismic_moment": ("N*m", "seismic moment"),
    "plastic_moment": ("N*m", "moment of plastic strain"),
    "plastic_work": ("J", "energy dissipated by yielding rock"),
    "soil_work": ("J", "energy dissipated by soft soil"),
    "attenuation_power": ("W", "power that attenuation dissipates"),
    "attenuation_work": (
        "J",
        "energy dissipated by attenuation, by the trapezoidal rule over the times of the table",
    ),
    "drag_power": ("W", "power that the drag of pore fluid on rock dissipates"),
    "drag_work": (
        "J",
        "energy dissipated by the drag, by the trapezoidal rule over the times of the table",
    ),
    "true_elastic_energy": ("J", "strain energy of the actual medium, including relaxation mechanisms and pore fluid"),
    "true_elastic_kinetic_energy": ("J", "kinetic energy of rock and pore fluid"),
    "true_acoustic_energy": ("J", "strain energy of acoustic cells, including relaxation mechanisms"),
    "true_acoustic_kinetic_energy": ("J", "kinetic energy of acoustic cells"),
    "true_momentumX": ("kg*m/s", "momentum of rock and pore fluid along x1"),
    "true_momentumY": ("kg*m/s", "momentum of rock and pore fluid along x2"),
    "true_momentumZ": ("kg*m/s", "momentum of rock and pore fluid along x3"),
    **{f"gamma_{c}": ("", f"shear strain {c} of soil, twice the tensor's") for c in ("xy", "yz", "xz")},
    **{f"dev_strain_{c}": ("", f"deviatoric strain {c} of soil") for c in ("xx", "yy")},
    **{f"dev_s_{c}": ("Pa", f"change of deviatoric stress {c}") for c in ("xx", "yy")},
    "initial_stress_work": ("J", "work of the stress at rest on plastic strain"),
}
"""SI unit and description of every quantity in receiver, fault, surface and energy files, by name."""


CODES = {"stations": "station", "networks": "network"}
"""Attributes with a text for each receiver, and the name of the coordinate that represents each in files and xarray."""


def sample_count(end: float, interval: float) -> int:
    """Return the number of samples at multiples of ``interval`` [s] from 0 to ``end`` [s]."""
    return int(end / interval + 1e-9) + 1


@dataclass(frozen=True)
class Variable:
    """Array with named dimensions ``dims`` and an SI ``unit`` ('' if dimensionless)."""

    data: np.ndarray
    dims: tuple[str, ...]
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if self.data.ndim != len(self.dims):
            raise ValueError(f"array of shape {self.data.shape} cannot have the dimensions {self.dims}")

    def __repr__(self) -> str:
        sizes = ", ".join(f"{dim}: {size}" for dim, size in zip(self.dims, self.data.shape, strict=True))
        return f"({sizes}){' [' + self.unit + ']' if self.unit else ''}"


@dataclass(frozen=True)
class Dataset:
    """Variables that share named dimensions, and attributes; ``dataset['time']`` is the plain array."""

    name: str
    variables: dict[str, Variable]
    attrs: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes: dict[str, int] = {}
        for name, variable in self.variables.items():
            for dim, size in zip(variable.dims, variable.data.shape, strict=True):
                if sizes.setdefault(dim, size) != size:
                    raise ValueError(f"{self.name}: '{name}' has {size} entries along '{dim}', others {sizes[dim]}")

    def __repr__(self) -> str:
        found = ", ".join(f"{name} {variable!r}" for name, variable in self.variables.items())
        return f"<Dataset {self.name}: {found}{'; quantities ' if self.quantities else ''}{', '.join(self.quantities)}>"

    def _repr_html_(self) -> str:
        rows = []
        for name, variable in self.variables.items():
            sizes = ", ".join(f"{dim}: {size}" for dim, size in zip(variable.dims, variable.data.shape, strict=True))
            rows.append((name, sizes, variable.unit, variable.description))
        units = self.attrs.get("units", [""] * len(self.quantities))
        named = [f"{name} [{unit}]" if unit else name for name, unit in zip(self.quantities, units, strict=False)]
        quantities = [f"quantities: {', '.join(named)}"] if named else []
        return wording.html_table(self.name, rows, ("name", "dimensions", "unit", "")) + wording.html_paragraphs(
            quantities
        )

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the array of a variable; the KeyError of an unknown name lists the variables."""
        if name not in self.variables:
            more = f"; {name} is a quantity: quantity('{name}')" if name in self.quantities else ""
            raise KeyError(f"{self.name} has no '{name}', only {', '.join(self.variables)}{more}")
        return self.variables[name].data

    def __contains__(self, name: object) -> bool:
        return name in self.variables

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every dimension."""
        return {d: n for v in self.variables.values() for d, n in zip(v.dims, v.data.shape, strict=True)}

    @property
    def quantities(self) -> list[str]:
        """Names along the 'quantity' dimension of receivers; empty for other datasets."""
        return list(self.attrs.get("quantities", []))

    def quantity(self, name: str) -> np.ndarray:
        """Return one recorded quantity of all receivers, (nt, nr); the KeyError of an unknown name lists the quantities."""
        if name not in self.quantities:
            raise KeyError(f"{self.name} has no quantity '{name}', only {', '.join(self.quantities)}")
        return self["values"][:, :, self.quantities.index(name)]

    def to_xarray(self) -> xarray.Dataset:
        """Return the data as an ``xarray.Dataset``; the names of quantities become a coordinate.

        Raises ImportError naming the package to install if xarray is absent.
        """
        try:
            import xarray
        except ImportError:
            raise ImportError("to_xarray needs the package xarray: pip install xarray") from None
        arrays = {
            name: (v.dims, v.data, {"units": v.unit, "long_name": v.description}) for name, v in self.variables.items()
        }
        dims = {d for v in self.variables.values() for d in v.dims}
        coords: Settings = {"quantity": self.quantities} if self.quantities and "quantity" in dims else {}
        coords |= {n: arrays.pop(n) for n in ("time", "location", "x", "y", "z") if n in arrays}
        coords |= {singular: ("receiver", self.attrs[n]) for n, singular in CODES.items() if n in self.attrs}
        attrs = {k: v for k, v in self.attrs.items() if k not in ("quantities", *CODES)}
        return xarray.Dataset(arrays, coords=coords, attrs={"name": self.name, **attrs})


def _variable(data: ArrayLike, dims: tuple[str, ...], unit: str, description: str) -> Variable:
    return Variable(np.asarray(data, dtype=np.float64), dims, unit, description)


def _points(location: ArrayLike, requested: ArrayLike | None) -> dict[str, Variable]:
    dims = ("receiver", "component")
    where = np.asarray(location, dtype=np.float64).reshape(-1, 3)
    wanted = where if requested is None else np.asarray(requested, dtype=np.float64).reshape(-1, 3)
    return {
        "location": _variable(where, dims, "m", "locations of the values"),
        "requested": _variable(wanted, dims, "m", "requested locations"),
    }


def _attrs(quantities: Sequence[str], values: np.ndarray, attrs: Record | None) -> Settings:
    if values.ndim != 3 or values.shape[2] != len(quantities):
        raise ValueError(f"values of shape {values.shape} do not hold (time, receiver, {len(quantities)} quantities)")
    own = (attrs or {}).get("units", {})
    units = [own.get(q, QUANTITIES.get(q, ("",))[0]) for q in quantities]
    return {**(attrs or {}), "quantities": list(quantities), "units": units}


def receivers_from_arrays(
    time: ArrayLike,
    values: ArrayLike,
    quantities: Sequence[str],
    location: ArrayLike,
    requested: ArrayLike | None = None,
    attrs: Record | None = None,
) -> Dataset:
    """Return receivers as a Dataset.

    Parameters
    ----------
    time : array_like of shape (nt,)
        Times [s].
    values : array_like of shape (nt, nr, nq)
        Recorded quantities.
    quantities : sequence of str
        Names of the quantities.
    location, requested : array_like of shape (nr, 3)
        Actual and requested places [m].
    attrs : mapping, optional
        Further attributes.

    Raises
    ------
    ValueError
        If the shapes are inconsistent.
    """
    data = np.asarray(values, dtype=np.float64)
    variables = {
        "time": _variable(time, ("time",), "s", "time"),
        "values": Variable(data, ("time", "receiver", "quantity"), "", "recorded quantities"),
        **_points(location, requested),
    }
    return Dataset("receivers", variables, _attrs(quantities, data, attrs))


def with_places(receivers: Dataset, geographic: ArrayLike) -> Dataset:
    """Return receivers with longitude, latitude and the azimuth of the y axis, (nr, 3) [deg]."""
    columns = np.asarray(geographic, float).reshape(-1, 3).T
    texts = ("longitude", "latitude", "direction of y, clockwise from true north")
    named = zip(("longitude", "latitude", "y_azimuth"), columns, texts, strict=True)
    added = {name: _variable(column, ("receiver",), "degree", text) for name, column, text in named}
    return Dataset(receivers.name, {**receivers.variables, **added}, receivers.attrs)


@dataclass(frozen=True)
class FaultFrame:
    """Orientation and initial load of the fault at each receiver.

    Attributes
    ----------
    normal, strike, dip : array_like of shape (nr, 3)
        Unit vectors.
    initial_traction : array_like of shape (nr, 3)
        P_0, T_s, T_d [Pa].
    """

    normal: ArrayLike
    strike: ArrayLike
    dip: ArrayLike
    initial_traction: ArrayLike


def fault_receivers_from_arrays(
    time: ArrayLike,
    values: ArrayLike,
    quantities: Sequence[str],
    location: ArrayLike,
    requested: ArrayLike | None = None,
    *,
    frame: FaultFrame,
    attrs: Record | None = None,
) -> Dataset:
    """Return fault receivers as a Dataset.

    Parameters
    ----------
    time : array_like of shape (nt, nr)
        Times [s], padded with NaN at the end.
    values : array_like of shape (nt, nr, nq)
        Recorded quantities, padded with NaN.
    quantities : sequence of str
        Names of the quantities.
    location, requested : array_like of shape (nr, 3)
        Actual and requested places [m].
    frame : FaultFrame
        Orientation and initial load.
    attrs : mapping, optional
        Further attributes; ``units`` by name for quantities that QUANTITIES lacks or lists with another unit.

    Raises
    ------
    ValueError
        If the shapes are inconsistent.
    """
    data = np.asarray(values, dtype=np.float64)
    dims = ("receiver", "component")
    variables = {
        "time": _variable(time, ("time", "receiver"), "s", "time of each sample; NaN: no sample"),
        "values": Variable(data, ("time", "receiver", "quantity"), "", "recorded quantities; NaN: no sample"),
        **_points(location, requested),
        "normal": _variable(frame.normal, dims, "", "unit normal, from the plus to the minus side"),
        "strike": _variable(frame.strike, dims, "", "unit strike vector"),
        "dip": _variable(frame.dip, dims, "", "unit dip vector, pointing down"),
        "initial_traction": _variable(
            frame.initial_traction, ("receiver", "traction"), "Pa", "P_0, T_s, T_d at the start"
        ),
    }
    return Dataset("fault_receivers", variables, _attrs(quantities, data, attrs))


def energies_from_arrays(time: ArrayLike, columns: Mapping[str, ArrayLike], attrs: Record | None = None) -> Dataset:
    """Return energies as a Dataset, from time (nt,) [s] and one SI array (nt,) per name; NaN if not computed."""
    variables = {"time": _variable(time, ("time",), "s", "time")}
    for name, data in columns.items():
        variables[name] = _variable(data, ("time",), *QUANTITIES.get(name, ("", "")))
    return Dataset("energies", variables, dict(attrs or {}))


@dataclass(frozen=True)
class Result:
    """Result of a capability.

    Attributes
    ----------
    kind : str
        Kind, which determines the formats that write it.
    data : Dataset
        Values.
    name : str
        Name that distinguishes results of one kind.
    settings : mapping
        Settings for the format.
    """

    kind: str
    data: Dataset
    name: str = ""
    settings: Record = field(default_factory=dict)
