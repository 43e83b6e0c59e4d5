"""docs/extending.md is a package: its files are taken out, installed beside Faultwave, and every one of them is run."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import faultwave
from faultwave.output.formats.csv_tables import read_energies

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text()
BLOCK = re.compile(r'^```\w+ title="([\w./]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the Python path with the page's files and what an installer writes of its ``pyproject.toml``."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in BLOCK.findall(PAGE):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (folder / "mylab" / "__init__.py").write_text("")
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    about = folder / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    about.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    about.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


def python(package: Path, *words: str, code: int = 0) -> str:
    """What ``python WORDS`` prints in the package's folder; it must end with ``code``."""
    path = [str(package), str(Path(faultwave.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, *words], cwd=package, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def command(package: Path, *words: str, code: int = 0) -> str:
    return python(package, "-m", "faultwave", *words, code=code)


def test_every_file_of_the_page_is_named_by_an_entry_point_and_the_reverse(package: Path) -> None:
    groups = tomllib.loads((package / "pyproject.toml").read_text())["project"]["entry-points"]
    named = {value for entries in groups.values() for value in entries.values()}
    assert named == {f"mylab.{p.stem}" for p in (package / "mylab").glob("*.py") if p.stem != "__init__"}
    for group in groups:
        assert f"`{group}`" in PAGE, f"{group} is not in the table"


def test_laws_are_listed_with_their_parameters(package: Path) -> None:
    listed = command(package, "laws")
    for word in ("damped-sound", "sound_speed", "weakening_length", "pressure_rate", "shear_cap"):
        assert word in listed


def test_damped_sound_on_the_timed_backend(package: Path) -> None:
    printed = command(package, "run", "sound.yaml")
    assert re.search(r"kernel \w*predict\w*: \d+\.\d+ s", printed)
    damping, speed, k, amplitude = 50.0, 340.0, np.pi, 0.01

    def exact(x: float, t: np.ndarray) -> np.ndarray:
        return amplitude * np.exp(-damping * t) * np.cos(k * (x - speed * t))

    energies = read_energies(package / "sound" / "sound-energy.csv")
    total = energies["acoustic_energy"] + energies["acoustic_kinetic_energy"]
    assert total[0] == pytest.approx(0.5 * 1.2 * amplitude**2 * 8.0, rel=1e-3)
    assert total[-1] / total[0] == pytest.approx(np.exp(-2 * damping * energies["time"][-1]), rel=2e-3)

    records = json.loads((package / "sound" / "sound-receivers.json").read_text())
    values = np.array(records["values"]["values"])[:, 0, records["quantities"].index("v1")]
    time = np.array(records["time"]["values"])
    assert np.abs(values - exact(0.3, time)).max() < 2e-3 * amplitude

    peaks = json.loads((package / "sound" / "sound-peak_velocity.json").read_text())["peak_velocity"]
    fine = np.linspace(0.0, 0.006, 6001)
    assert peaks["unit"] == "m/s"
    for found, x in zip(peaks["values"], (0.0, 0.5), strict=True):
        assert found == pytest.approx(np.abs(exact(x, fine)).max(), rel=5e-3)


def test_a_fault_with_the_friction_law_and_the_modifier(package: Path) -> None:
    command(package, "run", "fault.yaml")
    records = json.loads((package / "fault" / "fault-fault_receivers.json").read_text())
    values = np.array(records["values"]["values"], float)[:, 0]
    friction, slip, pressure = (
        values[:, records["quantities"].index(name)] for name in ("Mud", "ASl", "pumped_pressure")
    )
    time = np.array(records["time"]["values"], float)[:, 0]
    assert pressure == pytest.approx(100e6 * time, rel=1e-6, abs=1.0)
    # It holds until 0.6 (100 MPa - p) = 50 MPa, that is for p = 50/3 MPa, and slips from then on.
    held = time < 0.99 / 6.0
    assert held.any() and np.all(slip[held] == 0) and slip[-1] > 0.1
    assert friction == pytest.approx(0.2 + 0.4 * np.exp(-slip / 0.2), abs=1e-6)


def test_the_rheology_on_numbers(package: Path) -> None:
    numbers = [float(x) for x in python(package, "try_von_mises.py").split()]
    assert numbers == pytest.approx([-60e6, -60e6, -60e6, 30e6, 0, 0, 20e6 / 64e9])


MISTAKES = [
    ("law: damped-sound", "law: damped-sond", "did you mean 'damped-sound'?"),
    ("decay: 0.05 1/ms", "decay: 0.05 ms", "expected a unit like '1/s'"),
    ("decay: 0.05 1/ms", "deccay: 50", "did you mean 'decay'?"),
    ("backend: numpy-timed", "backend: numpy-timd", "did you mean 'numpy-timed'?"),
    ("numerics: { order: 5", "numerics: { flux: half-rusanow, order: 5", "did you mean 'half-rusanov'?"),
    ("peak_velocity:", "peak_velocty:", "did you mean 'peak_velocity'?"),
    ("points: [[0, 0.1", "points: [[7, 0.1", "lies 6 m outside the mesh"),
    ("peak_velocity: { points:", "peak_velocity: { ponts:", "did you mean 'points'?"),
    ("end_time: 6 ms", "end_time: 6 ms\nengine: dgg", "did you mean 'dg'?"),
]
CHECK_ALL = """
import json, sys
from typer.testing import CliRunner
from faultwave.cli.main import app
done = [CliRunner().invoke(app, ["check", name]) for name in sys.argv[1:]]
print(json.dumps([(one.exit_code, one.output) for one in done]))
"""


@pytest.fixture(scope="module")
def checked(package: Path) -> list[tuple[int, str]]:
    """Exit code and output of a check of the case with each mistake, all in one process that has the package."""
    text = (package / "sound.yaml").read_text()
    names = []
    for number, (old, new, _) in enumerate(MISTAKES):
        assert old in text
        names.append(f"wrong{number}.yaml")
        (package / names[-1]).write_text(text.replace(old, new))
    return json.loads(python(package, "-c", CHECK_ALL, *names))


@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=[new.split("\n")[-1] for _, new, _ in MISTAKES])
def test_mistakes_are_told_with_advice(checked: list[tuple[int, str]], number: int) -> None:
    code, printed = checked[number]
    assert code == 2, printed
    assert MISTAKES[number][2] in " ".join(printed.split())
    assert f"wrong{number}.yaml:" in printed


def test_the_program_exits_with_the_code_of_a_check(package: Path) -> None:
    (package / "wrong.yaml").write_text(
        (package / "sound.yaml").read_text().replace("law: damped-sound", "law: damped")
    )
    assert "wrong.yaml:" in command(package, "check", "wrong.yaml", code=2)
