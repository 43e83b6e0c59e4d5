"""Conversion of a SeisSol deck, ``parameters.par``, with its wave law and mesh, to a Case that computes as SeisSol does.

SeisSol is compiled for one law, so decks do not state it; the material file reveals it.

The keys are declared in ``deck_keys``. A key that would change the result and is not supported is an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import hypot, inf, isfinite
from pathlib import Path

from ruamel.yaml import YAML

from faultwave.base.errors import Problems
from faultwave.base.files.paths import is_file, similar
from faultwave.base.wording import option
from faultwave.case.seissol.initial import read_gravity, read_initial
from faultwave.case.seissol.outputs import read_outputs
from faultwave.case.seissol.reader import Reader, default_folders
from faultwave.case.seissol.syntax import parse_deck
from faultwave.case.settings.model import Case
from faultwave.case.validate import build

MARKER_PARAMETERS = {"anisotropic": "c11", "poroelastic": "bulk_solid"}
"""Parameter that only the material files of a law contain."""


def law_of(material: str, folders: Sequence[Path]) -> str | None:
    """Return the law whose parameters appear in a material file or in the easi files that it includes.

    A bulk modulus ``lambda`` without ``mu`` indicates a fluid. None stands for the law of all other decks.
    """
    todo, seen, text = [material], set(), ""
    while todo:
        name = todo.pop()
        path = next((folder / name for folder in folders if is_file(folder / name)), None)
        if path is None or path in seen:
            continue
        seen.add(path)
        content = path.read_text(encoding="utf-8", errors="replace")
        text += re.sub(r"#.*", "", content)
        todo += re.findall(r"!Include\s+[\"']?([^\s\"']+)", content)
    named = {name for name in (*MARKER_PARAMETERS.values(), "lambda", "mu") if re.search(rf"\b{name}\b", text)}
    found = next((law for law, name in MARKER_PARAMETERS.items() if name in named), None)
    return "acoustic" if found is None and "lambda" in named and "mu" not in named else found


def read_mesh(r: Reader, folders: tuple[Path, ...]) -> None:
    """Read the mesh and the meaning of its face tags."""
    block = "meshnml"
    generator = r.get(block, "meshgenerator", "puml").lower()
    if generator == "cubegenerator":
        _cubes(r)
        return
    if generator not in ("puml", "netcdf"):
        advice = "SeisSol no longer reads it either: convert the mesh to PUML"
        r.report_unsupported(block, "meshgenerator", "this mesh source", "puml, netcdf, cubegenerator", advice)
    elif not r.given(block, "MeshFile"):
        r.missing(block, "MeshFile", "a PUML mesh" if generator == "puml" else "a netCDF mesh")
    if not r.given(block, "MeshFile"):
        r.data["mesh"] = {"generate": {"shape": "tpv5"}}  # placeholder; the case is rejected anyway
        return
    name = r.get(block, "MeshFile")
    if generator == "netcdf" and not name.endswith(".nc"):
        name += ".nc"  # as SeisSol does
    r.put(("mesh", "file"), name, block, "MeshFile")
    r.put(("mesh", "format"), "netcdf" if generator == "netcdf" else "puml")
    for name, key in (("boundary_format", "pumlboundaryformat"), ("topology_format", "pumltopologyformat")):
        if r.given(block, key):
            r.put(("mesh", name), r.get(block, key).lower(), block, key)
    r.copy(("mesh", "displacement"), block, "displacement")
    rows = ("scalingmatrixx", "scalingmatrixy", "scalingmatrixz")
    if any(r.given(block, row) for row in rows):
        unit = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
        scaling = [r.get(block, row, default) for row, default in zip(rows, unit, strict=True)]
        r.put(("mesh", "scaling"), scaling, block, next(row for row in rows if r.given(block, row)))
    if r.given(block, "facemapfile"):
        _face_map(r, folders)


_FACE_KINDS = {
    "regular": "regular",
    "freeSurface": "free-surface",
    "dynamicRupture": "fault",
    "outflow": "absorbing",
    "freeSurfaceGravity": "gravity",
    "dirichlet": "dirichlet",
    "analytical": "analytic",
}
"""Boundary kinds by their names in a face map."""


def _face_map(r: Reader, folders: tuple[Path, ...]) -> None:
    block, key = "meshnml", "facemapfile"
    name = r.get(block, key)
    path = next((folder / name for folder in folders if is_file(folder / name)), None)
    if path is None:
        r.wrong(block, key, "a YAML file", "No such file")
        return
    try:
        table = YAML(typ="safe").load(path)
    except Exception as error:  # the parser raises many kinds
        r.problems.error(str(path), f"not valid YAML: {' '.join(str(error).split())}")
        return
    if not isinstance(table, dict) or not set(table) <= set(_FACE_KINDS):
        r.problems.error(str(path), "is not a face map", ", ".join(_FACE_KINDS))
        return
    boundaries: dict[str, list[object]] = {}
    for kind, tags in table.items():
        tags = tags if isinstance(tags, list) else [tags]
        boundaries[_FACE_KINDS[kind]] = tags
    r.put(("mesh", "boundaries"), boundaries, block, key)


_CUBE_SIDES = {1: "free-surface", 2: "gravity", 4: "dirichlet", 5: "absorbing", 6: "periodic", 7: "analytic"}


def _cubes(r: Reader) -> None:
    """Read SeisSol's box of cubes around the origin, five tetrahedra each; ``cubes`` is the edge length of the box."""
    block, where = "cubegenerator", ("mesh", "generate")
    counts = [r.get(block, f"cube{axis}", 2) for axis in "xyz"]
    lengths = [r.get(block, f"cubes{axis}", r.get(block, "cubes", 100.0)) for axis in "xyz"]
    shifts = [r.get(block, f"cubet{axis}", 0.0) for axis in "xyz"]
    sides: dict[str, str] = {}
    for axis, count in zip("xyz", counts, strict=True):
        if count < 2 or count % 2:
            r.problems.error(
                r.where(block, f"cube{axis}"), f"cube{axis} = {count}", "an even number of cubes, 2 or more"
            )
        tags = {end: r.get(block, f"cube{end}{axis}", 6) for end in ("min", "max")}
        for end, tag in tags.items():
            if tag not in _CUBE_SIDES:
                allowed = ", ".join(f"{n} {kind}" for n, kind in _CUBE_SIDES.items())
                r.problems.error(r.where(block, f"cube{end}{axis}"), f"cube{end}{axis} = {tag}", allowed)
        kinds = [_CUBE_SIDES.get(tags[end], "absorbing") for end in ("min", "max")]
        if kinds == ["periodic", "periodic"]:
            sides[axis] = "periodic"
        else:
            sides |= {f"{axis}{sign}": kind for sign, kind in zip("-+", kinds, strict=True)}
        if kinds.count("periodic") == 1:
            r.problems.error(r.where(block, f"cubemin{axis}"), f"one side along {axis} is periodic", "both or none")
    if min(lengths) <= 0:
        r.problems.error(r.where(block, "cubes"), f"a box of {lengths} m", "edges longer than zero")
    if r.problems.errors:
        sides, lengths, counts = {}, [1.0] * 3, [2] * 3  # placeholder; the case is rejected anyway
    r.put((*where, "shape"), "box", "meshnml", "meshgenerator")
    r.put((*where, "cells"), counts, block, "cubex")
    r.put((*where, "tetrahedra"), 5)
    r.put((*where, "lower"), [t - 0.5 * s for s, t in zip(lengths, shifts, strict=True)], block, "cubes")
    r.put((*where, "upper"), [t + 0.5 * s for s, t in zip(lengths, shifts, strict=True)], block, "cubes")
    r.put((*where, "boundaries"), sides, block, "cubeminx")


LAWS: dict[int, str] = {
    16: "linear-slip-weakening",
    2: "linear-slip-weakening",
    3: "rate-and-state-ageing",
    4: "rate-and-state-slip",
    6: "linear-slip-weakening",
    7: "severe-velocity-weakening",
    33: "imposed-yoffe",
    34: "imposed-gaussian",
    35: "imposed-delta",
    103: "strong-velocity-weakening",
    1058: "power-law-slip-weakening",
}
"""Friction law of each FL number."""

_NOT_BUILT = {
    101: "rate and state (FL 101)",
}
_SLIP_WEAKENING, _BIMATERIAL, _POWER_LAW = (2, 6, 16, 1058), 6, 1058
_RATE_AND_STATE, _IMPOSED, _YOFFE = (3, 4, 7, 103), (33, 34, 35), 33

_THERMAL = {
    "tp_thermalDiffusivity": ("tp_thermal_diffusivity", "thermal diffusivity [m^2/s]"),
    "tp_heatCapacity": ("tp_heat_capacity", "heat capacity by volume [Pa/K]"),
    "tp_undrainedTPResponse": ("tp_undrained_response", "growth of pressure with temperature [Pa/K]"),
    "tp_iniTemp": ("tp_initial_temperature", "temperature at the start [K]"),
    "tp_iniPressure": ("tp_initial_pressure", "pore pressure at the start, with the sign of stress [Pa]"),
}
_PRAKASH_CLIFTON = {
    "pc_vStar": ("pc_reference_rate", "reference slip rate V* [m/s]"),
    "pc_prakashLength": ("pc_length", "slip over which the strength adapts [m]"),
}
"""Keys of a modifier, all of which are required -> its constant, and a description."""

_RS_OPTIONS = {
    "RSMaxSlipRateUpdates": "rs_slip_rate_updates",
    "RSSlipRateTolerance": "rs_slip_rate_tolerance",
}


def load_deck(
    path: str | Path, overrides: Mapping[str, object] | None = None, partial: bool = False
) -> tuple[Case | None, Problems]:
    """Read a SeisSol ``parameters.par``.

    Input files are searched next to the deck, then in the working folder, as in SeisSol; outputs go below the working folder.

    Parameters
    ----------
    path : str or Path
        Deck.
    overrides : mapping, optional
        Command-line options that replace settings, see ``validate.OVERRIDES``.
    partial : bool
        If True, the valid settings of an invalid case are returned.

    Returns
    -------
    case : Case or None
        None if there are errors.
    problems : Problems
        Every problem with file:line.
    """
    path, problems = Path(path), Problems()
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        problems.error(str(path), f"cannot be read: {error.strerror}", advice=similar([path]))
        return None, problems
    reader = Reader(parse_deck(text, str(path), problems), problems)
    folders = default_folders(path)
    for part in (_material, read_initial, _sources, _discretization):
        part(reader)
    law = law_of(reader.get("equations", "MaterialFileName", ""), folders)
    if law is not None:
        reader.put(("law",), law, "equations", "MaterialFileName")
    read_mesh(reader, folders)
    read_gravity(reader)
    frictional = _fault(reader)
    _end(reader, frictional)
    read_outputs(reader, frictional, folders)
    if not (overrides or {}).get("order"):
        what = f"a deck does not state the order: 4 is used, {option('order')} chooses another"
        problems.warn(str(path), what)
    reader.data["title"] = f"SeisSol deck {path.absolute().parent.name}/{path.name}"
    reader.data["source_files"] = (path.absolute(),)
    case = build(reader.data, folders, reader.place, problems, overrides, reader.spell, partial)
    return case, problems


def _material(r: Reader) -> None:
    block = "equations"
    if r.given(block, "MaterialFileName"):
        r.put(("material", "easi"), r.get(block, "MaterialFileName"), block, "MaterialFileName")
    else:
        r.missing(block, "MaterialFileName", "an easi file with the material")
        r.data["material"] = {"constant": {"rho": 1.0}}  # avoids a second message on the missing file in validation
    r.copy(("numerics", "homogenise"), block, "UseCellHomogenizedMaterial")
    if r.get(block, "Plasticity"):
        _plasticity(r)
    if r.get(block, "ITMEnable"):
        r.report_unsupported(block, "ITMEnable", "the instantaneous time mirror", "0")
    _attenuation(r)
    _flux(r, "flux", "NumFlux")
    if r.given(block, "BoundaryFileName"):
        given = {"ghost": {"easi": r.get(block, "BoundaryFileName")}}
        r.put(("dirichlet",), [given], block, "BoundaryFileName")


def _attenuation(r: Reader) -> None:
    """Read attenuation, which only decks of the viscoelastic build contain.

    They give the frequency band; wave speeds refer to its centre.
    """
    block, keys = "equations", {"FreqCentral": "central frequency of the band [Hz]", "FreqRatio": "its ends' ratio"}
    given = [key for key in keys if r.given(block, key)]
    if not given:
        return
    for key, what in keys.items():
        if key not in given:
            r.missing(block, key, what)
        elif not (0.0 if key == "FreqCentral" else 1.0) < r.get(block, key) < inf:
            r.wrong(block, key, "above 0 Hz" if key == "FreqCentral" else "above 1")
            given.remove(key)
    if len(given) < 2:
        return
    centre, half = r.get(block, "FreqCentral"), r.get(block, "FreqRatio") ** 0.5
    r.put(("attenuation", "low"), centre / half, block, "FreqRatio")
    r.put(("attenuation", "high"), centre * half, block, "FreqRatio")
    r.put(("attenuation", "reference"), centre, block, "FreqCentral")
    if not r.given("discretization", "FixTimeStep"):
        r.put(("numerics", "largest_step"), 0.25 / (centre * half), block, "FreqCentral")


def _plasticity(r: Reader) -> None:
    """Read plasticity, at the points and with the plastic strain of SeisSol."""
    block, key = "equations", "PlasticityFileName"
    for entry in r.numbered(block, "plasticityfilename"):
        r.report_unsupported(block, entry.key, "fused simulations")
    key = key if r.given(block, key) else "MaterialFileName"
    if r.given(block, key):
        r.put(("plasticity", "parameters", "easi"), r.get(block, key), block, key)
    else:
        r.put(("plasticity", "parameters", "constant"), {"plastCo": 0.0})  # the missing material file has been reported
    r.put(("plasticity", "rheology"), "drucker-prager", block, "Plasticity")
    r.put(("plasticity", "points"), "lattice")
    r.put(("plasticity", "sampled"), "points" if r.get(block, "PlasticityPointwise", True) else "centre")
    r.put(("plasticity", "constants", "relaxation_time"), max(r.get(block, "Tv", 0.1), 0.0), block, "Tv")
    r.put(("plasticity", "constants", "seissol_strain"), 1.0, block, "Plasticity")
    groups = r.get(block, "PlasticityDisabledGroups", "").replace(",", " ").split()
    if not all(g.isdigit() for g in groups):
        r.wrong(block, "PlasticityDisabledGroups", "numbers of mesh groups, with commas between them")
    elif groups:
        r.put(("plasticity", "elastic"), [int(g) for g in groups], block, "PlasticityDisabledGroups")


def _flux(r: Reader, name: str, key: str) -> None:
    """Read a numerical flux, of all faces or of cells at faults; the default is Godunov's."""
    block, value = "equations", r.get("equations", key, "godunov").lower()
    if value not in ("godunov", "rusanov"):
        r.wrong(block, key, "godunov, rusanov")
    else:
        r.put(("numerics", name), value, block, key)


def _sources(r: Reader) -> None:
    block, kind = "sourcetype", r.get("sourcetype", "Type", 0)
    if kind == 0:
        return
    if kind not in (42, 50):
        r.report_unsupported(block, "Type", "this kind of source", "0, 42 (NRF), 50 (FSRM)")
    elif not r.given(block, "FileName"):
        r.missing(block, "FileName", "the source file")
    else:
        r.put(
            ("sources",), [{"kind": {42: "nrf", 50: "fsrm"}[kind], "file": r.get(block, "FileName")}], block, "FileName"
        )


def _discretization(r: Reader) -> None:
    block = "discretization"
    r.copy(("numerics", "cfl"), block, "CFL")
    r.copy(("numerics", "largest_step"), block, "FixTimeStep")
    r.copy(("numerics", "clustering", "rates"), block, "ClusteredLTS", [1])
    r.copy(("numerics", "clustering", "wiggle_minimum"), block, "LtsWiggleFactorMin")
    r.copy(("numerics", "clustering", "wiggle_step"), block, "LtsWiggleFactorStepsize")
    most = r.get(block, "LtsMaxNumberOfClusters", inf)
    if isfinite(most):
        r.put(("numerics", "clustering", "maximum"), int(most), block, "LtsMaxNumberOfClusters")
    r.put(("numerics", "source_window"), "end")
    r.put(("numerics", "source_spread"), "point")


def _end(r: Reader, frictional: bool) -> None:
    block = "abortcriteria"
    r.copy(("end_time",), block, "EndTime", 15.0)
    quiet = r.get(block, "terminatorMaxTimePostRupture", inf)
    limits = {
        "slip_rate_below": r.get(block, "terminatorSlipRateThreshold", inf),
        "moment_rate_below": r.get(block, "terminatorMomentRateThreshold", -inf),
    }
    requested = {name: value for name, value in limits.items() if isfinite(value)}
    if not isfinite(quiet) or not requested or not frictional:
        for key in ("terminatorMaxTimePostRupture", "terminatorSlipRateThreshold", "terminatorMomentRateThreshold"):
            if isfinite(r.get(block, key, inf)):
                r.warn(
                    block,
                    key,
                    "has no effect: stopping early needs a fault, terminatorMaxTimePostRupture and a threshold",
                )
        return
    r.put(("stop", "time_after_rupture"), quiet, block, "terminatorMaxTimePostRupture")
    for name, value in requested.items():
        key = "terminatorSlipRateThreshold" if name == "slip_rate_below" else "terminatorMomentRateThreshold"
        r.put(("stop", name), value, block, key)


def _fault(r: Reader) -> bool:
    """Read dynamic rupture and return True if faces have friction."""
    block = "dynamicrupture"
    for entry in r.numbered(block, "modelfilename"):
        r.report_unsupported(block, entry.key, "fused simulations")
    number = r.get(block, "FL", 0)
    if not r.get(block, "enabled", True) or not r.given(block, "ModelFileName"):
        return False
    if number == 0:
        what = "0 is a welded fault, so ModelFileName and the fault's outputs have no effect"
        r.problems.warn(r.where(block, "FL" if r.given(block, "FL") else "ModelFileName"), f"FL: {what}")
        return False
    if number not in LAWS:
        allowed = ", ".join(map(str, [0, *sorted(LAWS)]))
        if number in _NOT_BUILT:
            r.report_unsupported(block, "FL", _NOT_BUILT[number], allowed)
        else:
            r.wrong(block, "FL", allowed)
        return False
    r.put(("fault", "friction"), LAWS[number], block, "FL")
    r.put(("fault", "parameters", "easi"), r.get(block, "ModelFileName"), block, "ModelFileName")
    r.put(("fault", "points"), "conical")
    # SeisSol reads p in poroelastic media only.
    r.put(("fault", "pore_pressure"), r.data.get("law") == "poroelastic")
    r.put(("fault", "normal_traction"), "full")
    r.put(("fault", "weakening"), "full")
    r.put(("fault", "sliding"), "full")
    r.put(("fault", "pore_density"), "grains")
    _flux(r, "flux_near_faults", "NumFluxNearFault")
    _sides(r)
    _friction(r, number)
    _modifiers(r, number)
    if number not in _IMPOSED:
        _nucleation(r)
    return True


def _sides(r: Reader) -> None:
    block = "dynamicrupture"
    r.put(("fault", "reference"), [r.get(block, key, 0.0) for key in ("XRef", "YRef", "ZRef")])
    method = r.get(block, "refPointMethod", 0)
    if method not in (0, 1):
        r.wrong(block, "refPointMethod", "0 (point), 1 (direction)")
    else:
        r.put(("fault", "reference_method"), "direction" if method else "point", block, "refPointMethod")


def _friction(r: Reader, number: int) -> None:
    block = "dynamicrupture"
    kind = r.get(block, "SlipRateOutputType", 1)
    if kind not in (0, 1):
        r.wrong(block, "SlipRateOutputType", "0 (velocity jump), 1 (friction)")
    imposed = number in _IMPOSED  # as SeisSol forces type 0 there: no strength limits the traction
    r.put(
        ("fault", "slip_rate_output"), "velocity" if kind == 0 or imposed else "friction", block, "SlipRateOutputType"
    )
    r.copy(("fault", "damping"), block, "etaDamp")
    if isfinite(r.get(block, "etaDampEnd", inf)):
        r.copy(("fault", "damping_end"), block, "etaDampEnd")
    if number in _SLIP_WEAKENING:
        r.put(("fault", "forced_rupture_ramp"), max(r.get(block, "t_0", 0.0), 0.0), block, "t_0")
        r.copy(("fault", "healing_threshold"), block, "LSW_healingThreshold")
    if number in _RATE_AND_STATE:
        _rate_and_state(r, number)
    if number == _POWER_LAW:
        r.copy(("fault", "constants", "weakening_exponent"), block, "TpProxyExponent")
    if number == _YOFFE:
        r.put(("fault", "constants", "rate_at_end"), 1.0, block, "FL")  # as in SeisSol's sampling of the slip rate


def _modifiers(r: Reader, number: int) -> None:
    """Read the modifiers of friction.

    Prakash-Clifton regularisation is a friction law of its own in decks, thermal pressurisation a key.
    """
    block, used = "dynamicrupture", []
    if number == _BIMATERIAL:
        used.append("prakash-clifton")
        _all_needed(r, _PRAKASH_CLIFTON)
    if r.get(block, "thermalPress") and number in _RATE_AND_STATE:
        used.append("thermal-pressurisation")
        _all_needed(r, _THERMAL)
    elif r.get(block, "thermalPress"):
        laws = ", ".join(map(str, _RATE_AND_STATE))
        r.warn(
            block,
            "thermalPress",
            f"has no effect, as in SeisSol: thermal pressurisation needs FL = {laws}, not {number}",
        )
    if used:
        r.put(("fault", "modifiers"), used, block, "FL")
    _unread(r, number, used)


def _unread(r: Reader, number: int, used: list[str]) -> None:
    """Warn of keys of modifiers and laws that this deck does not use."""
    block, laws = "dynamicrupture", ", ".join(map(str, _RATE_AND_STATE))
    for needed, keys, idle in (
        (
            f"thermalPress = 1 and FL = {laws}",
            tuple(_THERMAL),
            "thermal-pressurisation" not in used and not r.get(block, "thermalPress"),
        ),
        (f"FL = {_BIMATERIAL}", tuple(_PRAKASH_CLIFTON), "prakash-clifton" not in used),
        (f"FL = {_POWER_LAW}", ("TpProxyExponent",), number != _POWER_LAW),
    ):
        found = [key for key in keys if r.given(block, key)]
        if idle and found:
            more = f", nor {', '.join(r.spelt(block, key) for key in found[1:])}" if found[1:] else ""
            r.warn(block, found[0], f"not read here{more}; that takes {needed}")


def _all_needed(r: Reader, keys: Mapping[str, tuple[str, str]]) -> None:
    block = "dynamicrupture"
    for key, (name, what) in keys.items():
        if not r.given(block, key):
            r.missing(block, key, what)
        r.copy(("fault", "constants", name), block, key)


def _rate_and_state(r: Reader, number: int) -> None:
    block = "dynamicrupture"
    needed = {
        "RS_f0": "reference friction",
        "RS_b": "evolution effect b",
        "RS_sr0": "reference slip rate [m/s]",
        "RS_iniSlipRate1": "initial slip rate [m/s]",
        "RS_iniSlipRate2": "initial slip rate [m/s]",
    }
    if number == 103:
        needed["RS_muW"] = "fully weakened friction"
    for key, what in needed.items():
        if (block, key.lower()) not in r.entries:
            r.missing(block, key, what)
    for key in ("RS_f0", "RS_b", "RS_sr0"):
        r.copy(("fault", "constants", key.lower()), block, key)
    initial = hypot(r.get(block, "RS_iniSlipRate1", 0.0), r.get(block, "RS_iniSlipRate2", 0.0))
    r.put(("fault", "constants", "rs_ini_slip_rate"), initial, block, "RS_iniSlipRate1")
    r.put(("fault", "constants", "rs_average"), 1.0, block, "FL")  # average with which SeisSol ages the state variable
    r.copy(("fault", "constants", "rs_muw"), block, "RS_muW", 0.0)  # for FL 3, 4 and 7 only for output DS
    for key, name in _RS_OPTIONS.items():
        r.copy(("fault", "constants", name), block, key)


def _nucleation(r: Reader) -> None:
    """Read the nucleation episodes t_0, s_0; t2_0, s2_0; ... The fault file supplies the stress of each."""
    block, count = "dynamicrupture", r.get("dynamicrupture", "NucleationCount", 1)
    if not 0 <= count <= 16:
        r.wrong(block, "NucleationCount", "0 to 16")
        return
    episodes = []
    for number in range(1, count + 1):
        suffix = str(number) if number > 1 else ""
        start, duration = r.get(block, f"s{suffix}_0", 0.0), r.get(block, f"t{suffix}_0", 0.0)
        stress = {"easi": r.get(block, "ModelFileName")}
        if start < 0:
            r.wrong(block, f"s{suffix}_0", ">= 0 s", "Add the stress applied before 0 s to the initial stress")
        episodes.append({"start": max(start, 0.0), "duration": max(duration, 0.0), "stress": stress, "number": number})
    if episodes:
        r.put(("fault", "nucleation"), episodes, block, "ModelFileName")
