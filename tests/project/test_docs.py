"""The documentation says nothing untrue that a machine can notice."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
MACHINE = re.compile(r"(?<![\w.~$}])/(?:tmp|root|work|home|mnt|opt|scratch|Users|private|var)/\w")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def tracked() -> list[Path]:
    """Files of the project itself: those git knows, else everything outside dot folders."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [p for p in ROOT.rglob("*") if p.is_file() and not any(part.startswith(".") for part in p.parts)]


def headings(page: Path) -> set[str]:
    """Anchors of a page: those that headings name, else as Markdown processors make them from headings."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    named = {t: m.group(1) for t in titles if (m := re.search(r"\{ *#([\w-]+) *\}$", t))}
    return {named.get(t) or re.sub(r"[^\w\s-]", "", t).strip().lower().replace(" ", "-") for t in titles}


def test_no_file_mentions_a_path_of_somebodys_machine():
    found = []
    for path in tracked():
        if path == Path(__file__) or path.suffix in {".h5", ".png", ".nc"}:
            continue
        if path.name == "Dockerfile":  # its paths are those of the image
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if MACHINE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


def test_the_search_for_machine_paths_finds_them():
    assert MACHINE.search("data lie in /home/" + "someone/x")
    assert MACHINE.search("'/tmp/" + "x'")
    assert not MACHINE.search("src/work/x and ~/tmp/x and https://host/home/x")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text()):
        if link.startswith(("http:", "https:", "mailto:")) or link.endswith(".png"):
            continue  # pictures are made by the demo; see test_pictures
        target, _, anchor = link.partition("#")
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in headings(there), f"{page.name}: {link}; there are {sorted(headings(there))}"


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r"([\w./-]+\.md)", navigation))
    assert listed == {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}


def test_the_commands_of_the_documentation_exist():
    from typer.main import get_command

    from faultwave.cli.main import app

    commands = get_command(app).commands
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        text = page.read_text()
        for name in re.findall(r"(?:^|`|/)faultwave ([a-z]+(?:-[a-z]+)*)\b", text, re.MULTILINE):
            assert name in commands, f"{page.name}: faultwave {name}"
        for name in re.findall(r"(?:^|`)make ([a-z]+)\b", text, re.MULTILINE):
            assert name in targets, f"{page.name}: make {name}"


def test_ci_runs_the_command_of_the_readme():
    assert "\nmake test-all\n" in (ROOT / ".ci" / "run").read_text()
    for command in ("make test", "make test-all"):
        assert re.search(rf"^{command} ", (ROOT / "README.md").read_text(), re.MULTILINE)
    recipe = re.search(r"^test-all:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    assert recipe[1].split() == ["$(MAKE)", "test", "$(MAKE)", "test-long", "$(MAKE)", "lint"]


def test_changelog_names_this_version_or_the_next():
    from faultwave import __version__

    text = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in text or f"## [{__version__}]" in text


def plan() -> dict[str, set[str]]:
    """Return the packages that each package may import, from the import contract, without subpackages."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows = (row.partition(":") for row in contracts[0]["may_import"])
    return {
        package: {w for w in allowed.split() if not w.startswith("-")}
        for package, _, allowed in rows
        if "." not in package
    }


def test_architecture_shows_the_import_contract():
    rows = re.findall(
        r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE
    )
    shown = {package: set(allowed.split()) - {"nothing"} for package, _, allowed in rows}
    assert shown == plan()
    for package, owns, _ in rows:
        root = ROOT / "src" / "faultwave"
        stands = (root / package / "__init__.py").exists() or (root / f"{package}.py").exists()
        assert stands != ("(to come)" in owns), f"{package}: architecture.md says otherwise"


def test_architecture_names_files_that_are_there():
    """The name in bold before them is the folder of the files."""
    text = (
        (ROOT / "docs" / "architecture.md")
        .read_text()
        .partition("## Inside the larger packages")[2]
        .partition("\n## ")[0]
    )
    sections = re.split(r"^\*\*`([\w/]+)`\*\*", text, flags=re.MULTILINE)[1:]
    named = [(package, name) for package, said in zip(sections[::2], sections[1::2], strict=True)
             for name in re.findall(r"`([\w/]+(?:\.py|/))`", said)]  # fmt: skip
    assert len(named) > 60 and {package for package, _ in named} == {"kernels", "dg", "fd", "backends/cpu"}
    assert [
        f"{package}/{name}" for package, name in named if not (ROOT / "src" / "faultwave" / package / name).exists()
    ] == []


def test_every_file_says_what_it_is_for():
    from tools.docs_hooks import files

    rows = re.findall(r"^\| `(\w+\.py)` \| (.*) \|$", files(), re.MULTILINE)
    there = [path.name for path in (ROOT / "src" / "faultwave").rglob("*.py")]
    assert sorted(name for name, _ in rows) == sorted(there)
    assert [name for name, said in rows if len(said) < 10] == []


def test_generated_parts_say_everything():
    from faultwave.case.settings.model import Case, Numerics
    from tools.docs_hooks import GENERATORS, on_page_markdown

    for name in GENERATORS:
        assert on_page_markdown(f"<!-- {name} -->") != f"<!-- {name} -->"
    settings = on_page_markdown((ROOT / "docs" / "settings.md").read_text())
    for declared in (Case, Numerics):
        for name, field in declared.model_fields.items():
            if field.description and name != "source_files":
                assert name in settings, name
    commands = on_page_markdown((ROOT / "docs" / "commands.md").read_text())
    assert "`faultwave mesh generate`" in commands
    assert "`--rupture-time`" in commands
    assert "linear-slip-weakening" in on_page_markdown((ROOT / "docs" / "laws.md").read_text())


def blocks() -> list[pytest.param]:
    """The YAML blocks of the pages that are cases, or say enough of one: with what the others of a case could be."""
    box = {"shape": "box", "cells": [4, 4, 6], "lower": [-6e3, -6e3, -9e3], "upper": [6e3, 6e3, 0]}
    sides = {"z+": "free-surface", "z-": "dirichlet"}
    found = []
    for page in PAGES:
        for number, text in enumerate(re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)):
            said = YAML(typ="safe").load(text)
            if "end_time" not in said and "dirichlet" in said:
                water = {"constant": {"rho": 1000.0, "lambda": 2.25e9}}
                said |= {"law": "acoustic", "mesh": {"generate": box | {"boundaries": sides}}, "material": water}
            elif "end_time" not in said and not {"law", "material"} <= said.keys():
                continue
            made = {"end_time": 60.0, "numerics": {"order": 2}, "mesh": {"generate": box}, "material": None} | said
            made = {k: v for k, v in made.items() if k in said or k == "end_time" or said.get("engine") != "fd"}
            found.append(pytest.param(made, id=f"{page.relative_to(ROOT)}-{number}"))
    return found


def test_there_are_examples_to_check():
    assert len(blocks()) >= 6


CAVITY = """SetFactory("OpenCASCADE");
Box(1) = {0, 0, 0, 0.03, 0.03, 0.03};
Box(2) = {0.03, 0, 0, 0.01, 0.03, 0.03};
BooleanFragments{ Volume{1}; Delete; }{ Volume{2}; Delete; }
Physical Volume("air") = {1};
Physical Volume("puck") = {2};
Physical Surface("walls") = {CombinedBoundary{ Volume{:}; }};
Mesh.MeshSizeMax = 0.005;
"""
LAYERS = "depth rho vp vs Qp Qs\n0 2000 2500 1200 100 50\n1000 2700 6000 3464 400 200\n"


def files(folder: Path) -> None:
    """What the pages leave to the reader."""
    from faultwave.domain.tets.formats.puml import write_puml
    from faultwave.domain.tets.generators.generate import generate

    box = {
        "shape": "box", "cells": (8, 8, 5), "lower": (-4e3, -4e3, -5e3), "upper": (4e3, 4e3, 0.0), "boundaries": {"z+": "free-surface"},
    }  # fmt: skip
    write_puml(folder / "box.h5", generate(box))
    (folder / "cavity.geo").write_text(CAVITY)
    (folder / "layers.txt").write_text(LAYERS)


FAULTED = {"generate": {"shape": "tpv5", "size": 1000.0, "far_size": 6000.0}}


@pytest.mark.parametrize("case", blocks())
def test_examples_can_run(case, tmp_path, monkeypatch):
    """Nothing is wrong with them, nor doubtful, beside meshes and layers that fit them, and that a page on rock shows no source."""
    from faultwave.run.planned import check

    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    mesh = case.get("mesh", {})
    if mesh.get("file") == "model.msh":
        case = case | {"mesh": FAULTED}
    elif mesh.get("file") == "cavity.msh":
        case = case | {"mesh": mesh | {"file": "cavity.geo"}}
    told = check(case).items
    assert not told or (case.keys() <= {"end_time", "numerics", "mesh", "law", "material"} and len(told) == 1), told
    assert all("so nothing moves" in p.what for p in told)
