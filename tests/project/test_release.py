"""The files of a release: all that runs need, and nothing else; states of version and changelog that are no release."""

from __future__ import annotations

import os
import subprocess
import tarfile
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tools import release

ROOT = Path(__file__).resolve().parents[2]
TRACKED = [
    "src/faultwave/__init__.py",
    "src/faultwave/base/version.py",
    "src/faultwave/data.txt",
    "tests/test_a.py",
    "README.md",
]
WHEEL = ["faultwave/__init__.py", "faultwave/base/version.py", "faultwave/data.txt", "faultwave-1.0.dist-info/METADATA",
         "faultwave-1.0.dist-info/licenses/LICENSE"]  # fmt: skip
SDIST = [name for name in TRACKED if name.startswith("src/")] + [
    *release.STATED,
    "PKG-INFO",
    "src/faultwave.egg-info/SOURCES.txt",
]


def test_every_file_of_the_package_is_installed() -> None:
    """setuptools installs Python files and those that match a pattern."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["faultwave"]
    listed = subprocess.run(
        ["git", "ls-files", release.PACKAGE], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    names = [name.removeprefix(release.PACKAGE) for name in listed.splitlines()]
    assert len(names) > 500
    ends = [pattern.removeprefix("**/") for pattern in patterns] + ["*.py"]
    assert not [name for name in names if not any(fnmatch(name.rpartition("/")[2], end) for end in ends)]


def test_complete_contents() -> None:
    assert not release.wrong_contents("wheel", WHEEL, TRACKED)
    assert not release.wrong_contents("sdist", SDIST, TRACKED)


def test_wrong_contents() -> None:
    found = release.wrong_contents("wheel", [*WHEEL[1:], "tests/test_a.py", "faultwave/core.1"], TRACKED)
    assert found == [
        "wheel: faultwave/__init__.py is missing",
        "wheel: faultwave/core.1 does not belong there",
        "wheel: tests/test_a.py does not belong there",
    ]
    assert release.wrong_contents("sdist", [n for n in SDIST if n != "LICENSE"], TRACKED) == [
        "sdist: LICENSE is missing"
    ]


def sources(folder: Path, version: str = "1.2.0", changes: str = "", citation: str = "", urls: str = "") -> Path:
    place = folder / release.PACKAGE / "base"
    place.mkdir(parents=True)
    (place / "version.py").write_text(f'"""Version."""\n\n__version__ = "{version}"\n')
    (folder / "CHANGELOG.md").write_text(changes)
    (folder / "CITATION.cff").write_text(citation)
    (folder / "pyproject.toml").write_text(f"[project]\n{urls}\n")
    return folder


READY = {
    "changes": "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2027-01-31\n- New\n",
    "citation": "cff-version: 1.2.0\nversion: 1.2.0\ndate-released: 2027-01-31\n",
    "urls": 'urls = { Source = "https://example.org" }',
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, []),
        ({"version": "1.3.0"}, ["version is 1.2.0, that of the sources is 1.3.0", "no heading '## [1.3.0]"]),
        ({"changes": READY["changes"].replace("31", "30")}, ["date-released is not 2027-01-30"]),
        ({"changes": READY["changes"].replace("[Unreleased]\n", "[Unreleased]\n- More\n")}, ["under 'Unreleased', not under 1.2.0"]),
        ({"urls": ""}, ["project.urls"]),
    ],
)  # fmt: skip
def test_readiness(change: dict[str, str], words: list[str], tmp_path: Path) -> None:
    found = release.readiness(sources(tmp_path, **{**READY, **change}))
    assert len(found) == len(words) and all(word in text for word, text in zip(words, found, strict=True))


def test_equal_files_give_equal_source_distributions(tmp_path: Path) -> None:
    made = []
    for date, names in ((10, ("a", "b")), (1_000_000, ("b", "a"))):
        folder, path = tmp_path / str(date), tmp_path / f"{date}.tar.gz"
        folder.mkdir()
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                (folder / name).write_text(f"content of {name}")
                (folder / name).chmod(0o600 if date == 10 else 0o644)
                os.utime(folder / name, (date, date))
                archive.add(folder / name, f"faultwave-1.0/{name}")
        release.normalise(path, 500_000_000)
        made.append(path.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(path) as archive:
        assert [(m.name, m.mtime, m.mode) for m in archive] == [
            (f"faultwave-1.0/{n}", 500_000_000, 0o644) for n in "ab"
        ]
        content = archive.extractfile("faultwave-1.0/b")
        assert content and content.read() == b"content of b"
