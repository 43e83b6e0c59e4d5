"""Measure how plane waves of every law converge, and put the tables into docs/theory/exact-solutions.md.

    python tools/convergence_tables.py [LAW ...]

Without a law all are measured (some minutes). A table stands between two marks of its law; those of other laws stay as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from faultwave.verify import convergence
from faultwave.verify.cases import attenuation, plane_wave
from faultwave.verify.cases import plane_waves_in_rock as in_rock
from faultwave.verify.convergence import Errors
from faultwave.verify.exact.plane_waves import acoustic_convergence, elastic_convergence

PAGE = Path(__file__).parent.parent / "docs/theory/exact-solutions.md"
Measure = Callable[..., Errors]


def _plain(law: str, columns: tuple[int, int], progress: Callable[[str], None]) -> Errors:
    waves = elastic_convergence() if law == "elastic" else acoustic_convergence()
    return plane_wave.measure(law, waves, columns, plane_wave.GRIDS, progress)


def _in_rock(waves: in_rock.LawWaves, grids: in_rock.Grids, progress: Callable[[str], None]) -> Errors:
    return in_rock.measure(waves, grids, progress)


LAWS: dict[str, tuple[tuple[str, ...], Measure]] = {
    "acoustic": (("pressure", "v1"), partial(_plain, "acoustic", (0, 1))),
    "elastic": (("s_xx", "v1"), partial(_plain, "elastic", (0, 6))),
    "viscoelastic": (attenuation.NAMES, partial(attenuation.measure, attenuation.GRIDS)),
    "anisotropic": (
        in_rock.NAMES["anisotropic"],
        partial(_in_rock, in_rock.ANISOTROPIC_WAVES, in_rock.SKEWED_GRIDS),
    ),
    "poroelastic": (
        in_rock.NAMES["poroelastic"],
        partial(_in_rock, in_rock.POROUS_WAVES, in_rock.GRIDS),
    ),
}
"""What is judged of each law, and how it is measured."""


def marks(law: str) -> tuple[str, str]:
    """Return the comments around the table of a law."""
    return f"<!-- {law} plane waves: begin -->\n", f"<!-- {law} plane waves: end -->\n"


def written(page: str, law: str, table: list[str]) -> str:
    """Return the page with a new table between the comments of a law; raise ValueError if they are missing."""
    begin, end = marks(law)
    found, count = re.subn(
        re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + "\n".join(table) + "\n" + end, page, flags=re.S
    )
    if count != 1:
        raise ValueError(f"{PAGE} has {count} places for the table of {law}, not one")
    return found


def main(wanted: list[str]) -> None:
    """Update the tables of the given laws, or of all."""
    for law in wanted or LAWS:
        names, measure = LAWS[law]
        table = convergence.markdown(measure(progress=print), names)
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), law, table), encoding="utf-8")
        print(*table, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
