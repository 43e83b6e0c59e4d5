"""What a fresh clone relies on."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.project.imports import import_statements

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("script", [".ci/run", "tools/setup.sh"])
def test_scripts_are_sound(script):
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", script], cwd=ROOT, check=True)


def test_set_up_says_what_the_machine_lacks(tmp_path):
    def setup(python: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHON": python}
        command = ["bash", str(ROOT / "tools" / "setup.sh"), str(tmp_path / "venv")]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    absent = setup("python-that-is-not-there")
    assert absent.returncode == 1
    assert "there is no 'python-that-is-not-there'" in absent.stderr

    old = tmp_path / "old"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.8.1" && exit 0\nexit 1\n')
    old.chmod(0o755)
    assert "Python 3.8.1 is too old" in setup(str(old)).stderr

    bare = tmp_path / "bare"
    bare.write_text('#!/bin/sh\ncase "$2" in *venv*) exit 1;; esac\nexit 0\n')
    bare.chmod(0o755)
    failed = setup(str(bare))
    assert failed.returncode == 1
    assert "apt-get install python3-venv" in failed.stderr
    assert not (tmp_path / "venv").exists()


def test_every_import_is_declared():
    declared = {"faultwave"}
    names = PYPROJECT["project"]["dependencies"] + sum(PYPROJECT["project"]["optional-dependencies"].values(), [])
    modules = {"ruamel-yaml": "ruamel", "pillow": "PIL", "netcdf4": "netCDF4", "import-linter": "importlinter", "cupy-cuda13x": "cupy",
               "nvidia-ml-py": "pynvml", "pydantic-core": "pydantic_core", "salib": "SALib"}  # fmt: skip
    for requirement in names:
        name = requirement.split(">")[0].split("[")[0].strip().lower().replace(".", "-")
        declared.add(modules.get(name, name))
    found = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in import_statements(path):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in names:
                found.setdefault(name.split(".")[0], path.relative_to(ROOT))
    missing = {n: str(p) for n, p in found.items() if n not in sys.stdlib_module_names and n not in declared}
    assert not missing


def test_every_package_is_installed():
    """setuptools takes folders with an __init__.py; one without would be missing from an installation."""
    package = ROOT / "src" / "faultwave"
    folders = {p.parent for p in package.rglob("*.py")}
    assert not [str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").exists()]


def test_files_stay_short():
    long = {
        str(p.relative_to(ROOT)): n
        for p in (ROOT / "src").rglob("*.py")
        if (n := len(p.read_text().splitlines())) > 800
    }
    assert not long
