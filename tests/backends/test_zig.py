"""Kernels compiled by Zig, of the extra ``compiler``, on machines without a C compiler; and installations that lack a part."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultwave import backends
from faultwave.backends import zig
from faultwave.backends.cpu import compile as compilation
from faultwave.base.errors import BackendError

SOURCE = "long run(void) { return 42; }\n"
CACHED = (compilation.compiler, compilation._identity, compilation._macros, compilation._version_text)
installed = pytest.mark.skipif(bool(zig.missing()), reason=zig.missing())


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FAULTWAVE_CACHE", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache"
    forget()


def forget() -> None:
    for function in CACHED:
        function.cache_clear()


def without_compiler(monkeypatch: pytest.MonkeyPatch, folder: Path, *packages: str) -> None:
    """A machine without a C compiler, on which some of the two packages are installed."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(zig, "program", lambda: "/packages/ziglang/zig" if "ziglang" in packages else None)
    openmp = ("/packages/include", "/packages/lib")
    monkeypatch.setattr(zig, "_openmp", lambda: openmp if "cmeel-libomp" in packages else None)
    forget()


@pytest.mark.parametrize(
    ("packages", "absent"),
    [
        ((), "ziglang and cmeel-libomp are not installed"),
        (("ziglang",), "cmeel-libomp is not installed"),
        (("cmeel-libomp",), "ziglang is not installed"),
    ],
)
def test_without_compiler_the_message_names_the_packages(
    packages: tuple[str, ...], absent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compiler(monkeypatch, tmp_path, *packages)
    with pytest.raises(BackendError) as found:
        backends.make("cpu")
    assert str(found.value) == (
        "the cpu backend needs a C compiler and found none. Install gcc (Debian/Ubuntu: apt install gcc libc6-dev; "
        f"conda: conda install gcc) or, as Python packages, Zig ({absent}: pip install 'faultwave[compiler]'), "
        "or set CC. Without one, backend='numpy' runs small cases"
    )
    monkeypatch.setenv("CC", "zig cc")
    with pytest.raises(BackendError, match=f"CC=zig cc cannot be used: {absent}"):
        compilation.compiler()


def test_zig_compiles_where_there_is_no_other_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_compiler(monkeypatch, tmp_path, "ziglang", "cmeel-libomp")
    words = compilation.compiler()
    assert words[:2] == ("/packages/ziglang/zig", "cc")
    assert {"/packages/include", "-L/packages/lib", "-lomp", "-Wl,-rpath,/packages/lib"} <= set(words)
    gcc = tmp_path / "gcc"
    gcc.write_text("#!/bin/sh\n")
    gcc.chmod(0o755)
    forget()
    assert compilation.compiler() == ("gcc",)
    monkeypatch.setenv("CC", "zig")
    forget()
    assert compilation.compiler() == words


@installed
def test_processors_have_the_names_of_gcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "zig")
    monkeypatch.setenv("FAULTWAVE_MARCH", "x86-64-v3")
    assert compilation.flags()[0] == "-march=x86_64_v3" and "-fno-gcse" not in compilation.flags()
    assert compilation.vector_bytes() == 32
    forget()
    monkeypatch.setenv("FAULTWAVE_MARCH", "no-such-processor")
    with pytest.raises(BackendError, match="FAULTWAVE_MARCH=no-such-processor: error: "):
        compilation.vector_bytes()


@installed
def test_code_of_zig_comes_from_a_cache_of_this_user(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "zig")
    scratch = own_cache / "scratch"
    environment = compilation._environment(scratch)
    assert environment is not None and environment["ZIG_LOCAL_CACHE_DIR"] == str(scratch)
    cache = Path(environment["ZIG_GLOBAL_CACHE_DIR"])
    assert cache == own_cache / "zig" and stat.S_IMODE(cache.stat().st_mode) == 0o700
    cache.chmod(0o777)
    with pytest.raises(BackendError, match="can be written by others"):
        compilation.version()
    cache.rmdir()
    cache.write_text("a file in the way")
    with pytest.raises(BackendError, match="cannot be written.*FAULTWAVE_CACHE"):
        compilation.version()


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("a.c:1:10: fatal error: 'omp.h' file not found", "OpenMP of this compiler.*apt install libomp-dev with clang"),
        ("ld: cannot find -lomp: No such file or directory", "OpenMP of this compiler"),
        ("a.c:1:10: fatal error: math.h: No such file or directory", "the C library's headers.*apt install libc6-dev"),
        ("/usr/bin/ld: cannot find crti.o: No such file", "the C library's headers"),
        ("a.c:3:1: error: expected expression", ""),
    ],
)
def test_incomplete_compilers_say_what_to_install(
    said: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "cc-incomplete"
    script.write_text(f'#!/bin/sh\ncase "$*" in *-shared*) echo "{said}" >&2; exit 1;; esac\nexec gcc "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(BackendError) as found:
        compilation.build([("answer", SOURCE)])
    last = str(found.value).splitlines()[-1]
    if advice:
        assert re.search(advice, last) and last.endswith("CC=zig")
    else:
        assert last == said
