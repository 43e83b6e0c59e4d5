"""kernels list and show."""


def test_list(cli):
    result = cli("kernels", "list", "--order", 2)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    names = [line[0] for line in lines if line]
    assert "predict" in names
    assert "rupture-linear-slip-weakening" in names  # never broken in two
    assert all(int(line[1].replace(",", "")) > 0 for line in lines if line and line[0] == "predict")


def test_show_prints_every_stage(cli):
    result = cli("kernels", "show", "correct", "--backend", "cpu", "--order", 2)
    assert result.exit_code == 0
    at = [result.stdout.index(text) for text in ("statements ", "lifted = ", "cpu source ", "void run(")]
    assert at == sorted(at)


def test_the_reference_runs_the_statements_themselves(cli):
    result = cli("kernels", "show", "correct", "--backend", "numpy", "--order", 2)
    assert "statements " in result.stdout
    assert "source" not in result.stdout


def test_an_unknown_kernel(cli):
    result = cli("kernels", "show", "corect", "--order", 2)
    assert result.exit_code == 2
    assert "did you mean 'correct'" in result.stderr


def test_an_unknown_backend(cli):
    result = cli("kernels", "show", "correct", "--backend", "cupa", "--order", 2)
    assert result.exit_code == 1
    assert "did you mean 'cuda'" in result.stderr.replace("\n", " ")
