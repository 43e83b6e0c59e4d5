"""The quick start, typed in as it stands."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall((ROOT / page).read_text()) if kind == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the quick start's case, in which its commands have been run."""
    from faultwave.cli.main import app

    where = tmp_path_factory.mktemp("quickstart")
    (case,) = blocks("docs/quickstart.md", "yaml")
    name = re.match(r"# (\S+\.yaml)\n", case)[1]
    (where / name).write_text(case)
    (commands,) = [b for b in blocks("docs/quickstart.md", "bash") if name in b]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        patch.setenv("COLUMNS", "100")
        for line in commands.splitlines():
            program, *arguments = shlex.split(line, comments=True)
            assert program == "faultwave"
            done = CliRunner().invoke(app, arguments)
            assert done.exit_code == 0, f"{line}\n{done.stdout}\n{done.stderr}\n{done.exception!r}"
    return where


def test_nothing_is_wrong_with_the_case_on_the_page(tmp_path):
    from faultwave.case.load import load_case
    from faultwave.run.planned import check

    (text,) = blocks("docs/quickstart.md", "yaml")
    (tmp_path / "quake.yaml").write_text(text)
    case, found = load_case(tmp_path / "quake.yaml")
    assert [str(p) for p in found.items] == [] and case is not None
    assert [str(p) for p in check(case).items] == []


def test_the_commands_leave_results_and_pictures(folder):
    names = {p.suffix for p in (folder / "quake").iterdir()}
    assert {".h5", ".csv", ".png", ".json"} <= names


def test_the_python_code_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    session: dict[str, object] = {}
    for code in blocks("docs/quickstart.md", "python"):
        exec(compile(code, "docs/quickstart.md", "exec"), session)  # names live on from block to block
    printed = capsys.readouterr().out
    assert float(re.search(r"first receiver: (\S+) m/s", printed)[1]) > 0
    assert session["v1"].shape == (len(session["time"]), 2)


def test_the_page_on_python_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    session: dict[str, object] = {}
    for code in blocks("docs/guide/python.md", "python"):
        exec(compile(code, "docs/guide/python.md", "exec"), session)
    printed = capsys.readouterr().out
    (shown,) = re.findall(r"print\(sim\) +# (.*)", (ROOT / "docs/guide/python.md").read_text())
    assert shown in printed.splitlines()
    assert "0.100 of 0.1 s" in printed and "already holds a run" in printed
    assert all(picture.exists() for picture in session["pictures"])


def test_what_is_misspelt_is_found(folder):
    from faultwave.cli.main import app

    wrong = folder / "wrong.yaml"
    wrong.write_text((folder / "quake.yaml").read_text().replace("order: 3", "ordr: 3"))
    done = CliRunner().invoke(app, ["check", str(wrong)], env={"COLUMNS": "100"})
    assert done.exit_code == 2
    line = next(n for n, text in enumerate(wrong.read_text().splitlines(), 1) if "ordr" in text)
    assert f"wrong.yaml:{line}" in done.stderr
    assert "did you mean 'order'" in done.stderr


def cases() -> list[tuple[str, str]]:
    """Pages with a whole case (it has an end_time) in YAML."""
    pages = ["README.md", "docs/guide/cases.md", "docs/quickstart.md"]
    return [(page, code) for page in pages for code in blocks(page, "yaml") if "end_time" in code]


@pytest.mark.parametrize(("page", "code"), cases(), ids=[page for page, _ in cases()])
def test_whole_cases_in_the_documentation_load(page, code, tmp_path):
    from faultwave.case.load import load_case

    (tmp_path / "case.yaml").write_text(code)
    for name in ("model.msh", "box.h5"):
        (tmp_path / name).touch()  # the meshes that the pages name
    case, problems = load_case(str(tmp_path / "case.yaml"), {})
    assert not problems.items
    assert case.end_time > 0
