"""The compile cache: hits, atomic writes, and errors that say what to do."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from faultwave import backends
from faultwave.backends.cpu import compile as compilation
from faultwave.backends.cpu import runtime
from faultwave.base.errors import BackendError
from faultwave.base.files import cache
from faultwave.base.log import status_listener
from faultwave.kernels.language import Kernel

SOURCE = "long run(void) { return 42; }\n"
CACHED = (compilation.compiler, compilation._identity, compilation._macros, compilation._version_text)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FAULTWAVE_CACHE", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache" / "kernels"
    forget()


def forget() -> None:
    for f in CACHED:
        f.cache_clear()


def counting(folder: Path, monkeypatch: pytest.MonkeyPatch, command: str = "gcc") -> Path:
    """A compiler that notes each compilation of a kernel; returns the file of notes."""
    notes, script = folder / "notes", folder / "cc-noting"
    script.write_text(f'#!/bin/sh\ncase "$*" in *-shared*) echo x >> {notes};; esac\nexec {command} "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(script))
    forget()
    return notes


def test_second_build_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = counting(tmp_path, monkeypatch)
    first = compilation.build([("answer", SOURCE)])["answer"]
    assert ctypes.CDLL(str(first)).run() == 42
    assert compilation.build([("answer", SOURCE)])["answer"] == first
    assert notes.read_text().count("x") == 1
    other = compilation.build([("answer", SOURCE.replace("42", "43"))])["answer"]
    assert other != first and ctypes.CDLL(str(other)).run() == 43
    assert notes.read_text().count("x") == 2


def test_clang_is_not_given_flags_that_it_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "clang"
    refused = 'case "$*" in *tree-pre*|*fno-gcse*) echo "unknown argument" >&2; exit 1;; esac'
    script.write_text(f'#!/bin/sh\n{refused}\nexec gcc -D__clang__=1 "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    forget()
    library = compilation.build([("answer", SOURCE)])["answer"]
    assert ctypes.CDLL(str(library)).run() == 42


def doubling(factor: float) -> Kernel:
    kernel = Kernel("doubling")
    x, y = kernel.batch("x", 3, 1), kernel.batch("y", 3, 1, "out")
    kernel.pointwise(lambda a: [[factor * a[0]]], [x], [y])
    return kernel


def made(kernel: Kernel) -> float:
    backend = backends.make("cpu", threads=1)
    x, y = backend.batch(8, 3, 1), backend.batch(8, 3, 1)
    x.put(1.5)
    backend.compile([kernel])["doubling"]({"x": x, "y": y})(0, 8)
    return float(y.get()[0, 0, 0])


def test_kernels_compiled_before_are_not_lowered_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(doubling(2.0)) == 3.0 and made(doubling(4.0)) == 6.0
    monkeypatch.setattr(runtime, "lower", lambda *_: pytest.fail("lowered again"))
    assert made(doubling(2.0)) == 3.0 and made(doubling(4.0)) == 6.0
    monkeypatch.undo()
    monkeypatch.setenv("FAULTWAVE_CACHE", str(own_cache.parent))
    for library in own_cache.glob("*.so"):
        library.unlink()
    assert made(doubling(2.0)) == 3.0, "what was thrown away is made anew"


def test_another_version_of_the_generator_makes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made(doubling(2.0))
    monkeypatch.setattr(compilation, "_generator", lambda: "another")
    monkeypatch.setattr(runtime, "lower", lambda *_: pytest.fail("lowered"))
    with pytest.raises(pytest.fail.Exception, match="lowered"):
        made(doubling(2.0))


def test_a_compiler_is_asked_once_and_a_script_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    plain = compilation.subprocess.run
    monkeypatch.setattr(
        compilation.subprocess, "run", lambda command, **how: asked.append(command) or plain(command, **how)
    )
    monkeypatch.setenv("CC", "gcc")
    forget()
    told = compilation._identity()
    assert len(asked) == 2
    forget()
    assert compilation._identity() == told and len(asked) == 2
    script = tmp_path / "cc-script"
    script.write_text('#!/bin/sh\nexec gcc "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    for times in (2, 4):
        forget()
        compilation._identity()
        assert len(asked) == 2 + times


def test_another_compiler_is_another_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compilation.build([("answer", SOURCE)])["answer"]
    counting(tmp_path, monkeypatch)
    assert compilation.build([("answer", SOURCE)])["answer"] != first


def test_many_builders_at_once_leave_whole_libraries_only(own_cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = {str(f) for f in pool.map(lambda _: compilation._build_one("answer", SOURCE), range(8))}
    assert len(found) == 1
    assert [p.name for p in own_cache.iterdir()] == [Path(found.pop()).name]  # no scratch left


def test_failed_compilation_says_why_and_leaves_nothing(own_cache: Path) -> None:
    with pytest.raises(BackendError, match=r"kernel broken failed(.|\n)*error"):
        compilation.build([("broken", "int run(void) { return missing; }")])
    assert not list(own_cache.iterdir())


def test_a_damaged_library_says_so_and_goes(own_cache: Path) -> None:
    library = compilation.build([("answer", SOURCE)])["answer"]
    library.write_bytes(library.read_bytes()[:100])
    with pytest.raises(BackendError, match="compiled again in the next run"):
        compilation.load(str(library))
    assert compilation.load(str(compilation.build([("answer", SOURCE)])["answer"]))


def flipped(content: bytes, seed: int) -> bytes:
    """Three bits of a file changed, anywhere."""
    damaged = bytearray(content)
    for place in np.random.default_rng(seed).choice(8 * len(content), 3, replace=False):
        damaged[place // 8] ^= 1 << (place % 8)
    return bytes(damaged)


@pytest.mark.parametrize("seed", range(8))
def test_a_library_with_flipped_bits_is_made_anew_and_reported(own_cache: Path, seed: int, caplog) -> None:
    assert made(doubling(2.0)) == 3.0
    (library,) = own_cache.glob("doubling-*.so")
    whole = library.read_bytes()
    library.unlink()  # this process has it in its memory
    library.write_bytes(flipped(whole, seed))
    library.chmod(0o755)
    assert made(doubling(2.0)) == 3.0
    assert f"{library} in the cache is damaged: its checksum does not match; it is created again" in caplog.text
    assert cache.is_sealed(library) and len(library.read_bytes()) == len(whole)


@pytest.mark.parametrize(
    "damage", [lambda c: c[:100], lambda c: b"", lambda c: c[:-1], lambda c: c + b"x", lambda c: c[:-48]]
)
def test_a_library_of_another_length_is_made_anew(own_cache: Path, damage, caplog) -> None:
    library = compilation.build([("answer", SOURCE)])["answer"]
    library.write_bytes(damage(library.read_bytes()))
    again = compilation.build([("answer", SOURCE)])["answer"]
    assert compilation.load(str(again)).run() == 42 and "is damaged" in caplog.text


def test_processes_that_find_the_same_damage_leave_one_whole_library(own_cache: Path, tmp_path: Path) -> None:
    library = compilation.build([("answer", SOURCE)])["answer"]
    library.write_bytes(flipped(library.read_bytes(), 0))
    program = (
        "from faultwave.backends.cpu import compile as c\n"
        f"print(c.load(str(c.build([('answer', {SOURCE!r})])['answer'])).run())\n"
    )
    begun = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [p.communicate(timeout=600)[0] for p in begun] == ["42\n"] * 4
    assert [p.name for p in own_cache.iterdir()] == [library.name] and cache.is_sealed(library)


def test_a_damaged_text_is_found_out_again(own_cache: Path, caplog) -> None:
    cache.store_text("what was found", "things", "key")
    (place,) = (own_cache.parent / "things").iterdir()
    assert cache.load_text("things", "key") == "what was found" and stat.S_IMODE(place.stat().st_mode) == 0o600
    place.write_bytes(place.read_bytes().replace(b"found", b"fount"))
    assert cache.load_text("things", "key") is None and "is damaged" in caplog.text
    cache.store_text("what was found", "things", "key")
    assert cache.load_text("things", "key") == "what was found"


def test_a_file_that_others_may_write_is_not_read(own_cache: Path) -> None:
    cache.write_sealed(own_cache / "a", b"content")
    assert cache.read_sealed(own_cache / "a") == b"content"
    own_cache.chmod(0o777)
    assert cache.read_sealed(own_cache / "a") is None
    own_cache.chmod(0o700)
    (own_cache / "a").chmod(0o666)
    assert cache.read_sealed(own_cache / "a") is None


@pytest.mark.parametrize("kind", ("file in the way", "read-only"))
def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    root = tmp_path / "blocked"
    if kind == "file in the way":
        root.write_text("not a folder")
    else:
        root.mkdir(mode=0o500)
        if os.access(root, os.W_OK):
            pytest.skip("this user may write everywhere")
    monkeypatch.setenv("FAULTWAVE_CACHE", str(root))
    with pytest.raises(BackendError, match="FAULTWAVE_CACHE"):
        compilation.build([("answer", SOURCE)])


def test_compiler_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    forget()
    with pytest.raises(BackendError, match="no-such-compiler"):
        compilation.compiler()
    monkeypatch.setenv("CC", "gcc -DANSWER=7")
    forget()
    library = compilation.build([("answer", "long run(void) { return ANSWER; }")])["answer"]
    assert ctypes.CDLL(str(library)).run() == 7


def test_compiler_that_does_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "cc-broken"
    script.write_text("#!/bin/sh\necho no licence >&2\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    forget()
    with pytest.raises(BackendError, match="does not work: no licence"):
        backends.make("cpu")
    monkeypatch.setenv("CC", "true")  # succeeds, and makes nothing
    forget()
    with pytest.raises(BackendError, match="'true' does not work: no source was compiled; set CC"):
        backends.make("cpu")


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FAULTWAVE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compilation.cache_folder() == tmp_path / "faultwave" / "kernels"


def test_code_that_others_may_have_put_there_is_not_loaded(monkeypatch, tmp_path):
    monkeypatch.setenv("FAULTWAVE_CACHE", str(tmp_path))
    library = compilation.build([("mine", "int one(void) { return 1; }")])["mine"]
    assert not library.stat().st_mode & 0o022
    library.chmod(0o777)
    with pytest.raises(BackendError, match="can be written by others.*FAULTWAVE_CACHE"):
        compilation.build([("mine", "int one(void) { return 1; }")])
    library.chmod(0o755)
    library.parent.chmod(0o777)
    with pytest.raises(BackendError, match="can be written by others"):
        compilation.build([("mine", "int one(void) { return 1; }")])
    library.parent.chmod(0o755)
    monkeypatch.setattr(compilation.os, "geteuid", lambda: 12345)
    monkeypatch.setattr(cache, "_own_groups", frozenset)
    if library.stat().st_uid != 0:  # root may write everywhere anyway
        with pytest.raises(BackendError, match="belongs to user"):
            compilation.build([("mine", "int one(void) { return 1; }")])


def test_kernels_compile_while_the_program_goes_on_and_one_that_cannot_is_told_by_finish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = backends.make("cpu", threads=1)
    backend.compile([doubling(3.0)])
    backend.finish()
    monkeypatch.setattr(runtime, "lower", lambda *_: "this is no C")
    backend.compile([doubling(5.0)])
    with pytest.raises(BackendError, match="compiling kernel doubling failed"):
        backend.finish()


def test_the_first_compilation_is_told(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    heard: list[str] = []
    compilation._tell.cache_clear()
    with status_listener(heard.append):
        compilation.build([("answer", SOURCE), ("other", SOURCE.replace("42", "44"))])
        compilation.build([("answer", SOURCE)])
    assert len(heard) == 1 and str(own_cache) in heard[0]


def test_a_program_that_ends_waits_for_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during set-up: compilers are stopped, what is queued is not begun, and nothing is left in the cache."""
    marks, script = tmp_path / "marks", tmp_path / "cc-slow"
    marks.mkdir()
    script.write_text(f'#!/bin/sh\ncase "$*" in *-shared*) touch {marks}/$$; sleep 600;; esac\nexec gcc "$@"\n')
    script.chmod(0o755)
    program = (
        "import pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # shells have programs in the background ignore it
        "from faultwave.backends.cpu import compile as compilation\n"
        "made = compilation.begin_building((f'k{i}', f'long run(void) {{ return {i}; }}') for i in range(40))\n"
        f"while not any(pathlib.Path({str(marks)!r}).iterdir()):\n"
        "    time.sleep(0.05)\n"
        "signal.raise_signal(signal.SIGINT)\n"
    )
    env = dict(os.environ, CC=str(script), FAULTWAVE_CACHE=str(tmp_path / "own"))
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=300)
    assert "KeyboardInterrupt" in done.stderr
    assert 1 <= len(list(marks.iterdir())) < 40
    assert not [path for path in (tmp_path / "own" / "kernels").iterdir() if not path.name.startswith(".")]
