from pathlib import Path

import pytest

from faultwave.case.seissol.convert import load_deck
from tests.messages import expect

DECK = """\
&equations
MaterialFileName = 'material.yaml'
/
&IniCondition
/
&DynamicRupture
FL = 16
ModelFileName = 'fault.yaml'
XRef = 0.0
YRef = -1.0
OutputPointType = 5
t_0 = 0.5
/
&Pickpoint
OutputMask = 1 0 1
PPFileName = 'points.dat'
/
&MeshNml
MeshFile = 'mesh.h5'
meshgenerator = 'PUML'
/
&Discretization
ClusteredLTS = 2
/
&Output
OutputFile = 'output/tpv'
iOutputMask = 0 0 0 0 0 0 1 1 1
RFileName = 'stations.dat'
EnergyOutput = 1
EnergyOutputInterval = 1.0
/
&AbortCriteria
EndTime = 2.0
/
"""
RS = "FL = 3\nRS_f0 = 0.6\nRS_b = 0.012\nRS_sr0 = 1d-6\nRS_iniSlipRate1 = 3d-12\nRS_iniSlipRate2 = -4.0d-12"


@pytest.fixture
def deck(tmp_path):
    """Loads the deck above with replacements; returns (case, problems without that of the order)."""
    for name in ("material.yaml", "fault.yaml", "points.dat", "mesh.h5", "stations.dat", "source.nrf", "ini.yaml"):
        (tmp_path / name).write_text("")

    def load(*changes: tuple[str, str], **overrides):
        text = DECK
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "parameters.par").write_text(text)
        case, problems = load_deck(tmp_path / "parameters.par", {"order": 6, **overrides})
        return case, problems

    load.folder = tmp_path
    return load


def test_the_band_of_attenuation(deck):
    """Speeds at its centre, and steps that SeisSol would take."""
    case, problems = deck(("'material.yaml'", "'material.yaml'\nFreqCentral = 2.5\nFreqRatio = 100"))
    assert not problems.items
    q = case.attenuation
    assert case.law == "viscoelastic" and q.mechanisms is None
    assert (q.low, q.high, q.reference) == (0.25, 25.0, 2.5)
    assert case.numerics.largest_step == 0.01
    longer = ("ClusteredLTS = 2", "ClusteredLTS = 2\nFixTimeStep = 0.005")
    case, _ = deck(("'material.yaml'", "'material.yaml'\nFreqCentral = 2.5\nFreqRatio = 100"), longer)
    assert case.numerics.largest_step == 0.005


def test_computed_the_way_of_seissol(deck):
    case, problems = deck()
    assert not problems.items
    f, n, o = case.fault, case.numerics, case.output
    assert (f.friction, f.points, f.slip_rate_output) == ("linear-slip-weakening", "conical", "friction")
    assert (f.reference, f.reference_method, f.forced_rupture_ramp) == ((0, -1, 0), "point", 0.5)
    assert (n.flux, n.flux_near_faults) == ("godunov", "godunov")
    assert (f.normal_traction, f.weakening, f.sliding) == ("full", "full", "full")
    assert (n.order, n.source_window, n.clustering.rates, n.homogenise) == (6, "end", (2,), True)
    assert n.source_spread == "point"
    assert (o.sync, o.seissol_layout, o.energies.plain_mean, o.energies.interval) == (True, True, True, 1.0)
    assert (o.folder, o.prefix) == (Path.cwd() / "output", "tpv")
    assert o.receivers.file == deck.folder / "stations.dat"
    assert o.receivers.interval == 0.005
    assert o.fault_receivers.file == deck.folder / "points.dat"
    assert o.fault_receivers.position == "nearest"
    assert o.fault_receivers.fields == ["SRs", "SRd", "u_n"]
    assert o.fault.fields == ["SRs", "SRd", "T_s", "T_d", "P_n", "u_n", "Mud", "StV", "Ts0", "Td0", "Pn0", "Sls", "Sld"]
    assert (o.fault.interval, o.fault.refinement) == (1.0, 0)
    assert o.volume is None  # Format is 10 unless told
    assert case.end_time == 2.0
    assert (case.mesh.file, case.mesh.format) == (deck.folder / "mesh.h5", "puml")
    (episode,) = f.nucleation
    assert (episode.start, episode.duration, episode.number) == (0, 0.5, 1)
    assert episode.stress.easi == deck.folder / "fault.yaml"


def test_fluxes(deck):
    case, problems = deck(("'material.yaml'", "'material.yaml'\nNumFlux = 'Rusanov'\nNumFluxNearFault = 'godunov'"))
    assert not problems.items
    assert (case.numerics.flux, case.numerics.flux_near_faults) == ("rusanov", "godunov")
    case, problems = deck(("'material.yaml'", "'material.yaml'\nNumFluxNearFault = 'rusanov'"), ("FL = 16", "FL = 0"))
    assert case.numerics.flux_near_faults is None  # no fault


def test_the_order_is_asked_for(deck):
    _, problems = deck(order=None)
    (warning,) = problems.warnings
    expect(warning)


def test_output_and_until(deck):
    case, problems = deck(output="elsewhere", until=0.25)
    assert not problems.items
    assert (case.output.folder, case.output.prefix, case.end_time) == (Path.cwd() / "elsewhere", "tpv", 0.25)


def test_files_beside_the_deck_or_here(deck, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("here")
    (elsewhere / "other.h5").write_text("")
    (elsewhere / "mesh.h5").write_text("")
    monkeypatch.chdir(elsewhere)
    case, _ = deck()
    assert case.mesh.file == deck.folder / "mesh.h5"
    case, _ = deck(("mesh.h5", "other.h5"))
    assert case.mesh.file == elsewhere / "other.h5"


def test_missing_files_name_key_and_line(deck):
    case, problems = deck(("fault.yaml", "no.yaml"), ("points.dat", "no.dat"))
    assert case is None
    found = [str(p) for p in problems.errors]
    assert len(found) == 2, found  # one file, though both the parameters and the nucleation stress come from it
    assert f"{deck.folder}/parameters.par:8: ModelFileName: no such file" in found[0]
    assert f"{deck.folder}/parameters.par:16: PPFileName: no such file" in found[1]


def test_netcdf_meshes(deck, tmp_path):
    """SeisSol appends .nc to the name of such a mesh."""
    (tmp_path / "cube.nc").write_bytes(b"")
    for name in ("cube", "cube.nc"):
        case, problems = deck(("'mesh.h5'", f"'{name}'"), ("'PUML'", "'Netcdf'"))
        assert not problems.errors
        assert case.mesh.file.name == "cube.nc" and case.mesh.format == "netcdf"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("EndTime = 2.0", "EndTime = 0", "EndTime is 0.0 (allowed: number > 0 [s])"),
        ("EndTime = 2.0", "EndTime = -1", "> 0"),
        ("EndTime = 2.0", "EndTime = soon", "'soon' is not a number"),
        ("FL = 16", "FL = 101", "(FL 101) is not supported yet"),
        ("FL = 16", "FL = 6\npc_vStar = 1", "'pc_prakashLength' is missing in '&dynamicrupture'"),
        ("FL = 16", "FL = 6\npc_prakashLength = 1", "'pc_vStar' is missing"),
        ("FL = 16", "FL = 12", "allowed: 0, 2, 3, 4, 6, 7, 16, 33, 34, 35, 103, 1058"),
        ("FL = 16", "FL = 16.5", "not a whole number"),
        ("t_0 = 0.5", "refPointMethod = 2", "0 (point), 1 (direction)"),
        ("t_0 = 0.5", "NucleationCount = 17", "0 to 16"),
        (
            "t_0 = 0.5",
            "s_0 = -1",
            "s_0 = -1 (allowed: >= 0 s). Add the stress applied before 0 s to the initial stress",
        ),
        ("t_0 = 0.5", "NucleationCount = 2\ns2_0 = -0.5", "s2_0 = -0.5 (allowed: >= 0 s)"),
        ("t_0 = 0.5", "etaDamp = 1.5", "<= 1"),
        ("t_0 = 0.5", "ModelFileName0 = 'fault.yaml'", "fused simulations"),
        ("OutputPointType = 5", "OutputPointType = 7", "3 receivers"),
        (
            "'material.yaml'",
            "'material.yaml'\nPlasticity = 1\nPlasticityFileName1 = 'material.yaml'",
            "fused simulations",
        ),
        (
            "'material.yaml'",
            "'material.yaml'\nPlasticity = 1\nPlasticityDisabledGroups = 'sea'",
            "numbers of mesh groups",
        ),
        ("'material.yaml'", "'material.yaml'\nPlasticity = 1\nPlasticityFileName = 'rock.yaml'", "no such file"),
        ("'material.yaml'", "'material.yaml'\nFreqCentral = 2.5", "'FreqRatio' is missing"),
        ("'material.yaml'", "'material.yaml'\nFreqRatio = 100", "'FreqCentral' is missing"),
        ("'material.yaml'", "'material.yaml'\nFreqRatio = 1\nFreqCentral = 2", "FreqRatio = 1 (allowed: above 1)"),
        ("'material.yaml'", "'material.yaml'\nFreqRatio = 9\nFreqCentral = 0", "FreqCentral = 0 (allowed: above 0 Hz)"),
        ("'material.yaml'", "'material.yaml'\nITMEnable = 1", "time mirror"),
        (
            "iOutputMask",
            "TimeInterval=1\nWavefieldOutput = 1\nWavefieldVtkOrder = 9\niOutputMask",
            "allowed: 1 to 8, or -1",
        ),
        ("iOutputMask", "SurfaceOutput = 1\nSurfaceVtkOrder = 9\niOutputMask", "allowed: 1 to 8, or -1"),
        ("'material.yaml'", "'material.yaml'\nNumFlux = 'upwind'", "allowed: godunov, rusanov"),
        ("&IniCondition", "&IniCondition\ncICType = 'Vortex'", "initial condition is not supported"),
        (
            "&IniCondition",
            "&IniCondition\ncICType = 'PressureInjection'\nwidth = 1\norigin = 0 0 0",
            "'magnitude' is missing",
        ),
        ("&IniCondition", "&IniCondition\ncICType = easi", "'filename' is missing"),
        ("'PUML'", "'Gambit3D-fast'", "mesh source is not supported"),
        ("&IniCondition", "&IniCondition\ncICType = Travelling\nkVec = 1 0 0\norigin = 0 0 0", "'ampField' is missing"),
        ("'PUML'", "'PUML'\nscalingmatrixx = 0 0 0", "scaling must be invertible"),
        ("'PUML'", "'PUML'\ndisplacement = 1 2", "has 2 numbers, needs 3"),
        ("'PUML'", "'PUML'\npumlboundaryformat = 'i16'", "i32x4"),
        ("ClusteredLTS = 2", "ClusteredLTS = 1 2", "can only be the last"),
        ("ClusteredLTS = 2", "ClusteredLTS = 2\nLtsWiggleFactorMin = 0.4", "above 1/rate"),
        ("ClusteredLTS = 2", "ClusteredLTS = 2\nCFL = 0", "CFL is 0.0"),
        ("&MeshNml", "&SourceType\nType = 19\n/\n&MeshNml", "42 (NRF), 50 (FSRM)"),
        ("&MeshNml", "&SourceType\nType = 42\n/\n&MeshNml", "'FileName' is missing"),
    ],
)
def test_errors_name_key_and_line(deck, old, new, words):
    case, problems = deck((old, new))
    assert case is None
    (error,) = problems.errors
    assert words in str(error)
    line = int(error.where.rsplit(":", 1)[1])
    said = DECK.replace(old, new).splitlines()[line - 1].split("=")[0].strip(" &").split()[0]
    assert said.lower() in str(error).lower() or said in ("SourceType", "IniCondition", "scalingmatrixx")


def test_everything_at_once(deck):
    case, problems = deck(("FL = 16", "FL = 101"), ("EndTime = 2.0", "EndTime = -2.0"), ("'mesh.h5'", "'no.h5'"))
    assert case is None
    assert len(problems.errors) == 3


def test_required_keys(deck):
    gone = [
        ("MaterialFileName = 'material.yaml'\n", ""),
        ("MeshFile = 'mesh.h5'\n", ""),
        ("PPFileName = 'points.dat'\n", ""),
    ]
    case, problems = deck(*gone, ("OutputFile = 'output/tpv'\n", ""))
    assert case is None
    texts = " ".join(map(str, problems.errors))
    for key in ("MaterialFileName", "MeshFile", "OutputFile", "PPFileName"):
        assert f"'{key}' is missing" in texts
    assert len(problems.errors) == 4


def test_rate_and_state(deck):
    case, problems = deck(("FL = 16", RS + "\nRSStateUpdates = 5\nRSMaxSlipRateUpdates = 40"))
    assert not problems.items
    assert case.fault.friction == "rate-and-state-ageing"
    assert case.fault.constants == pytest.approx(
        {
            "rs_f0": 0.6,
            "rs_b": 0.012,
            "rs_sr0": 1e-6,
            "rs_ini_slip_rate": 5e-12,
            "rs_slip_rate_updates": 40,
            "rs_average": 1,
            "rs_muw": 0.0,
        }
    )
    for number, name in ((4, "rate-and-state-slip"), (7, "severe-velocity-weakening")):
        assert deck(("FL = 16", RS.replace("FL = 3", f"FL = {number}")))[0].fault.friction == name
    case, problems = deck(("FL = 16", "FL = 4\nRS_f0 = 0.6"))
    assert case is None
    assert len(problems.errors) == 4
    assert "'RS_sr0' is missing" in " ".join(map(str, problems.errors))


def test_strong_velocity_weakening(deck):
    strong = RS.replace("FL = 3", "FL = 103")
    for key in ("RS_muW", "rs_muw", "mu_w"):
        case, problems = deck(("FL = 16", f"{strong}\n{key} = 0.2"))
        assert not problems.items
        assert (case.fault.friction, case.fault.constants["rs_muw"]) == ("strong-velocity-weakening", 0.2)
    case, problems = deck(("FL = 16", strong))
    assert case is None and ["'RS_muW' is missing" in str(e) for e in problems.errors] == [True]


TP = "tp_thermalDiffusivity = 1d-6\ntp_heatCapacity = 2.7d6\ntp_undrainedTPResponse = 1d5\ntp_iniTemp = 483.15\ntp_iniPressure = -8d7"
OLDER_TP = TP.replace("tp_thermalDiffusivity", "alpha_th").replace("tp_heatCapacity", "rho_c").replace(
    "tp_undrainedTPResponse", "TP_lambda").replace("tp_iniTemp", "IniTemp").replace("tp_iniPressure", "IniPressure")  # fmt: skip


@pytest.mark.parametrize("keys", [TP, OLDER_TP], ids=["names", "older names"])
@pytest.mark.parametrize("law", [3, 4, 7, 103])
def test_thermal_pressurisation(deck, law, keys):
    rs = RS.replace("FL = 3", f"FL = {law}") + "\nRS_muW = 0.2"
    case, problems = deck(("FL = 16", f"{rs}\nthermalPress = 1\n{keys}"))
    assert not problems.errors and all("older name" in str(w) for w in problems.warnings)
    assert case.fault.modifiers == ["thermal-pressurisation"] and not case.fault.pore_pressure
    expected = {"tp_thermal_diffusivity": 1e-6, "tp_heat_capacity": 2.7e6, "tp_undrained_response": 1e5,
                "tp_initial_temperature": 483.15, "tp_initial_pressure": -8e7}  # fmt: skip
    assert {k: v for k, v in case.fault.constants.items() if k.startswith("tp_")} == expected
    assert deck(("FL = 16", f"{rs}\nthermalPress = 0\n{keys}"))[0].fault.modifiers == []


def test_thermal_pressurisation_lacks_a_key(deck):
    for line in TP.splitlines():
        case, problems = deck(("FL = 16", f"{RS}\nthermalPress = 1\n{TP.replace(line, '')}"))
        assert case is None
        expect(problems.errors[0])


@pytest.mark.parametrize("law", ["16", "33", "34", "35", "1058", "6\npc_vStar = 1\npc_prakashLength = 0.1"])
def test_thermal_pressurisation_with_a_law_that_has_none_is_told(deck, law):
    """SeisSol ignores the key without a word."""
    case, problems = deck(("FL = 16", f"FL = {law}\nthermalPress = 1"))
    assert "thermal-pressurisation" not in case.fault.modifiers and not problems.errors
    (warning,) = problems.warnings
    expect(warning)


@pytest.mark.parametrize(
    "keys", ["pc_vStar = 1\npc_prakashLength = 0.01", "v_star = 1\nL = 0.01"], ids=["names", "older names"]
)
def test_bimaterial(deck, keys):
    """Law 6 is linear slip weakening with delayed strength; forced rupture and nucleation work as with 16."""
    case, problems = deck(("FL = 16", f"FL = 6\n{keys}\nLSW_healingThreshold = 0.2"))
    assert not problems.errors
    f = case.fault
    assert (f.friction, f.modifiers) == ("linear-slip-weakening", ["prakash-clifton"])
    assert f.constants == {"pc_reference_rate": 1.0, "pc_length": 0.01}
    assert (f.forced_rupture_ramp, f.healing_threshold, len(f.nucleation)) == (0.5, 0.2, 1)


def test_bimaterial_wrong(deck):
    case, problems = deck(("FL = 16", "FL = 6\npc_vStar = fast\npc_prakashLength = 1"))
    assert case is None
    expect(problems.errors[0])


def test_power_law(deck):
    case, problems = deck(("FL = 16", "FL = 1058\nTpProxyExponent = 0.25"))
    assert not problems.items
    assert (case.fault.friction, case.fault.constants) == ("power-law-slip-weakening", {"weakening_exponent": 0.25})
    assert (case.fault.forced_rupture_ramp, len(case.fault.nucleation)) == (0.5, 1)
    assert deck(("FL = 16", "FL = 1058"))[0].fault.constants == {}


@pytest.mark.parametrize(("number", "name"), [(33, "imposed-yoffe"), (34, "imposed-gaussian"), (35, "imposed-delta")])
def test_imposed_slip(deck, number, name):
    case, problems = deck(("FL = 16", f"FL = {number}\nrefPointMethod = 1\nSlipRateOutputType = 1"))
    assert not problems.items
    assert (case.fault.friction, case.fault.slip_rate_output) == (name, "velocity")
    assert case.fault.reference_method == "direction"
    assert case.fault.nucleation == []
    assert case.fault.constants == ({"rate_at_end": 1.0} if number == 33 else {})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            "tp_iniTemp = 483\nTP_HeatCapacity = 2.7e6\nthermalPress = 0",
            "nor tp_iniTemp; that takes thermalPress = 1 and FL = 3, 4, 7, 103",
        ),
        ("pc_vStar = 1\npc_prakashLength = 0.01", "pc_vStar: not read here, nor pc_prakashLength; that takes FL = 6"),
        ("TpProxyExponent = 0.5", "TpProxyExponent: not read here; that takes FL = 1058"),
    ],
)
def test_keys_that_the_law_leaves_unread_are_told(deck, keys, words):
    case, problems = deck(("t_0 = 0.5", f"t_0 = 0.5\n{keys}"))
    assert case is not None
    (warning,) = [w for w in problems.warnings if "not read" in w.what]
    assert words in str(warning) and "parameters.par:" in warning.where


def test_nucleation_episodes(deck):
    case, problems = deck(("t_0 = 0.5", "t_0 = 0.5\ns_0=1\nt2_0=2d0\ns2_0 = 3\nNucleationCount = 3\nt7_0 = 1"))
    assert not problems.errors
    found = [(e.number, e.start, e.duration) for e in case.fault.nucleation]
    assert found == [(1, 1, 0.5), (2, 3, 2), (3, 0, 0)]
    assert deck(("t_0 = 0.5", "NucleationCount = 0"))[0].fault.nucleation == []
    times = "\n".join(f"t{i}_0 = {i}\ns{i}_0 = {i / 8}" for i in range(2, 17))
    case, problems = deck(("t_0 = 0.5", f"t_0 = 1\ns_0 = 0.125\nNucleationCount = 16\n{times}"))
    assert not problems.items
    assert [(e.number, e.start, e.duration) for e in case.fault.nucleation] == [(i, i / 8, i) for i in range(1, 17)]


@pytest.mark.parametrize("change", [("ModelFileName = 'fault.yaml'\n", ""), ("FL = 16", "enabled = 0\nFL = 16")])
def test_no_dynamic_rupture(deck, change):
    case, problems = deck(change)
    assert not problems.items
    assert case.fault is case.output.fault is case.output.fault_receivers is None


def test_a_welded_fault_is_told(deck):
    case, problems = deck(("FL = 16", "FL = 0"))
    assert case.fault is None
    expect(problems.warnings[0])


def test_older_names(deck):
    case, problems = deck(("t_0 = 0.5", "etahack = 0.5\netastop = 2\nFL_ = 1"))
    assert (case.fault.damping, case.fault.damping_end) == (0.5, 2.0)
    (warning,) = problems.warnings
    expect(warning)
    case, problems = deck(("iOutputMask", "etahack = 0.25\niOutputMask"))
    assert case.fault.damping == 0.25
    case, problems = deck(("t_0 = 0.5", "etahack = 0.5\netaDamp = 0.75"))
    assert case.fault.damping == 0.75
    expect(problems.warnings[0])


def test_unknown_keys_warn_once_each(deck):
    case, problems = deck(
        ("ClusteredLTS = 2", "ClusteredLTS = 2\nFixFimeStep = 0.01"),
        ("&MeshNml", "&Nonsense\nx = 1\n/\n&MeshNml\nMeshFil = 1"),
    )
    assert case is not None
    assert case.numerics.largest_step == 5000.0
    assert len(problems.warnings) == 3
    texts = " ".join(map(str, problems.warnings))
    assert "did you mean 'FixTimeStep'?" in texts
    assert "did you mean 'MeshFile'?" in texts
    assert "unknown block '&nonsense'" in texts


def test_obsolete_keys_are_silent(deck):
    case, problems = deck(
        ("t_0 = 0.5", "RF_output_on = 1\nmagnitude_output_on = .true."),
        ("&MeshNml", "&Boundaries\nBC_fs = 1\n/\n&SpongeLayer\n/\n&MeshNml\nperiodic = 0"),
        ("ClusteredLTS = 2", "ClusteredLTS = 2\nOrder = 9\nvertexWeightElement = 100"),
        ("EnergyOutput = 1", "EnergyOutput = 1\nFaultOutputFlag = 1\npickDtType = 1\nprintIntervalCriterion = 2"),
    )
    assert case is not None
    assert not problems.items


def test_masks_with_fewer_numbers_than_quantities(deck):
    mask = "iOutputMask = 0 0 0 0 0 0 1 1 1"
    short = "WavefieldOutput = 1\nTimeInterval = 1\niOutputMask = 0 0 0 0 0 0 1"
    case, (told,) = deck((mask, short))[0], deck((mask, short))[1].items
    assert case.output.volume.fields == ["v1"]
    line = (deck.folder / "parameters.par").read_text().splitlines().index("iOutputMask = 0 0 0 0 0 0 1") + 1
    assert told.where.endswith(f"parameters.par:{line}") and told.severity == "warning"
    expect(told)
    assert not deck((mask, "WavefieldOutput = 1\nTimeInterval = 1\n" + mask))[1].items


@pytest.mark.parametrize(("count", "warns"), [(3, True), (2, False), (1, False)])
def test_more_points_than_their_file_has(deck, count, warns):
    (deck.folder / "points.dat").write_text("# x y z\n0 0 -1e3\n\n0 0 -2e3  # deep\n")
    _, problems = deck(("OutputMask = 1 0 1", f"OutputMask = 1 0 1\nnOutpoints = {count}"))
    texts = [str(p) for p in problems.items]
    assert any("nOutpoints = 3, but" in t and "has 2 points" in t and "parameters.par:" in t for t in texts) == warns
    assert len(texts) == warns


def test_field_outputs(deck):
    case, problems = deck(
        (
            "iOutputMask = 0 0 0 0 0 0 1 1 1",
            "Format = 6\nTimeInterval = .5\niOutputMask = '1 0 0,0 0 0 0 0 1'\nrefinement = 5\nSurfaceOutput=1\n"
            "SurfaceOutputInterval=0.1\nSurfaceOutputRefinement=1\nxdmfWriterBackend = 'hdf5'\n"
            "OutputRegionBounds = -1 1 -1 1 -1 0\nOutputGroups = 1 2\nReceiverComputeStrainRate = 1\npickdt = 0.01",
        ),
        (
            "&Pickpoint",
            "&Elementwise\nprinttimeinterval_sec = 0.2\nOutputMask = 12*1\nrefinement_strategy=2\nrefinement=1\n/\n"
            "&Pickpoint",
        ),
    )
    o = case.output
    assert (o.volume.interval, o.volume.fields, o.volume.refinement) == (0.5, ["s_xx", "v3"], 3)
    assert (o.volume.region, o.volume.groups) == ((-1, 1, -1, 1, -1, 0), [1, 2])
    assert (o.surface.interval, o.surface.refinement, o.xdmf) == (0.1, 1, True)
    assert (o.fault.interval, o.fault.refinement, o.fault.fields[-2:]) == (0.2, 1, ["P_f", "Tmp"])
    assert (o.receivers.strain_rate, o.receivers.interval) == (True, 0.01)
    assert len(problems.warnings) == 2  # refinement 5, bounds with a zero


@pytest.mark.parametrize(("strategy", "levels", "split"), [(1, 2, "three"), (2, 2, "four"), (3, 0, "four")])
def test_refinement_strategies_of_faults(deck, strategy, levels, split):
    text = f"&Elementwise\nrefinement_strategy = {strategy}\nrefinement = 2\n/\n&Pickpoint"
    case, problems = deck(("&Pickpoint", text))
    assert (case.output.fault.refinement, case.output.fault.split) == (levels, split) and not problems.items


@pytest.mark.parametrize("order", [1, 4, 8])
def test_cells_of_high_order_take_the_place_of_refinement(deck, order):
    keys = f"Format = 6\nTimeInterval = 1\nWavefieldVtkOrder = {order}\nSurfaceOutput = 1\nSurfaceVtkOrder = {order}"
    keys += "\nrefinement = 2\nSurfaceOutputRefinement = 1"
    case, problems = deck(
        ("iOutputMask = 0 0 0 0 0 0 1 1 1", f"{keys}\niOutputMask = 0 0 0 0 0 0 1 1 1"),
        ("&Pickpoint", f"&Elementwise\nrefinement_strategy = 1\nrefinement = 2\nvtkorder = {order}\n/\n&Pickpoint"),
    )
    o = case.output
    assert [x.degree for x in (o.volume, o.surface, o.fault)] == [order] * 3 and not problems.items
    assert [x.refinement for x in (o.volume, o.surface, o.fault)] == [0] * 3 and o.fault.split == "four"


@pytest.mark.parametrize("order", [-1, 0])
def test_cells_of_order_0_have_one_value(deck, order):
    keys = f"Format = 6\nTimeInterval = 1\nWavefieldVtkOrder = {order}\nSurfaceOutput = 1\nSurfaceVtkOrder = {order}"
    case, problems = deck(("iOutputMask = 0 0 0 0 0 0 1 1 1", f"{keys}\niOutputMask = 0 0 0 0 0 0 1 1 1"))
    assert (case.output.volume.degree, case.output.surface.degree) == (None, None) and not problems.items


def test_wavefield_key_wins_over_format(deck):
    assert (
        deck(("iOutputMask", "Format = 6\nTimeInterval=1\nWavefieldOutput = 0\niOutputMask"))[0].output.volume is None
    )
    assert deck(("iOutputMask", "TimeInterval=1\nWavefieldOutput = 1\niOutputMask"))[0].output.volume.interval == 1
    assert deck(("iOutputMask", "TimeInterval=-1\nWavefieldOutput = 1\niOutputMask"))[0].output.volume is None


def test_receivers_off(deck):
    assert deck(("RFileName", "pickdt = 0\nRFileName"))[0].output.receivers is None
    assert deck(("RFileName", "ReceiverOutput = 0\nRFileName"))[0].output.receivers is None
    case, problems = deck(("RFileName = 'stations.dat'\n", ""))
    assert case.output.receivers is None
    expect(problems.warnings[0])


def test_receivers_whose_file_is_missing(deck):
    """SeisSol runs without; every file that something else depends on is still an error."""
    case, problems = deck(("RFileName = 'stations.dat'", "RFileName = 'statoins.dat'"))
    [told] = problems.items
    assert case.output.receivers is None and told.severity == "warning"
    line = (deck.folder / "parameters.par").read_text().splitlines().index("RFileName = 'statoins.dat'") + 1
    assert told.where == f"{deck.folder}/parameters.par:{line}"
    expect(told)
    assert "did you mean 'stations.dat'" in told.advice


def test_receivers_that_an_interval_switches_off(deck):
    case, problems = deck(("RFileName", "ReceiverOutputInterval = 0\nRFileName"))
    assert case.output.receivers is None
    expect(problems.warnings[0])
    case, problems = deck(("RFileName", "ReceiverOutputInterval = 5\nRFileName"))
    assert case.output.receivers is not None and not problems.items


ELEMENTWISE = "&Elementwise\nprinttimeinterval_sec = 0.2\nOutputMask = 1 1 1\n/\n&Pickpoint"


@pytest.mark.parametrize(
    ("kind", "fault", "receivers", "words"),
    [
        ("OutputPointType = 5", True, True, []),
        ("OutputPointType = 4", True, False, ["'&pickpoint' has no effect: OutputPointType = 4"]),
        ("OutputPointType = 3", False, True, ["'&elementwise' has no effect: OutputPointType = 3"]),
        ("", False, False, ["'&elementwise' has no effect: OutputPointType = 0 (not set)",
                            "'&pickpoint' has no effect", "FaultOutputFlag = 1: has no effect, as in SeisSol"]),
    ],
)  # fmt: skip
def test_outputs_on_the_fault_are_written_or_it_is_said(deck, kind, fault, receivers, words):
    changes = (
        ("OutputPointType = 5", kind),
        ("&Pickpoint", ELEMENTWISE),
        ("EnergyOutput = 1", "FaultOutputFlag = 1\nEnergyOutput = 1"),
    )
    case, problems = deck(*changes)
    assert ((case.output.fault is not None), (case.output.fault_receivers is not None)) == (fault, receivers)
    assert len(problems.items) == len(words)
    for told, word in zip(problems.warnings, words, strict=True):
        assert word in told.what and "parameters.par:" in told.where


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("EnergyOutput = 1\n", "", "EnergyOutputInterval has no effect: EnergyOutput is not set"),
        ("RFileName", "SurfaceOutputInterval = 1\nSurfaceOutputRefinement = 1\nRFileName",
         "SurfaceOutputInterval, SurfaceOutputRefinement have no effect: SurfaceOutput is not set"),
        ("RFileName", "IntegrationMask = 1 1 1 1 1 1 1 1 1\nRFileName", "IntegrationMask has no effect: WavefieldOutput"),
    ],
)  # fmt: skip
def test_outputs_that_nothing_switches_on(deck, old, new, word):
    _, problems = deck((old, new))
    [told] = problems.items
    assert told.what.startswith(word) and told.severity == "warning"
    switch = told.advice.split()[1]
    assert not deck((old, f"{switch} = 0\n{new}"))[1].items


def test_sources_and_initial_conditions(deck):
    case, problems = deck(
        ("&MeshNml", "&SourceType\nType = 42\nFileName = source.nrf\n/\n&MeshNml"),
        ("&IniCondition", "&IniCondition\ncICType = 'EASI'\nfilename = ini.yaml"),
    )
    assert not problems.items
    assert (case.sources[0].kind, case.sources[0].file) == ("nrf", deck.folder / "source.nrf")
    assert (case.initial.kind, case.initial.field.easi) == ("easi", deck.folder / "ini.yaml")


def test_exact_initial_states(deck):
    case, problems = deck(
        ("&IniCondition", "&IniCondition\ncICType = 'Ocean_1'"),
        ("'material.yaml'", "'material.yaml'\nGravitationalAcceleration = 9.81e-3"),
    )
    assert not problems.items and case.output.error_norms and case.sea_gravity == 9.81e-3
    assert (case.initial.kind, case.initial.mode, case.initial.depth) == ("ocean", 1, 1.0)
    _, problems = deck(("&IniCondition", "&IniCondition\ncICType = 'Ocean_1'"))
    expect(problems.warnings[0])
    for name, kind in (("Scholte", "scholte"), ("Snell", "snell"), ("planarwave", "plane-wave")):
        case, problems = deck(("&IniCondition", f"&IniCondition\ncICType = '{name}'"))
        assert not problems.items and case.initial.kind == kind and case.output.error_norms
    assert [w.mode for w in case.initial.wave] == ["P", "S"] and case.initial.wave[1].k[0] < 0
    case, _ = deck(("&IniCondition", "&IniCondition\ncICType = SuperimposedPlanarwave\navoidic = 1"))
    assert len(case.initial.wave) == 6 and case.initial.boundaries_only


def test_travelling_waves(deck):
    given = "cICType = Travelling\norigin = 1 2 3\nkVec = 0 0 2.0\nampField = 0.5 0 0 0 0 0 0 0.25 0"
    case, problems = deck(("&IniCondition", f"&IniCondition\n{given}"))
    assert not problems.items and not case.output.error_norms
    back, sideways = case.initial.wave
    assert (back.mode, back.k, back.amplitude, back.origin) == ("P", (0, 0, -2.0), 0.5, (1, 2, 3))
    assert (sideways.mode, sideways.k, sideways.amplitude) == ("S", (0, 0, 2.0), 0.25)
    case, problems = deck(("&IniCondition", "&IniCondition\n" + given.replace("0.5 0 0 0", "0.5 0 0 1")))
    assert case is None
    expect(problems.errors[0])


def test_the_cube_generator(deck):
    cubes = "/\n&CubeGenerator\ncubex = 4\ncubey = 6\ncubeminx = 1\ncubemaxx = 5\ncubes = 3\ncubesz = 1\ncubetz = -0.5\n/\n&Discretization"
    case, problems = deck(("'PUML'", "'cubegenerator'"), ("/\n&Discretization", cubes))
    assert not problems.errors
    made = case.mesh.generate
    assert (made.cells, made.tetrahedra, made.lower, made.upper) == ((4, 6, 2), 5, (-1.5, -1.5, -1.0), (1.5, 1.5, 0.0))
    assert made.boundaries == {"x-": "free-surface", "x+": "absorbing", "y": "periodic", "z": "periodic"}
    for wrong, told in (
        ("cubex = 3", "an even number of cubes"),
        ("cubemaxx = 6", "one side along x is periodic"),
        ("cubemaxx = 3", "6 periodic"),
    ):
        name = wrong.split()[0]
        case, problems = deck(
            ("'PUML'", "'cubegenerator'"),
            ("/\n&Discretization", cubes.replace(f"{name} = {'4' if name == 'cubex' else '5'}", wrong)),
        )
        assert case is None and told in str(problems.errors[0]), problems


def test_integrals_over_time(deck):
    asked = ("iOutputMask", "WavefieldOutput = 1\nTimeInterval = 1\nIntegrationMask = 0 0 0 0 0 0 0 0 1\niOutputMask")
    case, problems = deck(asked)
    assert not problems.items and case.output.volume.fields == ["v1", "v2", "v3", "int-v3"]


def test_boundary_files(deck):
    case, problems = deck(("'material.yaml'", "'material.yaml'\nBoundaryFileName = 'ini.yaml'"))
    assert not problems.items and case.dirichlet[0].ghost.easi == deck.folder / "ini.yaml"


def test_blocks_that_once_meant_something(deck):
    case, problems = deck(("&MeshNml", "&Source110\nx = 1\n/\n&InflowBoundPWFile\ny = 2\n/\n&MeshNml"))
    assert case is not None and not problems.items


def test_face_map(deck):
    (deck.folder / "map.yaml").write_text(
        "freeSurface: [1, 7]\noutflow: 5\ndynamicRupture: ['65-', 3]\ndirichlet: [4]\n"
    )
    case, problems = deck(("'PUML'", "'PUML'\nfacemapfile = map.yaml"))
    assert case.mesh.boundaries == {"free-surface": [1, 7], "absorbing": [5], "fault": ["65-", 3], "dirichlet": [4]}
    (deck.folder / "map.yaml").write_text("freesurface: 1\n")
    case, problems = deck(("'PUML'", "'PUML'\nfacemapfile = map.yaml"))
    assert case is None
    expect(problems.errors[0])


def test_stopping_early(deck):
    keys = "EndTime = 2.0\nterminatorMaxTimePostRupture = 3\nterminatorSlipRateThreshold = 1d-3"
    stop = deck(("EndTime = 2.0", keys))[0].stop
    assert (stop.time_after_rupture, stop.slip_rate_below, stop.moment_rate_below) == (3, 1e-3, None)
    case, problems = deck(("EndTime = 2.0", "EndTime = 2.0\nterminatorMaxTimePostRupture = 3"))
    assert case.stop.time_after_rupture is None
    expect(problems.warnings[0])
    case, problems = deck(("EndTime = 2.0", keys), ("&DynamicRupture", "&DynamicRupture\nenabled = 0"))
    assert case.fault is None and case.stop.time_after_rupture is None
    expect(problems.warnings[0])


def test_clusters_and_transforms(deck):
    case, problems = deck(
        (
            "ClusteredLTS = 2",
            "ClusteredLTS = '3 2'\nLtsWiggleFactorMin=0.5\nFixTimeStep = 0.01\nLtsMaxNumberOfClusters = 4",
        ),
        ("'PUML'", "'PUML'\nscalingmatrixy = '0 2 0'\ndisplacement = 1 2 3\npumlboundaryformat = 'I64'"),
    )
    assert not problems.items
    c = case.numerics.clustering
    assert (c.rates, c.wiggle_minimum, c.maximum, case.numerics.largest_step) == ((3, 2), 0.5, 4, 0.01)
    assert case.mesh.scaling == ((1, 0, 0), (0, 2, 0), (0, 0, 1))
    assert (case.mesh.displacement, case.mesh.boundary_format) == ((1, 2, 3), "i64")
    assert deck(("ClusteredLTS = 2\n", ""))[0].numerics.clustering.rates == (1,)


def test_plasticity(deck):
    """Points, strain and relaxation of SeisSol; parameters from the material's file unless another is named; eta is written."""
    on = ("'material.yaml'", "'material.yaml'\nPlasticity = 1")
    wave = ("EnergyOutput = 1", "EnergyOutput = 1\nWavefieldOutput = 1")
    case, problems = deck(on, wave)
    assert case is not None, problems
    rock = case.plasticity
    assert (rock.points, rock.sampled, rock.initial_stress, rock.elastic) == ("lattice", "points", "parameters", [])
    assert rock.constants == {"relaxation_time": 0.1, "seissol_strain": 1.0}
    assert rock.parameters.easi.name == "material.yaml" and case.output.volume.fields == ["v1", "v2", "v3", "eta"]
    more = "\nTv = 0.03\nPlasticityPointwise = 0\nPlasticityDisabledGroups = '2, 7'\nPlasticityFileName = 'ini.yaml'"
    mask = ("0 0 0 0 0 0 1 1 1", "0 0 0 0 0 0 0 0 1\niPlasticityMask = 1 0 0 1 0 0 0")
    case, problems = deck((on[0], on[1] + more), mask, wave)
    assert case is not None, problems
    rock = case.plasticity
    assert (rock.sampled, rock.elastic, rock.parameters.easi.name) == ("centre", [2, 7], "ini.yaml")
    assert rock.constants["relaxation_time"] == 0.03 and case.output.volume.fields == ["v3", "ep_xx", "ep_xy"]
    case, _ = deck(wave)
    assert case.plasticity is None and case.output.volume.fields == ["v1", "v2", "v3"]


CASES = Path(__file__).resolve().parents[2] / ".." / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the reference decks are not here")


@needs_cases
@pytest.mark.parametrize("name", ["tpv5", "tpv5-nuc", "tpv13", "tpv101", "tpv105", "tpvyoffe"])
def test_real_decks(name):
    case, problems = load_deck(CASES / name / "parameters.par", {"order": 6})
    texts = [str(p) for p in problems.items]
    assert len(texts) == (name == "tpv13") and all("nOutpoints = 10, but" in text for text in texts), texts
    assert (case.end_time, case.output.prefix, case.numerics.order) == (2.0, "tpv", 6)
    assert case.output.volume.fields == ["v1", "v2", "v3", *(["eta"] if name == "tpv13" else [])]
    assert case.output.energies.slip_from_velocity
    assert (case.output.fault_receivers is None) == (name == "tpvyoffe")
