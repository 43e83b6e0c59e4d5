"""Outputs requested by a SeisSol deck in &Output, &Elementwise and &Pickpoint."""

from __future__ import annotations

from math import isfinite
from pathlib import Path, PurePath

from faultwave.base.files.paths import is_file, similar
from faultwave.base.types import Settings
from faultwave.case.seissol.reader import Reader
from faultwave.case.seissol.syntax import boolean, unquoted, words
from faultwave.case.settings.outputs import MOST_DEGREE

STRAIN_NAMES = ("ep_xx", "ep_yy", "ep_zz", "ep_xy", "ep_yz", "ep_xz", "eta")
VOLUME_NAMES = ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz", "v1", "v2", "v3")
PORE_NAMES = ("p", "v1_f", "v2_f", "v3_f")
MASKED = {"poroelastic": (*VOLUME_NAMES, *PORE_NAMES), "acoustic": ("sigma", "v1", "v2", "v3")}
"""Quantities at each position of a volume mask, for laws that differ from VOLUME_NAMES."""
FAULT_NAMES: tuple[tuple[str, ...], ...] = (
    ("SRs", "SRd"),
    ("T_s", "T_d", "P_n"),
    ("u_n",),
    ("Mud", "StV"),
    ("Ts0", "Td0", "Pn0"),
    ("Sls", "Sld"),
    ("Vr",),
    ("ASl",),
    ("PSR",),
    ("RT",),
    ("DS",),
    ("P_f", "Tmp"),
)
"""Quantities at each position of a fault mask."""

_DEFAULT_MASK = [True] * 6 + [False] * 6
_NEVER = 1e100


def read_outputs(r: Reader, frictional: bool, folders: tuple[Path, ...] = ()) -> None:
    """Read all outputs; fault outputs only if the fault has friction. Files of points are searched in ``folders``."""
    _files(r)
    _volume(r)
    _receivers(r, folders)
    _check_count(r, "output", "nrecordpoints", "RFileName", folders)
    _surface(r)
    _energies(r)
    _warn_inactive_outputs(r)
    if frictional:
        kind = r.get("dynamicrupture", "OutputPointType", 0)
        if kind not in (0, 3, 4, 5):
            r.wrong("dynamicrupture", "OutputPointType", "0 none, 3 receivers, 4 whole fault, 5 both")
        if kind in (3, 5):
            _fault_receivers(r)
            _check_count(r, "pickpoint", "noutpoints", "PPFileName", folders)
        if kind in (4, 5):
            _fault(r)
        _unwritten(r, kind)
    if r.get("output", "Checkpoint", True) and r.get("output", "CheckpointInterval", 0.0) > 0:
        r.copy(("output", "checkpoint", "interval"), "output", "CheckpointInterval")


def _files(r: Reader) -> None:
    if not r.given("output", "OutputFile"):
        r.missing("output", "OutputFile", "folder and first part of every output's name")
    else:
        path = PurePath(r.get("output", "OutputFile"))
        r.put(("output", "folder"), str(path.parent), "output", "OutputFile")
        r.put(("output", "prefix"), path.name, "output", "OutputFile")
    backend = r.get("output", "xdmfWriterBackend")
    if backend is not None:
        if backend.lower() not in ("posix", "hdf5"):
            r.wrong("output", "xdmfWriterBackend", "posix, hdf5")
        r.put(("output", "xdmf"), True, "output", "xdmfWriterBackend")
    r.put(("output", "seissol_layout"), True)
    r.put(("output", "sync"), True)


def _interval(r: Reader, block: str, key: str, default: float) -> float | None:
    """Return an output interval [s], None if zero or negative.

    An infinite one still yields a first and a last output.
    """
    value = float(r.get(block, key, default))
    if value <= 0:
        return None
    return value if isfinite(value) and value < _NEVER else _NEVER


def _put(r: Reader, name: str, setting: Settings, block: str, keys: dict[str, str]) -> None:
    """Set the settings of one output, each with the key that it came from."""
    for field, value in setting.items():
        if value is not None:
            r.put(("output", name, field), value, block, keys.get(field, ""))


def _volume(r: Reader) -> None:
    block = "output"
    on = r.get(block, "WavefieldOutput", r.get(block, "Format", 10) == 6)
    interval = _interval(r, block, "TimeInterval", _NEVER)
    if not on or interval is None:
        return
    if not r.given(block, "iOutputMask"):
        r.problems.warn(r.where(block, "iOutputMask"), "'iOutputMask' is missing, all quantities are written")
    names = MASKED.get(r.data.get("law", ""), VOLUME_NAMES)
    chosen = r.get(block, "iOutputMask", [True] * len(names))
    for key, quantities in (("iOutputMask", names), ("iPlasticityMask", STRAIN_NAMES), ("IntegrationMask", names)):
        _warn_short_mask(r, block, key, quantities)
    fields = [name for name, requested in zip(names, chosen, strict=False) if requested]
    if r.get("equations", "Plasticity"):
        strains = r.get(block, "iPlasticityMask", [name == "eta" for name in STRAIN_NAMES])
        fields += [name for name, requested in zip(STRAIN_NAMES, strains, strict=True) if requested]
    integrated = r.get(block, "IntegrationMask", [False] * len(names))
    fields += [f"int-{name}" for name, requested in zip(names, integrated, strict=False) if requested]
    if not fields:
        r.warn(block, "iOutputMask", "requests no quantity, so the volume is not written")
        return
    region = r.get(block, "OutputRegionBounds")
    if region is not None and not any(region):
        region = None
    elif region is not None and not all(region):
        r.warn(block, "OutputRegionBounds", "SeisSol ignores bounds with a zero among them; here they are used")
    degree = _degree(r, block, "WavefieldVtkOrder")
    setting = {
        "interval": interval,
        "fields": fields,
        "refinement": _refinement(r, block, "refinement", 0) if degree is None else None,
        "degree": degree,
        "region": region,
        "groups": r.get(block, "OutputGroups"),
    }
    keys = {
        "interval": "TimeInterval",
        "fields": "iOutputMask",
        "refinement": "refinement",
        "degree": "WavefieldVtkOrder",
    }
    _put(r, "volume", setting, block, {**keys, "region": "OutputRegionBounds", "groups": "OutputGroups"})


def _warn_short_mask(r: Reader, block: str, key: str, names: tuple[str, ...]) -> None:
    """Warn of a mask with fewer numbers than there are quantities."""
    if r.given(block, key):
        count = len(words(r.entries[block, key.lower()].text))
        if count < len(names):
            left = ", ".join(names[count:])
            r.warn(block, key, f"{count} numbers for {len(names)} quantities: {left} are not written")


def _check_count(r: Reader, block: str, key: str, file: str, folders: tuple[Path, ...]) -> None:
    """Warn of a declared number of points, which has no effect, that exceeds the number in their file."""
    entry = r.deck.blocks.get(block, {}).get(key)
    path = next((folder / r.get(block, file) for folder in folders if is_file(folder / r.get(block, file, ""))), None)
    if entry is None or path is None or not unquoted(entry.text).strip().isdigit():
        return
    lines = path.read_text(errors="replace").splitlines()
    count, requested = sum(bool(line.split("#")[0].strip()) for line in lines), int(unquoted(entry.text))
    if requested > count:
        what = f"{entry.name} = {requested}, but {path} has {count} points: all {count} are taken"
        r.problems.warn(r.deck.where(entry.line), what, f"at most {count}")


def _refinement(r: Reader, block: str, key: str, default: int) -> int:
    """Return the refinement level, at most three, as each level quadruples the data."""
    value = int(r.get(block, key, default))
    if value > 3:
        r.warn(block, key, f"{value} is more than 3; 3 is used")
    return min(value, 3)


def _degree(r: Reader, block: str, key: str) -> int | None:
    """Return the degree of high-order output cells if the deck requests them, which replaces refinement, else None."""
    order = int(r.get(block, key, -1))
    if order < 1:
        return None
    if order > MOST_DEGREE:
        r.wrong(block, key, f"1 to {MOST_DEGREE}, or -1 or 0 for cells of one value")
        return None
    return order


_SWITCHES = {
    "WavefieldOutput": ("TimeInterval", "IntegrationMask", "OutputRegionBounds", "OutputGroups", "WavefieldVtkOrder"),
    "SurfaceOutput": ("SurfaceOutputInterval", "SurfaceOutputRefinement", "SurfaceVtkOrder"),
    "EnergyOutput": ("EnergyOutputInterval", "FaultEnergiesFromAcrossFaultVelocities"),
}
"""Switches that are off unless a deck sets them, with the keys that depend on them."""


def _warn_inactive_outputs(r: Reader) -> None:
    """Warn of keys of an output that the deck neither switches on nor off, since it is off by default."""
    for switch, keys in _SWITCHES.items():
        if r.given("output", switch) or (switch == "WavefieldOutput" and r.given("output", "Format")):
            continue
        found = [r.spelt("output", key) for key in keys if r.given("output", key)]
        if found:
            has = "have" if len(found) > 1 else "has"
            what = f"{', '.join(found)} {has} no effect: {switch} is not set, and off by default, as in SeisSol"
            r.problems.warn(
                r.where("output", found[0]), what, advice=f"Give {switch} = 1, or 0 to confirm that this is intended."
            )


def _unwritten(r: Reader, kind: int) -> None:
    """Warn of fault outputs that a deck describes and ``OutputPointType`` does not request."""
    names = {"elementwise": ("the whole fault", (4, 5)), "pickpoint": ("receivers on the fault", (3, 5))}
    for block, (what, kinds) in names.items():
        if r.deck.blocks.get(block) and kind not in kinds:
            says = f"{r.spelt('dynamicrupture', 'OutputPointType')} = {kind}"
            says += "" if r.given("dynamicrupture", "OutputPointType") else " (not set)"
            text = f"'&{block}' has no effect: {says} selects no output of {what}, as in SeisSol"
            r.problems.warn(r.deck.where(r.deck.lines[block]), text, f"{kinds[0]}, or 5 for both")
    flag = r.deck.blocks.get("output", {}).get("faultoutputflag")
    if flag is not None and kind == 0 and _is_on(flag.text):
        text = f"{flag.name} = {flag.text}: has no effect, as in SeisSol; no output of the fault is written"
        advice = "OutputPointType of &DynamicRupture selects it: 3 receivers, 4 the whole fault, 5 both."
        r.problems.warn(r.deck.where(flag.line), text, advice=advice)


def _is_on(text: str) -> bool:
    """Return True for a flag that is on, or that is no flag."""
    try:
        return boolean(text)
    except ValueError:
        return True


def _receivers(r: Reader, folders: tuple[Path, ...]) -> None:
    block = "output"
    interval = _interval(r, block, "pickdt", 0.005)
    if not r.get(block, "ReceiverOutput", True) or interval is None:
        return
    if r.get(block, "ReceiverOutputInterval", 1.0) <= 0:
        r.warn(block, "ReceiverOutputInterval", "switches receivers off, as in SeisSol; ReceiverOutput = 0 is clearer")
        return
    if not r.given(block, "RFileName"):
        what = "'RFileName' is missing, no receivers are written; SeisSol requires ReceiverOutput = 0 then"
        r.problems.warn(r.where(block, "RFileName"), what)
        return
    places = [folder / r.get(block, "RFileName") for folder in folders]
    if folders and not any(is_file(place) for place in places):
        looked = " nor ".join(dict.fromkeys(map(str, places)))
        what = f"no such file: {looked}; no receivers are written, as SeisSol runs without"
        r.problems.warn(r.where(block, "RFileName"), f"{r.spelt(block, 'RFileName')}: {what}", advice=similar(places))
        return
    setting = {
        "file": r.get(block, "RFileName"),
        "interval": interval,
        "outside": "skip",
        "rotation": r.get(block, "ReceiverComputeRotation"),
        "strain_rate": r.get(block, "ReceiverComputeStrainRate"),
    }
    keys = {"file": "RFileName", "interval": "pickdt", "rotation": "ReceiverComputeRotation"}
    _put(r, "receivers", setting, block, {**keys, "strain_rate": "ReceiverComputeStrainRate"})


def _surface(r: Reader) -> None:
    interval = _interval(r, "output", "SurfaceOutputInterval", _NEVER)
    if not r.get("output", "SurfaceOutput") or interval is None:
        return
    degree = _degree(r, "output", "SurfaceVtkOrder")
    levels = _refinement(r, "output", "SurfaceOutputRefinement", 0) if degree is None else None
    setting = {"interval": interval, "refinement": levels, "degree": degree}
    keys = {"interval": "SurfaceOutputInterval", "refinement": "SurfaceOutputRefinement", "degree": "SurfaceVtkOrder"}
    _put(r, "surface", setting, "output", keys)


def _energies(r: Reader) -> None:
    block, key = "output", "FaultEnergiesFromAcrossFaultVelocities"
    interval = _interval(r, block, "EnergyOutputInterval", _NEVER)
    if not r.get(block, "EnergyOutput") or interval is None:
        return
    setting = {
        "interval": interval,
        "slip_from_velocity": r.get(block, key, False),
        "plain_mean": True,
        "isotropic": True,
    }
    _put(r, "energies", setting, block, {"interval": "EnergyOutputInterval", "slip_from_velocity": key})


def _fault_fields(r: Reader, block: str) -> list[str]:
    chosen = r.get(block, "OutputMask", _DEFAULT_MASK)
    return [name for names, requested in zip(FAULT_NAMES, chosen, strict=True) if requested for name in names]


def _fault_receivers(r: Reader) -> None:
    block, fields = "pickpoint", _fault_fields(r, "pickpoint")
    if not r.given(block, "PPFileName"):
        r.missing(block, "PPFileName", "the list of points, because OutputPointType selects fault receivers")
        return
    if not fields:
        r.warn(block, "OutputMask", "selects no quantity, so no fault receivers are written")
        return
    setting = {
        "file": r.get(block, "PPFileName"),
        "every": r.get(block, "printtimeinterval"),
        "fields": fields,
        "position": "nearest",
    }
    _put(
        r,
        "fault_receivers",
        setting,
        block,
        {"file": "PPFileName", "every": "printtimeinterval", "fields": "OutputMask"},
    )


def _fault(r: Reader) -> None:
    block, fields = "elementwise", _fault_fields(r, "elementwise")
    interval = _interval(r, block, "printtimeinterval_sec", 1.0)
    if not fields:
        r.warn(block, "OutputMask", "requests no quantity, so the fault is not written")
    if interval is None or not fields:
        return
    strategy = r.get(block, "refinement_strategy", 3)
    if strategy not in (1, 2, 3):
        r.wrong(block, "refinement_strategy", "1 (three triangles), 2 (four triangles), 3 (none)")
    degree = _degree(r, block, "vtkorder")
    refined = strategy != 3 and degree is None
    setting = {
        "interval": interval,
        "fields": fields,
        "refinement": _refinement(r, block, "refinement", 2) if refined else 0,
        "split": "three" if refined and strategy == 1 else None,
        "degree": degree,
    }
    keys = {
        "interval": "printtimeinterval_sec",
        "fields": "OutputMask",
        "refinement": "refinement",
        "degree": "vtkorder",
    }
    _put(r, "fault", setting, block, {**keys, "split": "refinement_strategy"})
