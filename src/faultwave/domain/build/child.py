"""Process in which Gmsh builds a mesh: ``python -P -m faultwave.domain.build.child BOX MESHED SECONDS``.

A geometry can make Gmsh crash, which must not end a run silently, or run for ever, so processor time is limited to
SECONDS. Exit code 1: the last line on standard output is the error of Gmsh; 3: Gmsh cannot be loaded.
"""

from __future__ import annotations

import sys
from pathlib import Path

from faultwave.domain.build.flat import FlatBox
from faultwave.domain.tets.gmsh.child import limit_time


def main(given: str, made: str, seconds: str) -> int:
    """Mesh the region of file ``given`` into file ``made`` within ``seconds``, and return the exit code of the process."""
    try:
        from faultwave.domain.build.geometry import mesh
    except (ImportError, OSError) as error:  # OSError if shared libraries are missing
        print(" ".join(str(error).split()))
        return 3
    limit_time(float(seconds))
    try:
        mesh(FlatBox.load(Path(given))).save(Path(made))
    except Exception as error:  # Gmsh raises this and nothing more specific
        print(" ".join(str(error).split()) or type(error).__name__)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:4]))
