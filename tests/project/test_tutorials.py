"""The tutorials, typed in as they stand: files, commands and Python."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from faultwave.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=[p.stem for p in PAGES])
def test_a_tutorial_works_as_it_stands(page, tmp_path, monkeypatch):
    pytest.importorskip("gmsh", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("MPLBACKEND", "agg")
    session: dict[str, object] = {}
    ran = 0
    for kind, title, text in BLOCK.findall(page.read_text()):
        if title:
            Path(title).write_text(text)
        elif kind == "bash":
            for line in text.splitlines():
                program, *words = shlex.split(line, comments=True)
                assert program == "faultwave"
                done = CliRunner().invoke(app, words)
                assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"
                ran += 1
        elif kind == "python":
            exec(compile(text, str(page), "exec"), session)  # names live on from block to block
            ran += 1
    assert ran
    for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text()):
        assert (page.parent / picture).is_file()
