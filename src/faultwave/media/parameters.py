"""Names of parameters: their SI units, which values are allowed, and how they average."""

from __future__ import annotations

_TENSOR = ("xx", "yy", "zz", "xy", "yz", "xz")

UNITS: dict[str, str] = {
    "rho": "kg/m^3",
    "mu": "Pa",
    "lambda": "Pa",
    "vp": "m/s",
    "vs": "m/s",
    "Qp": "",
    "Qs": "",
    "bulkFriction": "",
    "plastCo": "Pa",
    "bulk_solid": "Pa",
    "bulk_fluid": "Pa",
    "rho_fluid": "kg/m^3",
    "porosity": "",
    "permeability": "m^2",
    "tortuosity": "",
    "viscosity": "Pa*s",
    "mu_s": "",
    "mu_d": "",
    "d_c": "m",
    "cohesion": "Pa",
    "forced_rupture_time": "s",
    "rs_a": "",
    "rs_b": "",
    "rs_f0": "",
    "rs_muw": "",
    "rs_sl0": "m",
    "RS_sl0": "m",
    "rs_srW": "m/s",
    "tp_halfWidthShearZone": "m",
    "TP_half_width_shear_zone": "m",
    "tp_hydraulicDiffusivity": "m^2/s",
    "alpha_hy": "m^2/s",
    "strike_slip": "m",
    "dip_slip": "m",
    "rupture_onset": "s",
    "rupture_rise_time": "s",
    "tau_S": "s",
    "tau_R": "s",
    **{f"c{i}{j}": "Pa" for i in range(1, 7) for j in range(i, 7)},
    **{f"{prefix}_{c}": "Pa" for prefix in ("s", "nuc") for c in _TENSOR},
    **{f"{prefix}_{c}": "Pa" for prefix in ("T", "Tnuc") for c in "nsd"},
    **dict.fromkeys(("Pn0", "Ts0", "Td0", "p", "nuc_p", "pprime"), "Pa"),
    **dict.fromkeys(("v1", "v2", "v3", "v1_f", "v2_f", "v3_f"), "m/s"),
}

# 'never' and 'no attenuation' are written as infinity.
MAY_BE_INFINITE = frozenset({"forced_rupture_time", "rupture_onset", "Qp", "Qs"})


def unit_of(name: str) -> str | None:
    """SI unit of a parameter, '' for a pure number, None for a name that is not known.

    Numbered nucleation episodes (``nuc2_xx``, ``Tnuc3_s``) have the unit of the first.
    """
    if name in UNITS:
        return UNITS[name]
    head, _, tail = name.rpartition("_")
    plain = f"{head.rstrip('0123456789')}_{tail}"
    return UNITS[plain] if plain.startswith(("nuc_", "Tnuc_")) and plain in UNITS else None
