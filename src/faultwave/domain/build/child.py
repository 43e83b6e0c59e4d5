"""The process in which Gmsh builds a mesh: ``python -P -m faultwave.domain.build.child BOX MESHED``. A geometry can make Gmsh crash, which
must not end a run without a word. Exit code 1: the last line on standard output says what Gmsh made of it; 3: Gmsh cannot be loaded."""

from __future__ import annotations

import sys
from pathlib import Path

from faultwave.domain.build.flat import FlatBox


def main(given: str, made: str) -> int:
    try:
        from faultwave.domain.build.geometry import mesh
    except (ImportError, OSError) as error:  # OSError where its shared libraries lack some of theirs
        print(" ".join(str(error).split()))
        return 3
    try:
        mesh(FlatBox.load(Path(given))).save(Path(made))
    except Exception as error:  # Gmsh raises this and nothing narrower
        print(" ".join(str(error).split()) or type(error).__name__)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2]))
