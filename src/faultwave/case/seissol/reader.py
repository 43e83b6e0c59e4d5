"""Typed access to the keys of a SeisSol deck (spelling, type and use), and the settings built from them with their origins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from faultwave.base.errors import Problems, suggest
from faultwave.base.log import get_logger
from faultwave.base.types import Settings
from faultwave.case.seissol.syntax import Deck, Entry, boolean, integer, integers, mask, real, unquoted, vector
from faultwave.case.validate import Location, dotted

Use = Literal["used", "quiet", "obsolete"]


@dataclass(frozen=True)
class Key:
    """Declaration of a key of SeisSol's parameter file.

    Attributes
    ----------
    name : str
        Spelling.
    kind : str
        Type: I(nteger), R(eal), B(oolean), S(tring), P(ath), M(ask), V(ector) or L(ist of integers); a number after M and V is the length.
    use : {'used', 'quiet', 'obsolete'}
        'used': has a meaning here. 'quiet': cannot change the solution, or is read only together with another key. 'obsolete': has no
        meaning in current SeisSol either.
    """

    name: str
    kind: str
    use: Use = "used"


_USED = """
equations: MaterialFileName P, BoundaryFileName P, Plasticity B, UseCellHomogenizedMaterial B, FreqCentral R,
  FreqRatio R, GravitationalAcceleration R, NumFlux S, NumFluxNearFault S, ITMEnable B, Tv R, PlasticityFileName P,
  PlasticityPointwise B, PlasticityDisabledGroups S
inicondition: cICType S, filename P, hastime B, avoidic B, origin V3, kVec V3, ampField S, magnitude R, width R
dynamicrupture: enabled B, FL I, ModelFileName P, XRef R, YRef R, ZRef R, refPointMethod I, OutputPointType I,
  SlipRateOutputType I, NucleationCount I, RS_f0 R, RS_b R, RS_sr0 R, RS_iniSlipRate1 R, RS_iniSlipRate2 R, RS_muW R,
  RSMaxSlipRateUpdates I, RSSlipRateTolerance R, thermalPress B,
  LSW_healingThreshold R, etaDamp R, etaDampEnd R, tp_thermalDiffusivity R, tp_heatCapacity R, tp_undrainedTPResponse R,
  tp_iniTemp R, tp_iniPressure R, pc_vStar R, pc_prakashLength R, TpProxyExponent R
elementwise: printtimeinterval_sec R, OutputMask M12, refinement_strategy I, refinement I, vtkorder I
pickpoint: printtimeinterval I, OutputMask M12, PPFileName P
sourcetype: Type I, FileName P
meshnml: MeshFile P, meshgenerator S, pumlboundaryformat S, pumltopologyformat S, displacement V3, scalingmatrixx V3,
  scalingmatrixy V3, scalingmatrixz V3, facemapfile P
cubegenerator: cubex I, cubey I, cubez I, cubeminx I, cubemaxx I, cubeminy I, cubemaxy I, cubeminz I, cubemaxz I,
  cubes R, cubesx R, cubesy R, cubesz R, cubetx R, cubety R, cubetz R
discretization: CFL R, FixTimeStep R, ClusteredLTS L, LtsWiggleFactorMin R, LtsWiggleFactorStepsize R,
  LtsMaxNumberOfClusters R
output: OutputFile S, Format I, WavefieldOutput B, TimeInterval R, iOutputMask M13, iPlasticityMask M7, IntegrationMask M13, refinement I,
  OutputRegionBounds V6, OutputGroups L, WavefieldVtkOrder I, xdmfWriterBackend S, ReceiverOutput B, ReceiverOutputInterval R, RFileName P,
  pickdt R, ReceiverComputeRotation B, ReceiverComputeStrainRate B, SurfaceOutput B, SurfaceOutputInterval R,
  SurfaceOutputRefinement I, SurfaceVtkOrder I, EnergyOutput B, EnergyOutputInterval R,
  FaultEnergiesFromAcrossFaultVelocities B, Checkpoint B, CheckpointInterval R
abortcriteria: EndTime R, terminatorMaxTimePostRupture R, terminatorSlipRateThreshold R, terminatorMomentRateThreshold R
"""

_QUIET = """
equations: ITMStartingTime R, ITMTime R, ITMVelocityScalingFactor R, ITMReflectionType I
inicondition: k R
dynamicrupture: RSStateUpdates I, RSStateTolerance R
pickpoint: outputinterval R, aggregateperrank B, receivercollectiveio B
meshnml: partitioninglib S, showedgecutstatistics B
discretization: LtsWiggleFactorEnforceMaximumDifference B, LtsAutoMergeClusters B,
  LtsAllowedRelativePerformanceLossAutoMerge R, LtsAutoMergeCostBaseline S, LtsWeightTypeId I, LtsClusteringSearch S,
  LtsCostUpdate R, LtsCostLaunch R, LtsCostFill R, LtsMaxRate I, vertexWeightElement I, vertexWeightDynamicRupture I,
  vertexWeightFreeSurfaceWithGravity I
output: ReceiverFormat S, ReceiverCollectiveIO B, EnergyTerminalOutput B,
  EnergyTerminalPrecision I, ComputeVolumeEnergiesEveryOutput I, LoopStatisticsNetcdfOutput B
"""

_OBSOLETE = """
equations: Anisotropy S, Adjoint S, adjfilename S
inicondition: IniConditionFile S
dynamicrupture: RF_output_on S, backgroundtype S, GPwise S, magnitude_output_on S, energy_rate_output_on S,
  energy_rate_printtimeinterval S
elementwise: printIntervalCriterion S
pickpoint: printIntervalCriterion S, nOutpoints S, maxPickStore S
sourcetype: rtype S, nDirac S, nPulseSource S, nRicker S
meshnml: periodic S, periodic_direction S
discretization: DGMethod S, CKMethod S, FluxMethod S, IterationCriterion S, nPoly S, nPolyRec S, Material S, Order S,
  LimiterSecurityFactor S, DGFineOut1D S, nPolyMap S
output: printIntervalCriterion S, pickDtType S, FaultOutputFlag S, nRecordPoints S, rotation S, interval S,
  ioutputmaskmaterial S, checkpointfile S, checkpointbackend S
"""

OBSOLETE_BLOCKS = frozenset(
    {
        "boundaries", "spongelayer", "sponges", "analysis", "analysisfields", "debugging", "postprocessing", "rffile",
        "inflowbound", "inflowboundpwfile", "inflowbounduin", "source110", "source15", "source1618", "source17", "source19",
    }
)  # fmt: skip

ALIASES: dict[tuple[str, str], tuple[str, str]] = {
    ("dynamicrupture", "v_star"): ("dynamicrupture", "pc_vstar"),
    ("dynamicrupture", "rsnewtontolerance"): ("dynamicrupture", "rsslipratetolerance"),
    ("dynamicrupture", "l"): ("dynamicrupture", "pc_prakashlength"),
    ("dynamicrupture", "mu_w"): ("dynamicrupture", "rs_muw"),
    ("dynamicrupture", "alpha_th"): ("dynamicrupture", "tp_thermaldiffusivity"),
    ("dynamicrupture", "rho_c"): ("dynamicrupture", "tp_heatcapacity"),
    ("dynamicrupture", "tp_lambda"): ("dynamicrupture", "tp_undrainedtpresponse"),
    ("dynamicrupture", "initemp"): ("dynamicrupture", "tp_initemp"),
    ("dynamicrupture", "inipressure"): ("dynamicrupture", "tp_inipressure"),
    ("dynamicrupture", "etahack"): ("dynamicrupture", "etadamp"),
    ("dynamicrupture", "etastop"): ("dynamicrupture", "etadampend"),
    ("output", "etahack"): ("dynamicrupture", "etadamp"),
    ("output", "etastop"): ("dynamicrupture", "etadampend"),
    ("output", "receivercomputestrain"): ("output", "receivercomputestrainrate"),
}
"""Older spellings: (block, key) -> current (block, key)."""

_NUMBERED: tuple[tuple[str, re.Pattern[str], Key], ...] = (
    ("dynamicrupture", re.compile(r"[ts]\d*_0"), Key("t_0", "R")),
    ("dynamicrupture", re.compile(r"modelfilename\d+"), Key("ModelFileName0", "P")),
    ("equations", re.compile(r"plasticityfilename\d+"), Key("PlasticityFileName0", "P", "quiet")),
)


def _table(text: str, use: Use) -> dict[str, dict[str, Key]]:
    table: dict[str, dict[str, Key]] = {}
    for block, body in re.findall(r"^(\w+):((?:.|\n(?=  ))*)", text, re.MULTILINE):
        pairs = [item.split() for item in body.replace("\n", " ").split(",")]
        table[block] = {name.lower(): Key(name, kind, use) for name, kind in pairs}
    return table


def _merged() -> dict[str, dict[str, Key]]:
    keys: dict[str, dict[str, Key]] = {}
    tables: tuple[tuple[str, Use], ...] = ((_USED, "used"), (_QUIET, "quiet"), (_OBSOLETE, "obsolete"))
    for text, use in tables:
        for block, entries in _table(text, use).items():
            keys.setdefault(block, {}).update(entries)
    return keys


KEYS: dict[str, dict[str, Key]] = _merged()
"""Declared keys: block -> lower-case key -> Key."""


def find_key(block: str, key: str) -> Key | None:
    """Return the declaration of a key, None if it is unknown.

    Block and key are in lower case; numbered keys and older names are included.
    """
    target = ALIASES.get((block, key), (block, key))
    known = KEYS.get(target[0], {}).get(target[1])
    if known is not None:
        return known
    return next((spec for home, pattern, spec in _NUMBERED if home == block and pattern.fullmatch(key)), None)


def key_names(block: str) -> list[str]:
    """Return the spellings of the keys of a block, for suggestions."""
    return [key.name for key in KEYS.get(block, {}).values() if key.use != "obsolete"]


_log = get_logger(__name__)

_READERS: dict[str, Callable[[str], object]] = {
    "I": integer,
    "R": real,
    "B": boolean,
    "S": lambda text: unquoted(text).strip(),
    "P": lambda text: unquoted(text).strip(),
    "L": integers,
}


def _convert(kind: str, text: str) -> object:
    if kind[0] == "M":
        return mask(text, int(kind[1:]))
    if kind[0] == "V":
        return vector(text, int(kind[1:]))
    return _READERS[kind](text)


class Reader:
    """Reader of a deck's keys by their current names.

    Attributes
    ----------
    deck : Deck
        Parsed deck.
    problems : Problems
        Collects problems.
    data : dict
        Settings built so far.
    origins : dict of Location to Entry
        Key that each setting came from.
    entries : dict of (str, str) to Entry
        Entries by block and lower-case key.
    """

    def __init__(self, deck: Deck, problems: Problems):
        self.deck, self.problems = deck, problems
        self.data: Settings = {}
        self.origins: dict[Location, Entry] = {}
        self.entries: dict[tuple[str, str], Entry] = {}
        self._values: dict[tuple[str, str], object] = {}
        for block, entries in deck.blocks.items():
            self._block(block, entries)

    def _block(self, block: str, entries: dict[str, Entry]) -> None:
        if block in OBSOLETE_BLOCKS:
            _log.info("%s: block '&%s' has no effect", self.deck.where(self.deck.lines[block]), block)
            return
        if block not in KEYS:
            if entries:  # an empty block has no effect
                what = f"unknown block '&{block}' has no effect"
                self.problems.warn(self.deck.where(self.deck.lines[block]), what, "", suggest(block, KEYS))
            return
        for entry in entries.values():
            self._entry(entry)

    def _entry(self, entry: Entry) -> None:
        place, key = self.deck.where(entry.line), find_key(entry.block, entry.key)
        if key is None:
            advice = suggest(entry.name, key_names(entry.block))
            self.problems.warn(place, f"unknown key '{entry.name}' in '&{entry.block}' has no effect", "", advice)
            return
        if key.use == "obsolete":
            _log.info("%s: '%s' has no effect", place, entry.name)
            return
        try:
            value = _convert(key.kind, entry.text)
        except ValueError as error:
            severity = self.problems.error if key.use == "used" else self.problems.warn
            severity(place, f"{entry.name} = {entry.text}: {error}")
            return
        name = ALIASES.get((entry.block, entry.key), (entry.block, entry.key))
        if name in self.entries and name == (entry.block, entry.key) or name not in self.entries:
            older = self.entries.get(name)
            self.entries[name], self._values[name] = entry, value
        else:
            older = entry
        if older is not None:
            newer = self.entries[name].name
            self.problems.warn(self.deck.where(older.line), f"'{older.name}' is an older name of '{newer}', which wins")

    def given(self, block: str, key: str) -> bool:
        """Return True if the key has a readable value; an empty text counts as absent."""
        return self._values.get((block, key.lower()), "") != ""

    def get(self, block: str, key: str, default: object = None) -> Any:
        """Return the value of a key, or the default."""
        return self._values[block, key.lower()] if self.given(block, key) else default

    def numbered(self, block: str, prefix: str) -> Iterator[Entry]:
        """Yield the entries whose key is ``prefix`` followed by digits."""
        for (home, key), entry in self.entries.items():
            if home == block and key.startswith(prefix) and key[len(prefix) :].isdigit():
                yield entry

    def where(self, block: str, key: str) -> str:
        """Return file:line of a key, of its block if the key is absent, or the file."""
        entry = self.entries.get((block, key.lower()))
        if entry is not None:
            return self.deck.where(entry.line)
        return self.deck.where(self.deck.lines[block]) if block in self.deck.lines else self.deck.name

    def spelt(self, block: str, key: str) -> str:
        """Return the key as the user wrote it."""
        entry = self.entries.get((block, key.lower()))
        return entry.name if entry is not None else key

    def missing(self, block: str, key: str, what: str) -> None:
        """Report a missing key as an error; ``what`` describes its value."""
        self.problems.error(self.where(block, key), f"'{key}' is missing in '&{block}': {what}")

    def wrong(self, block: str, key: str, allowed: str, advice: str = "") -> None:
        """Report an invalid value as an error, with the allowed values."""
        given = f"{self.spelt(block, key)} = {self.entries[block, key.lower()].text}"
        self.problems.error(self.where(block, key), given, allowed, advice)

    def warn(self, block: str, key: str, what: str) -> None:
        """Report a warning about a key."""
        self.problems.warn(self.where(block, key), f"{self.spelt(block, key)}: {what}")

    def report_unsupported(self, block: str, key: str, feature: str, allowed: str = "", advice: str = "") -> None:
        """Report an error for an unsupported feature that would change the result."""
        given = self.entries[block, key.lower()]
        what = f"{given.name} = {given.text}: {feature} is not supported yet"
        self.problems.error(self.where(block, key), what, allowed, advice)

    def put(self, location: Location, value: object, block: str = "", key: str = "") -> None:
        """Set a setting; block and key state its origin."""
        group = self.data
        for part in location[:-1]:
            group = group.setdefault(str(part), {})
        group[str(location[-1])] = value
        entry = self.entries.get((block, key.lower()))
        if entry is not None:
            self.origins[location] = entry

    def copy(self, location: Location, block: str, key: str, default: object = None) -> None:
        """Set a setting to the value of a key, or to the default unless that is None."""
        value = self.get(block, key, default)
        if value is not None:
            self.put(location, value, block, key)

    def origin(self, location: Location) -> Entry | None:
        """Return the entry that the innermost known part of ``location`` came from, else the first one below it."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.origins:
                return self.origins[location[:end]]
        below = (entry for place, entry in self.origins.items() if place[: len(location)] == location)
        return next(below, None)

    def place(self, location: Location) -> str:
        """Return file:line of the key that a setting came from, or the file."""
        entry = self.origin(location)
        return self.deck.where(entry.line) if entry is not None else self.deck.name

    def spell(self, location: Location) -> str:
        """Return the key that a setting came from, or all keys of a group of settings."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.origins:
                return self.origins[location[:end]].name
        below = [entry.name for place, entry in self.origins.items() if place[: len(location)] == location]
        return ", ".join(dict.fromkeys(below)) or dotted(location)


def default_folders(path: Path) -> tuple[Path, Path]:
    """Return the folders in which SeisSol searches a deck's files: the deck's own, then the working folder."""
    return path.absolute().parent, Path.cwd()
