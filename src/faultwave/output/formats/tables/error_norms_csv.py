"""Table ``variable,norm,error`` of errors against an exact solution, as in SeisSol's analysis file: PREFIX-analysis.csv."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from faultwave.observe.result import Result
from faultwave.output.atomic import atomic_text
from faultwave.output.writers import Writer


def _writer(numbered: bool) -> Callable[[Sequence[Result], Path, str], list[Path]]:
    """Return the write function; with ``numbered``, quantities are identified by number instead of name."""

    def write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
        path, data = folder / f"{prefix}-analysis.csv", results[0].data
        names = [str(int(i)) for i in data["number"]] if numbered else data.attrs["quantities"]
        with atomic_text(path) as file:
            file.write("variable,norm,error\n")
            for i, variable in enumerate(names):
                file.writelines(f"{variable},{n},{data[n][i]:.16e}\n" for n in data.variables if n != "number")
        return [path]

    return write


RESULTS = [Writer(("error_norms",), _writer(False), ("native",)), Writer(("error_norms",), _writer(True), ("seissol",))]
