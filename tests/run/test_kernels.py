"""The catalogue of kernels and the stages of their lowering."""

import pytest

from faultwave.base.errors import BackendError, InputError
from faultwave.faults import laws as friction_laws
from faultwave.kernels.text import cost, formulas_text, statements_text
from faultwave.laws import laws as wave_laws
from faultwave.run.kernels import catalogue, kernel_stages, kernel_table


@pytest.mark.parametrize("law", wave_laws())
def test_every_kernel_of_every_law_can_be_read(law):
    found = catalogue(2, law)
    assert {"predict", "correct", "integrate", "slow_traces_3", "fault_traces_0"} <= set(found)
    assert {f"rupture-{name}" for name in friction_laws()} <= set(found)
    for name, kernel in found.items():
        text = statements_text(kernel)
        assert all(f" {array}" in text for array in kernel.arrays), name
        assert formulas_text(kernel)
        assert cost(kernel).flops > 0
        assert cost(kernel).bytes > 0


def test_work_grows_with_the_order():
    work = [cost(catalogue(order)["predict"]).flops for order in (2, 3, 4)]
    assert work == sorted(work)
    assert work[2] > 4 * work[0]


def test_the_table_has_a_row_for_every_kernel():
    header, rows = kernel_table(2)
    assert [row[0] for row in rows] == list(catalogue(2))
    assert all(len(row) == len(header) for row in rows)


def test_stages_of_the_cpu_backend():
    stages = dict(kernel_stages("correct", backend="cpu", order=2, precision="single"))
    assert list(stages) == ["statements", "formulas", "source of the cpu backend, single"]
    assert "#define R float" in stages["source of the cpu backend, single"]
    assert "void run(" in stages["source of the cpu backend, single"]


def test_the_reference_runs_the_statements_themselves():
    assert [stage for stage, _ in kernel_stages("correct", backend="numpy", order=2)] == ["statements", "formulas"]


def test_what_does_not_exist():
    with pytest.raises(InputError, match="did you mean 'correct'"):
        kernel_stages("corect")
    with pytest.raises(BackendError, match="cuda"):
        kernel_stages("correct", backend="cuda", order=2)
    with pytest.raises(InputError, match="2 to 8"):
        catalogue(9)
    with pytest.raises(InputError, match="double, single"):
        kernel_stages("correct", precision="half", order=2)
    with pytest.raises(InputError):
        catalogue(2, "elastik")
