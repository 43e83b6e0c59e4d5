"""kernels list and show."""

import pytest

from faultwave.backends.cpu.compile import assembles
from faultwave.base.errors import suggest


def test_list(cli):
    result = cli("kernels", "list", "--order", 2)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    names = [line[0] for line in lines if line]
    assert "predict" in names
    assert "rupture-linear-slip-weakening" in names  # never broken in two
    assert all(int(line[1].replace(",", "")) > 0 for line in lines if line and line[0] == "predict")


def test_list_of_grids_names_programs_and_stencils(cli):
    result = cli("kernels", "list", "--engine", "fd")
    assert result.exit_code == 0
    rows = [line.split()[:2] for line in result.stdout.splitlines() if line]
    for row in (
        ["plain", "velocity"],
        ["hill", "velocity_cap"],
        ["order-8", "velocity_order8"],
        ["iwan", "soil_elements0_inside"],
        ["fault-ageing", "fault-ageing/slide_yx"],  # as that of slip weakening is another
    ):
        assert row in rows


def test_show_prints_every_stage(cli):
    result = cli("kernels", "show", "correct", "--backend", "cpu", "--order", 2)
    assert result.exit_code == 0
    at = [
        result.stdout.index(text)
        for text in ("mathematics ", "lifted(face0_x, face0_y, face0_z) = ", "cpu source ", "void run(")
    ]
    assert at == sorted(at)
    assert "vfmadd" not in result.stdout


@pytest.mark.skipif(not assembles(), reason="contractions are assembly on x86-64 with fused multiply-add only")
def test_show_prints_assembly_on_request(cli):
    result = cli("kernels", "show", "correct", "--backend", "cpu", "--order", 2, "--asm")
    assert "vfmadd" in result.stdout


@pytest.mark.parametrize("backend", ["cpu", "numpy", "cuda"])
def test_show_a_stencil(cli, backend):
    result = cli("kernels", "show", "stress", "--engine", "fd", "--backend", backend)
    assert result.exit_code == 0
    assert "divergence = du_dx + dv_dy + dw_dz\n" in result.stdout
    assert ("static void stress(" in result.stdout) == (backend == "cpu")


def test_show_a_program_of_grids(cli):
    result = cli("kernels", "show", "plain", "--engine", "fd")
    assert result.exit_code == 0
    assert "velocity: mathematics" in result.stdout and "stress_surface: mathematics" in result.stdout


def test_suggestions_differ_from_what_was_given(cli):
    result = cli("kernels", "show", "plainn", "--engine", "fd")
    assert result.exit_code == 2 and "did you mean 'plain'" in result.stderr
    assert suggest("plain", ["plain"]) == ""
    assert suggest("plain", ["plain", "plains"]) == "did you mean 'plains'?"


def test_a_stencil_for_an_unknown_backend(cli):
    result = cli("kernels", "show", "stress", "--engine", "fd", "--backend", "cupa")
    assert result.exit_code == 2 and "did you mean 'cuda'" in result.stderr


def test_the_reference_runs_the_statements_themselves(cli):
    result = cli("kernels", "show", "correct", "--backend", "numpy", "--order", 2)
    assert "mathematics " in result.stdout
    assert "source" not in result.stdout


def test_an_unknown_kernel(cli):
    result = cli("kernels", "show", "corect", "--order", 2)
    assert result.exit_code == 2
    assert "did you mean 'correct'" in result.stderr


def test_an_unknown_backend(cli):
    result = cli("kernels", "show", "correct", "--backend", "cupa", "--order", 2)
    assert result.exit_code == 1
    assert "did you mean 'cuda'" in result.stderr.replace("\n", " ")


def test_report_breaks_no_word(cli, monkeypatch):
    header = ("kernel", "registers", "spilled bytes", "occupancy", *["fast memory bytes"] * 8)
    row = ("rupture-linear-slip-weakening", *["1,234,567"] * 11)
    monkeypatch.setattr(
        "faultwave.bench.kernel_report.kernel_report", lambda *asked: (" ".join(map(str, asked)), header, [row])
    )
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli("kernels", "report", "--arch", "gfx90a").stdout.splitlines()
    assert lines[0].startswith("gfx90a () 4 double"), "the architecture tells the backend"
    assert {"registers", "spilled", "occupancy", "memory"} <= {word for line in lines for word in line.split()}
    assert lines[-1].split() == list(row)


def test_report_of_an_architecture_of_another_backend(cli):
    result = cli("kernels", "report", "--backend", "hip", "--arch", "sm_90")
    assert result.exit_code == 2
    assert "'sm_90' is not a processor of the backend 'hip'" in result.stderr and "gfx90a, gfx942" in result.stderr
    result = cli("kernels", "report", "--backend", "opencl")
    assert result.exit_code == 2 and "'opencl' has no architectures" in result.stderr
