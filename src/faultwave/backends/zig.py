"""Zig's C compiler with LLVM's OpenMP library, from Python packages: for machines without a C compiler.

The extra ``compiler`` installs both. Zig brings clang, a linker and the headers of the C library, but no OpenMP.
"""

from __future__ import annotations

import importlib.util
import os
from importlib import metadata
from pathlib import Path

from faultwave.base.files.cache import cache_root

EXTRA = "pip install 'faultwave[compiler]'"
"""Command that installs both packages."""
OPENMP = "cmeel-libomp"


def program() -> str | None:
    """Return the path of Zig in the package ziglang; None if it is not installed."""
    spec = importlib.util.find_spec("ziglang")
    found = [Path(place) / "zig" for place in spec.submodule_search_locations or ()] if spec else []
    return next((str(path) for path in found if path.exists()), None)


def command() -> tuple[str, ...]:
    """Return the words of a command that compiles C with OpenMP; none if a package is absent."""
    zig, openmp = program(), _openmp()
    if zig is None or openmp is None:
        return ()
    include, libraries = openmp
    return (zig, "cc", "-isystem", include, f"-L{libraries}", "-lomp", f"-Wl,-rpath,{libraries}")


def _openmp() -> tuple[str, str] | None:
    """Return the folders of OpenMP's header and library; None if the package is not installed."""
    try:
        prefix = Path(str(metadata.distribution(OPENMP).locate_file("cmeel.prefix")))
    except metadata.PackageNotFoundError:
        return None
    include, libraries = prefix / "include", prefix / "lib"
    complete = (include / "omp.h").exists() and (libraries / "libomp.so").exists()
    return (str(include), str(libraries)) if complete else None


def missing() -> str:
    """Return which of the two packages is absent and how to install it; empty if both are installed."""
    absent = [name for name, found in (("ziglang", program()), (OPENMP, _openmp())) if found is None]
    return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed: {EXTRA}" if absent else ""


def processor(march: str) -> str:
    """Return Zig's name of a processor that gcc and clang name ``march``, such as x86-64-v3."""
    return march.replace("-", "_")


def cache() -> Path:
    """Return the folder in which Zig stores its run-time library and stubs of the C library, used by all kernels."""
    return cache_root() / "zig"


def environment(scratch: Path | None = None) -> dict[str, str]:
    """Return the environment of Zig: its caches are in Faultwave's, those of one compilation in ``scratch``."""
    return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(cache()), "ZIG_LOCAL_CACHE_DIR": str(scratch or cache())}
