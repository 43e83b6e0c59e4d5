"""Build a release from the last commit, check it, and run it in an empty environment.

python -m tools.release [--final] [--no-install] [--output dist]

The source distribution is built from an export of the last commit, the wheel from the source distribution, both twice to compare
the bytes. Then the wheel is installed outside the repository, and the demo of README.md runs with it on a machine's compiler and,
with the extra ``compiler``, without one. ``--final`` also requires that version, date and changelog are those of a release.
``make release`` installs the tools first.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/faultwave/"
STATED = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff")
"""Files of the source distribution that are no sources."""
MADE = re.compile(r"PKG-INFO|setup\.cfg|src/faultwave\.egg-info/[\w.-]+")
"""Files that setuptools adds to it."""
RECORDS = re.compile(
    r"faultwave-[\w.]+\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|top_level\.txt|licenses/LICENSE)"
)
"""Files about the wheel in it."""
COMPILERS = ("gcc", "clang", "cc")


class ReleaseError(Exception):
    """Error: the release is not what it must be."""


def run(*command: str | Path, **how: object) -> str:
    """Return the output of a command; raise ReleaseError with its last lines if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **how)  # type: ignore[call-overload]
    output = str(done.stdout)
    if done.returncode:
        raise ReleaseError(f"{' '.join(words)} failed:\n{(output + str(done.stderr))[-3000:]}")
    return output


def version_of(root: Path) -> str:
    """Return the version in the sources."""
    text = (root / PACKAGE / "base/version.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.M)[0]


def readiness(root: Path) -> list[str]:
    """Return what keeps a folder of sources from being those of a release."""
    version = version_of(root)
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    found = []
    stated = re.findall(r"^version: (.+)$", citation, re.M)
    if stated != [version]:
        found.append(f"CITATION.cff: version is {', '.join(stated) or 'absent'}, that of the sources is {version}")
    heading = re.search(rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$", changes, re.M)
    if not heading:
        found.append(f"CHANGELOG.md: there is no heading '## [{version}] - YYYY-MM-DD'")
    elif f"date-released: {heading[1]}" not in citation:
        found.append(f"CITATION.cff: date-released is not {heading[1]}, the date in CHANGELOG.md")
    unreleased = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", changes, re.M | re.S)
    if unreleased and unreleased[1].strip():
        found.append(f"CHANGELOG.md: changes stand under 'Unreleased', not under {version}")
    if not tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls"):
        found.append("pyproject.toml: project.urls does not state where sources and documentation are published")
    return found


def wrong_contents(kind: str, names: Iterable[str], tracked: Iterable[str]) -> list[str]:
    """Return which files a distribution lacks or should not have.

    Parameters
    ----------
    kind : {"wheel", "sdist"}
        Kind of the distribution.
    names : iterable of str
        Files in it; those of a source distribution are relative to its folder.
    tracked : iterable of str
        Files of the repository, relative to its root.
    """
    sources = {name for name in tracked if name.startswith(PACKAGE)}
    if kind == "wheel":
        expected, added = {name.removeprefix("src/") for name in sources}, RECORDS
    else:
        expected, added = sources | set(STATED), MADE
    present = set(names)
    surplus = sorted(name for name in present - expected if not added.fullmatch(name))
    return [f"{kind}: {name} is missing" for name in sorted(expected - present)] + [
        f"{kind}: {name} does not belong there" for name in surplus
    ]


def normalise(sdist: Path, date: int) -> None:
    """Rewrite a source distribution so that equal files give equal bytes: sorted, of one date [s] and no owner."""
    content = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = date, 0, 0, "", ""
            member.mode, member.pax_headers = 0o755 if member.isdir() else 0o644, {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    sdist.write_bytes(gzip.compress(content.getvalue(), mtime=date))


def build(sources: Path, output: Path, date: int) -> list[Path]:
    """Build both distributions in ``output`` and return their paths: source distribution, wheel."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    where = {"cwd": sources, "env": {**clean, "SOURCE_DATE_EPOCH": str(date)}}
    run(sys.executable, "-m", "build", "--outdir", output, ".", **where)
    (sdist,), (wheel,) = output.glob("*.tar.gz"), output.glob("*.whl")
    normalise(sdist, date)
    return [sdist, wheel]


def build_twice(output: Path, scratch: Path) -> tuple[Path, Path]:
    """Build the last commit in ``output``; raise ReleaseError if a second build elsewhere has other bytes or contents are wrong."""
    date = int(run("git", "log", "-1", "--format=%ct", cwd=ROOT))
    built = []
    for name in ("first", "second"):
        sources = scratch / name / "sources"
        sources.mkdir(parents=True)
        run("git", "archive", "--format=tar", f"--output={scratch / name}.tar", "HEAD", cwd=ROOT)
        with tarfile.open(scratch / f"{name}.tar") as archive:
            archive.extractall(sources, filter="data")
        built.append(build(sources, scratch / name / "dist", date))
    for one, other in zip(*built, strict=True):
        if one.read_bytes() != other.read_bytes():
            raise ReleaseError(f"{one.name} has other bytes when it is built again")
    sdist, wheel = built[0]
    tracked = run("git", "ls-tree", "-r", "--name-only", "HEAD", cwd=ROOT).splitlines()
    with tarfile.open(sdist) as archive:
        names = [member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()]
    wrong = wrong_contents("sdist", names, tracked)
    with zipfile.ZipFile(wheel) as archive:
        wrong += wrong_contents("wheel", archive.namelist(), tracked)
    if wrong:
        raise ReleaseError("\n".join(wrong))
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    output.mkdir(parents=True, exist_ok=True)
    kept = [Path(shutil.copy2(path, output)) for path in (sdist, wheel)]
    return kept[0], kept[1]


class Installation:
    """Environment with nothing but a wheel, in a folder outside the repository."""

    def __init__(self, folder: Path):
        self.folder, self.bin = folder, folder / "venv" / "bin"
        run(sys.executable, "-m", "venv", folder / "venv")

    def install(self, requirement: str) -> None:
        """Install a requirement with pip."""
        run(
            self.bin / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            requirement,
            cwd=self.folder,
            env=self._environment(),
        )

    def faultwave(self, *words: str, compiler: bool = True) -> str:
        """Return the output of a command of the installation, on a machine with or without a C compiler."""
        return run(self.bin / "faultwave", *words, cwd=self.folder, env=self._environment(compiler))

    def _environment(self, compiler: bool = True) -> dict[str, str]:
        left = ("PYTHONPATH", "CC", "FAULTWAVE_MARCH", *(() if compiler else ("PATH",)))
        own = {name: value for name, value in os.environ.items() if name not in left}
        own["FAULTWAVE_CACHE"] = str(self.folder / ("cache" if compiler else "cache-zig"))
        return own if compiler else own | {"PATH": str(self.bin)}

    def megabytes(self) -> float:
        """Return the size [MB] of its files."""
        return sum(path.stat().st_size for path in self.bin.parent.rglob("*") if path.is_file()) / 1e6


def check_installation(wheel: Path, version: str, folder: Path) -> list[str]:
    """Install a wheel, run the demo with each compiler and return lines about what was found."""
    here = Installation(folder)
    here.install(str(wheel))
    found = [f"{wheel.name} with the packages that it requires: {here.megabytes():.0f} MB"]
    if (said := here.faultwave("--version").strip()) != f"faultwave {version}":
        raise ReleaseError(f"the installed command reports '{said}' instead of version {version}")
    present = any(shutil.which(name) for name in COMPILERS)
    if present:
        _demo(here, "demo", True)
        found.append("the demo runs with the compiler of this machine")
    else:
        found.append("NOT CHECKED: the demo with a compiler of the machine, which has none")
    try:
        here.faultwave("check", "tpv5", compiler=False)
    except ReleaseError as error:
        if "faultwave[compiler]" not in str(error):
            raise
    else:
        raise ReleaseError("without compiler, 'faultwave check tpv5' does not report that there is none")
    here.install(f"{wheel}[compiler]")
    found.append(f"with the extra compiler: {here.megabytes():.0f} MB")
    _demo(here, "demo-zig", False)
    found.append("the demo runs without compiler, by Zig")
    if present:
        here.faultwave("compare", "demo-zig", "demo")
        found.append("the results of both agree")
    return found


def _demo(here: Installation, output: str, compiler: bool) -> None:
    """Run the beginning of the demo and draw it."""
    here.faultwave("run", "tpv5", "--until", "0.2", "--output", output, compiler=compiler)
    here.faultwave("plot", output, compiler=compiler)
    if not list((here.folder / output).glob("*.png")):
        raise ReleaseError(f"'faultwave plot {output}' draws no picture")


def main(given: Sequence[str] | None = None) -> int:
    """Build and check; return the exit code."""
    parser = argparse.ArgumentParser(description="Build a release from the last commit and check it.")
    parser.add_argument("--final", action="store_true", help="version, date and changelog must be those of a release")
    parser.add_argument("--no-install", action="store_true", help="leave out the installation and the demo")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the two files (default dist)")
    options = parser.parse_args(given)
    missing = readiness(ROOT)
    changed = run("git", "status", "--porcelain", cwd=ROOT).strip()
    if changed:
        missing.append(f"uncommitted changes are not part of the release:\n{changed}")
    for text in missing:
        print(f"{'error' if options.final else 'not a release yet'}: {text}")
    if missing and options.final:
        return 1
    try:
        with tempfile.TemporaryDirectory(prefix="faultwave-release-") as scratch:
            sdist, wheel = build_twice(options.output.resolve(), Path(scratch))
            for path in (sdist, wheel):
                print(
                    f"{path}: {path.stat().st_size / 1e6:.1f} MB, the same bytes in two builds, contents and metadata are right"
                )
            if not options.no_install:
                print(*check_installation(wheel, version_of(ROOT), Path(scratch)), sep="\n")
    except ReleaseError as error:
        print(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
