"""Keys of SeisSol's parameter file: spelling, type and use in Faultwave."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

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


def find(block: str, key: str) -> Key | None:
    """Return the declaration of a key, None if it is unknown.

    Block and key are in lower case; numbered keys and older names are included.
    """
    target = ALIASES.get((block, key), (block, key))
    known = KEYS.get(target[0], {}).get(target[1])
    if known is not None:
        return known
    return next((spec for home, pattern, spec in _NUMBERED if home == block and pattern.fullmatch(key)), None)


def names(block: str) -> list[str]:
    """Return the spellings of the keys of a block, for suggestions."""
    return [key.name for key in KEYS.get(block, {}).values() if key.use != "obsolete"]
