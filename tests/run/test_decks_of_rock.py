"""Decks of every kind of rock, with keys and files as users of SeisSol write them: nothing is refused, no warning is wrong, and what
they leave has SeisSol's names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.domain.tets import write_puml
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.output.formats.csv_tables import read_energies
from faultwave.output.formats.seissol_dat import read_dat
from faultwave.run.planned import check

DECK = """&equations
MaterialFileName = 'material.yaml'
{equations}
/

&IniCondition
{start}
/

&Boundaries
BC_fs = 1
/

&DynamicRupture
{rupture}
/

&Elementwise
printIntervalCriterion = 2
printtimeinterval_sec = 0.05
OutputMask = 1 1 1 1 1 1 1 1 1 1 1 1
refinement_strategy = 1
refinement = 1
/

&Pickpoint
printtimeinterval = 1
OutputMask = 1 1 1 1 1 1 1 1 1 1 1 1
nOutpoints = 1
PPFileName = 'faultreceivers.dat'
/

&SourceType
{source}
/

&MeshNml
MeshFile = 'mesh.h5'
meshgenerator = 'PUML'
/

&Discretization
CFL = 0.5
ClusteredLTS = 2
LtsWiggleFactorMin = 0.51
LtsWiggleFactorStepsize = 0.01
LtsAutoMergeClusters = 1
LtsWeightTypeId = 1
/

&Output
FaultOutputFlag = 1
OutputFile = 'output/tpv'
Format = 6
iOutputMask = {mask}
iPlasticityMask = 1 1 1 1 1 1 1
TimeInterval = 0.05
refinement = 1
ReceiverComputeRotation = 1
ReceiverComputeStrain = 1
RFileName = 'receivers.dat'
pickdt = 0.01
pickDtType = 1
SurfaceOutput = {surface}
SurfaceOutputInterval = 0.05
EnergyOutput = 1
EnergyTerminalOutput = 1
EnergyOutputInterval = 0.05
FaultEnergiesFromAcrossFaultVelocities = 1
Checkpoint = 0
xdmfWriterBackend = 'posix'
/

&AbortCriteria
EndTime = {end}
/

&Analysis
/
"""
FAULT = """FL = 16
ModelFileName = 'fault.yaml'
YRef = -1.0e5
refPointMethod = 0
GPwise = 1
OutputPointType = 5
SlipRateOutputType = 0"""
ON_FAULT = """!Switch
[mu_s, mu_d, d_c, cohesion]: !ConstantMap
  map: {mu_s: 0.677, mu_d: 0.525, d_c: 0.4, cohesion: 0.0}
[s_xx, s_yy, s_zz, s_xy, s_yz, s_xz]: !FunctionMap
  map:
    s_xx: return 0.0;
    s_yy: return -120000000.0;
    s_zz: return 0.0;
    s_xy: |
      if (abs(x) <= 1000.0) {
        return 81600000.0;
      }
      return 70000000.0;
    s_yz: return 0.0;
    s_xz: return 0.0;
[nuc_xx, nuc_yy, nuc_zz, nuc_xy, nuc_yz, nuc_xz]: !ConstantMap
  map: {nuc_xx: 0, nuc_yy: 0, nuc_zz: 0, nuc_xy: 0, nuc_yz: 0, nuc_xz: 0}
"""
IN_PORES = ON_FAULT + "[p, nuc_p]: !ConstantMap\n  map: {p: 0.0, nuc_p: 0.0}\n"
VISCOELASTIC = """!Switch
[rho, mu, lambda]: !ConstantMap
  map: {rho: 2670, mu: 3.203812032e10, lambda: 3.204375936e10}
[Qp, Qs]: !ConstantMap
  map: {Qp: 40, Qs: 120}
"""
LAYERS = """!LayeredModel
map: !AffineMap
  matrix: {z: [0.0, 0.0, 1.0]}
  translation: {z: 0}
interpolation: lower
parameters: [rho, mu, lambda, Qp, Qs]
nodes:
   0.0:     [2600, 1.04e10, 2.08e10, 120, 40]
   -2000.0: [2700, 3.2398e10, 3.2403e10, 155.9, 69.3]
   -.inf:   [2700, 3.2398e10, 3.2403e10, 155.9, 69.3]
"""
STIFF = {"rho": 2700, "c11": 97.2e9, "c22": 97.2e9, "c33": 70e9, "c12": 10e9, "c13": 30e9, "c23": 30e9, "c44": 32.4e9,
         "c55": 32.4e9, "c66": 43.6e9}  # fmt: skip
TENSOR = [f"c{i}{j}" for i in range(1, 7) for j in range(i, 7)]
ANISOTROPIC = "!ConstantMap\nmap:\n" + "".join(f"  {n}: {STIFF.get(n, 0)}\n" for n in ("rho", *TENSOR))
TENSOR_BY_LUA = f"""!LuaMap
returns: [rho, {", ".join(TENSOR)}]
function: |
  function f(x)
    local r = {{rho = 2700.0}}
    for i = 1, 6 do for j = i, 6 do r['c' .. i .. j] = 0.0 end end
    for i = 1, 3 do r['c' .. i .. i] = 97.2e9 r['c' .. i + 3 .. i + 3] = 32.4e9 end
    r.c12 = 32.4e9 r.c13 = 32.4e9 r.c23 = 32.4e9
    return r
  end
"""
POROELASTIC = """!Any
components:
  - !AxisAlignedCuboidalDomainFilter
    limits: {x: [-.inf, .inf], y: [0, .inf], z: [-.inf, .inf]}
    components: !ConstantMap
      map: {rho: 2080, lambda: 5.28e9, mu: 6.4e9, bulk_solid: 20e9, bulk_fluid: 2.5e9, rho_fluid: 1040, viscosity: 1e-3,
            porosity: 0.4, permeability: 600e-15, tortuosity: 2}
  - !ConstantMap
    map: {rho: 2080, lambda: 5.28e9, mu: 6.4e9, bulk_solid: 20e9, bulk_fluid: 2.5e9, rho_fluid: 1040, viscosity: 0,
          porosity: 0.4, permeability: 600e-15, tortuosity: 2}
"""
PLASTIC = """!Switch
[rho, mu, lambda, plastCo]: !ConstantMap
  map: {rho: 2700, mu: 2.9403e+010, lambda: 2.941e+010, plastCo: 5.0e+06}
[bulkFriction]: !FunctionMap
  map: {bulkFriction: 'return 0.85 - 0.00001 * z;'}
[s_xx, s_yy, s_zz, s_xy, s_yz, s_xz]: !ConstantMap
  map: {s_xx: -100e6, s_yy: -120e6, s_zz: -110e6, s_xy: 30e6, s_yz: 0, s_xz: 0}
"""
SEA = """!Any
components:
  - !AxisAlignedCuboidalDomainFilter
    limits: {x: [-.inf, .inf], y: [-.inf, .inf], z: [-2000, .inf]}
    components: !ConstantMap
      map: {rho: 1000, mu: 0, lambda: 2.25e9}
  - !ConstantMap
    map: {rho: 2670, mu: 3.2e10, lambda: 3.2e10}
"""
HUMP = "return -1000.0 * exp(-(x*x+y*y+(z+1000.0)*(z+1000.0))/250000.0);"
SEA_STARTS = "!FunctionMap\nmap:\n" + "".join(
    f"  {n}: {HUMP if n in ('s_xx', 's_yy', 's_zz') else 'return 0.0;'}\n"
    for n in ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz", "v1", "v2", "v3")
)
WALL = "!ConstantMap\nmap: {map_u_u: -1, map_v_v: -1, map_w_w: -1}\n"
MOMENT = """Seismic Moment Tensor
1e15 0.0 0.0
0.0 1e15 0.0
0.0 0.0 1e15
{more}Number of subfaults
1
x y z strike dip rake area Onset time
10.0 20.0 -1500.0 0. 0. 0. 1.0 0.0
source time function
0.01 5
samples
0. 1. 2. 1. 0.
"""
FLUID = "solid velocity components\n0 0 1e10\npressure component\n1e15\nfluid velocity components\n0 0 1e10\n"
BAND = "FreqCentral = 2.5\nFreqRatio = 100"
POINT = "Type = 50\nFileName = 'source.dat'"

STRESS = ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz")
SOLID = (*STRESS, "v1", "v2", "v3")
PORES = (*SOLID, "p", "v1_f", "v2_f", "v3_f")
DERIVED = ("rot1", "rot2", "rot3", "epsxx", "epsxy", "epsxz", "epsyy", "epsyz", "epszz")
ON_FAULT_NAMES = ("SRs SRd T_s T_d P_n u_n Mud StV Ts0 Td0 Pn0 Sls Sld Vr ASl PSR RT DS P_f Tmp").split()


@dataclass(frozen=True)
class Deck:
    """What a deck has, and what comes of it: the law, the names at receivers, energies that are not zero."""

    law: str
    material: str
    names: tuple[str, ...] = SOLID
    keys: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    sides: dict[str, str] = field(default_factory=lambda: {"z+": "free-surface"})
    energies: tuple[str, ...] = ("elastic_energy", "elastic_kinetic_energy")


SLIPS = (*Deck.energies, "seismic_moment", "total_frictional_work")
TRUE = ("true_elastic_energy", "true_elastic_kinetic_energy")
INJECTION = "cICType = 'PressureInjection'\norigin = 0. -1000. -1500.\nmagnitude = 5e7\nwidth = 1e-7"
THIRTEEN = "1 0 0 0 0 0 1 1 1 1 1 1 1"
DECKS = {
    "attenuating": Deck("viscoelastic", VISCOELASTIC, keys={"equations": BAND, "rupture": FAULT}, energies=(*SLIPS, *TRUE)),
    "attenuating layers": Deck("viscoelastic", LAYERS, keys={"equations": BAND, "source": POINT}, energies=(*Deck.energies, *TRUE)),
    "attenuating and yielding": Deck(
        "viscoelastic", VISCOELASTIC, energies=SLIPS, files={"plasticity.yaml": PLASTIC},
        keys={"equations": f"{BAND}\nPlasticity = 1\nTv = 0.05\nPlasticityFileName = 'plasticity.yaml'", "rupture": FAULT},
    ),
    "yielding": Deck("elastic", PLASTIC, keys={"equations": "Plasticity = 1\nTv = 0.03", "rupture": FAULT}, energies=SLIPS),
    "anisotropic": Deck("anisotropic", ANISOTROPIC, keys={"source": POINT, "equations": "Anisotropy = 1"}, sides={},
                        energies=(*Deck.energies, *TRUE)),
    "anisotropic by Lua": Deck("anisotropic", TENSOR_BY_LUA, keys={"rupture": FAULT}, energies=SLIPS),
    "porous": Deck(
        "poroelastic", POROELASTIC, PORES, {"rupture": FAULT, "start": INJECTION, "mask": "0 0 0 0 0 0 1 1 1"},
        {"fault.yaml": IN_PORES}, energies=(*SLIPS, *TRUE),
    ),
    "porous, pushed": Deck(
        "poroelastic", POROELASTIC, PORES, {"source": POINT, "mask": f"{THIRTEEN}\nIntegrationMask = {THIRTEEN}"},
        {"source.dat": MOMENT.format(more=FLUID)}, energies=TRUE,
    ),
    "sea": Deck(
        "elastic", SEA, sides={"z+": "gravity", "x-": "dirichlet"}, files={"start.yaml": SEA_STARTS, "boundary.yaml": WALL},
        keys={"equations": "GravitationalAcceleration = 9.81\nBoundaryFileName = 'boundary.yaml'",
              "start": "cICType = 'easi'\nfilename = 'start.yaml'\nhastime = 0"},
        energies=("gravitational_energy", "acoustic_energy", "acoustic_kinetic_energy"),
    ),
    "water": Deck("acoustic", "!ConstantMap\nmap: {rho: 1000, lambda: 2.25e9}\n", ("sigma", "v1", "v2", "v3"),
                  {"source": POINT, "mask": "1 1 1 1", "end": "0.5"}, energies=("acoustic_energy", "acoustic_kinetic_energy")),
}  # fmt: skip


def written(folder: Path, deck: Deck) -> Path:
    """The deck with all its files."""
    keys = {
        "equations": "",
        "start": "",
        "rupture": "",
        "source": "",
        "mask": "1 0 0 0 0 0 1 1 1",
        "end": "0.05",
    } | deck.keys
    keys["surface"] = str(int(bool(deck.sides)))
    (folder / "parameters.par").write_text(DECK.format(**keys))
    files = {"material.yaml": deck.material, "fault.yaml": ON_FAULT, "source.dat": MOMENT.format(more="")}
    files |= {"receivers.dat": " 300.0 400.0 -20.0\n-500. 900. -600.\n\n", "faultreceivers.dat": " 0.0 0.0 -700.0\n"}
    for name, text in (files | deck.files).items():
        (folder / name).write_text(text)
    fault = ("y", 0.0) if deck.keys.get("rupture") else None
    box = Box((2, 2, 2), (-2000.0, -2000.0, -4000.0), (2000.0, 2000.0, 0.0), deck.sides, shuffle=True, fault=fault)
    write_puml(folder / "mesh.h5", box_mesh(box))
    return folder / "parameters.par"


@pytest.mark.parametrize("name", DECKS)
def test_a_deck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    deck = DECKS[name]
    path = written(tmp_path, deck)
    found = check(path, order=2, backend="numpy")
    # meshes are coarse, with the source on a face and a receiver within its cell; runs are short, and sides of some absorb all round; the
    # mask has no numbers for the fluid in pores
    known = (
        "cohesive zone", "radiate above", "9 numbers for 13 quantities", "are on faces", "extent of point sources", "full space",
        "the fastest wave crosses", "the first wave of a source",
    )  # fmt: skip
    assert not [p for p in found.items if not any(words in p.what for words in known)], found.items
    sim: Any = fw.simulate(path, order=2, backend="numpy").run()
    assert sim.case.law == deck.law
    at = read_dat(tmp_path / "output" / "tpv-receiver-00001.dat")
    assert list(at.columns) == ["Time", *deck.names, *DERIVED]
    assert at.columns["Time"][-1] == pytest.approx(sim.case.end_time)
    assert all(np.isfinite(v).all() for v in at.columns.values()) and at.columns["v3"].any()
    if deck.keys.get("rupture"):
        on = read_dat(tmp_path / "output" / "tpv-faultreceiver-00001.dat").columns
        assert list(on) == ["Time", *ON_FAULT_NAMES] and on["ASl"][-1] > 0
    energies = read_energies(tmp_path / "output" / "tpv-energy.csv")
    assert all(energies[n][-1] != 0.0 for n in deck.energies), {n: energies[n][-1] for n in deck.energies}


def test_a_fault_beside_injected_pressure_may_break(tmp_path: Path) -> None:
    """A deck whose fault holds by itself: nothing will break only without PressureInjection."""
    holds = IN_PORES.replace("return 81600000.0", "return 70000000.0")
    for name, start, breaks in (("injected", INJECTION, True), ("at rest", "", False)):
        (tmp_path / name).mkdir()
        deck = replace(DECKS["porous"], keys=DECKS["porous"].keys | {"start": start}, files={"fault.yaml": holds})
        found = str(check(written(tmp_path / name, deck), order=2, backend="numpy"))
        assert "no point of the fault is above its strength" in found, found
        assert ("No rupture will start" in found) == (not breaks), found
        assert ("A rupture starts only if the initial state (pressure-injection) changes stress" in found) == breaks
