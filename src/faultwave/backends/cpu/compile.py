"""Compilation of C source to shared libraries, by concurrent compilers, cached by everything that can change the result."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import functools
import hashlib
import os
import platform
import queue
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from faultwave.backends import zig
from faultwave.backends.cpu.sparse import NEEDED
from faultwave.base.errors import BackendError
from faultwave.base.files.cache import (
    cache_root,
    is_sealed,
    load_text,
    scratch_folder,
    store_text,
    writable_by_others,
    write_sealed,
)
from faultwave.base.log import report_status
from faultwave.base.processes import host
from faultwave.base.wording import option

Job = tuple[Callable[[], Path], "Future[Path]"]


class Compilers:
    """Threads that wait for compilers.

    ``concurrent.futures`` would finish its whole queue before the program ends, even after Ctrl-C. Here compilers are stopped
    and queued jobs are dropped.
    """

    def __init__(self, count: int):
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.running: set[subprocess.Popen[str]] = set()
        self.ended, self.lock = False, threading.Lock()
        names = [f"compiler {i}" for i in range(count)]
        self.threads = [threading.Thread(target=self._work, name=name, daemon=True) for name in names]
        for thread in self.threads:
            thread.start()

    def submit(self, job: Callable[[], Path]) -> Future[Path]:
        future: Future[Path] = Future()
        self.jobs.put((job, future))
        return future

    def _work(self) -> None:
        host.use_all_cores()
        while (given := self.jobs.get()) is not None:
            job, future = given
            if self.ended or not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Return the exit status and error output of a compiler; raise BackendError once the program is ending."""
        with self.lock:
            if self.ended:
                raise BackendError("the program ends before its kernels are compiled")
            # A compiler is several processes, which are stopped together.
            quiet, heard = subprocess.DEVNULL, subprocess.PIPE
            process = subprocess.Popen(
                command, stdout=quiet, stderr=heard, text=True, start_new_session=True, env=environment
            )
            self.running.add(process)
        try:
            said = process.communicate()[1]
        finally:
            self.running.discard(process)
        return process.returncode, said

    def end(self) -> None:
        """Stop all compilers, drop queued jobs, and wait until the threads have cleaned up."""
        with self.lock:
            self.ended = True
            for process in list(self.running):
                with contextlib.suppress(OSError):  # the process may have ended
                    os.killpg(process.pid, signal.SIGTERM)
        for _ in self.threads:
            self.jobs.put(None)
        for thread in self.threads:
            thread.join()


@functools.cache
def compilers() -> Compilers:
    """Return the compilers of this process."""
    made = Compilers(host.core_count())
    atexit.register(made.end)
    return made


# Vectors and redundant loads are the generator's business: what is turned off takes a fifth of the compile time and gains nothing.
FLAGS = (
    "-O3", "-fopenmp", "-fPIC", "-shared", "-std=gnu11", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math",
    "-fno-tree-vectorize", "-fno-tree-pre", "-fno-gcse", "-w",
)  # fmt: skip
OF_GCC = ("-fno-tree-pre", "-fno-gcse")
"""Flags that clang does not know."""

AS_WRITTEN = "/* products and sums are rounded as written */\n"
"""First line of sources in which the compiler must not contract products and sums to fused multiply-adds.

Its choice depends on the surrounding code, so that the same formula in two loops could differ in its last bit.
"""
EXACT = "-ffp-contract=off"


SHORT_SPIN = {"GOMP_SPINCOUNT": "20000", "KMP_BLOCKTIME": "20us"}
"""Environment in which waiting threads of gcc's and LLVM's OpenMP spin for some ten microseconds instead of milliseconds.

Long spins would slow all runs of a shared machine.
"""


def _march() -> str:
    chosen = os.environ.get("FAULTWAVE_MARCH") or "native"
    return f"-march={zig.processor(chosen) if _is_zig() else chosen}"


def flags() -> tuple[str, ...]:
    """Return the flags for this compiler and this machine, or for the processor in $FAULTWAVE_MARCH (-march)."""
    clang = "#define __clang__ " in _macros()
    return (_march(), *(flag for flag in FLAGS if not (clang and flag in OF_GCC)))


@functools.cache
def compiler() -> tuple[str, ...]:
    """Return the words of the C compiler's command: $CC, else gcc, clang or cc, else Zig of the extra ``compiler``.

    CC=zig selects Zig on machines with another compiler.
    """
    chosen = tuple(shlex.split(os.environ.get("CC", "")))
    if chosen in (("zig",), ("zig", "cc")):
        if absent := zig.missing():
            raise BackendError(f"the C compiler CC={' '.join(chosen)} cannot be used: {absent}")
        return zig.command()
    if chosen:
        if not shutil.which(chosen[0]):
            raise BackendError(
                f"the C compiler CC={' '.join(chosen)} does not exist; set CC to one that does, or unset it"
            )
        return chosen
    for name in ("gcc", "clang", "cc"):
        if shutil.which(name):
            return (name,)
    if packaged := zig.command():
        return packaged
    raise BackendError(
        "the cpu backend needs a C compiler and found none. Install gcc (Debian/Ubuntu: apt install gcc libc6-dev; "
        f"conda: conda install gcc) or, as Python packages, Zig ({zig.missing()}), or set CC. "
        f"Without one, {option('backend', 'numpy')} runs small cases"
    )


def _is_zig() -> bool:
    return Path(compiler()[0]).name == "zig"


def _environment(scratch: Path | None = None) -> dict[str, str] | None:
    """Return the environment of the compiler; None is the environment of this process.

    Kernels contain code from Zig's cache. It is therefore in the user's cache, not at a place that Zig chooses.
    """
    if not _is_zig():
        return None
    try:
        zig.cache().mkdir(parents=True, exist_ok=True, mode=0o700)
        _owned(zig.cache())
    except OSError as error:
        raise _unwritable(error) from None
    return zig.environment(scratch)


def missing() -> str:
    """Return why no kernel can be compiled here; empty if it can."""
    try:
        compiler()
    except BackendError as error:
        return str(error)
    return ""


@functools.cache
def _version_text() -> str:
    return _answer("--version").stdout


def _answer(*options: str) -> subprocess.CompletedProcess[str]:
    """Return the compiler's output for ``options``, cached between runs by the compiler's file and the processor."""
    key = (*compiler(), *options, *_program(), _processor())
    known = load_text("compilers", *key) if all(key) else None
    if known is not None:
        return subprocess.CompletedProcess((), 0, known, "")
    command = [*compiler(), *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    if all(key) and result.returncode == 0 and result.stdout:
        store_text(result.stdout, "compilers", *key)
    return result


def _program() -> tuple[str, ...]:
    """Return the identity of the compiler: its file, date of change and environment.

    An empty text marks a compiler that starts another program, such as a script or ccache: a change of its output could not
    be detected.
    """
    path = os.path.realpath(shutil.which(compiler()[0]) or "")
    try:
        with open(path, "rb") as file:
            binary = file.read(4) == b"\x7fELF"
        about = os.stat(path)
    except OSError:
        return ("",)
    if not binary or any(word in os.path.basename(path) for word in ("ccache", "distcc", "icecc")):
        return ("",)
    led = [f"{name}={os.environ[name]}" for name in ("GCC_EXEC_PREFIX", "COMPILER_PATH") if name in os.environ]
    return (path, str(about.st_size), str(about.st_mtime_ns), str(about.st_ctime_ns), *led)


@functools.cache
def _processor() -> str:
    """Return the system's description of the first processor; empty if there is none."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace").split("\n\n")[0]
    except OSError:
        return ""
    changing = ("processor", "cpu MHz", "bogomips", "physical id", "core id", "apicid", "initial apicid", "BogoMIPS")
    lines = [line for line in text.splitlines() if line.partition(":")[0].strip() not in changing]
    return platform.machine() + "\n" + "\n".join(lines)


def version() -> str:
    """Return the first line of the compiler's version text."""
    return _version_text().partition("\n")[0].strip()


@functools.cache
def _identity() -> str:
    return "\n".join([*compiler(), _version_text(), platform.machine(), _macros()])


@functools.cache
def _macros() -> str:
    result = _answer(_march(), "-dM", "-E", "-x", "c", os.devnull)
    if result.returncode or "__STDC__" not in result.stdout:
        march = f" with FAULTWAVE_MARCH={os.environ['FAULTWAVE_MARCH']}" if "FAULTWAVE_MARCH" in os.environ else ""
        lines = sorted(result.stderr.strip().splitlines(), key=lambda line: "error: " not in line)
        said = "\n".join(lines)[:500] or "no source was compiled; set CC to a C compiler, or unset it"
        raise BackendError(f"the C compiler '{' '.join(compiler())}' does not work{march}: {said}")
    return result.stdout


def vector_bytes() -> int:
    """Return the size [bytes] of the widest vector registers that the compiler uses for this machine."""
    macros = _macros()
    if "__AVX512F__" in macros:
        return 64
    return 32 if "__AVX__" in macros else 16


def vector_registers() -> int:
    """Return the number of vector registers."""
    macros = _macros()
    return 32 if "__AVX512F__" in macros or "__aarch64__" in macros else 16


def assembles() -> bool:
    """Return True if contractions can be written in assembly language for this machine."""
    macros = _macros()
    return all(f"#define {name} " in macros for name in NEEDED)


def cache_folder() -> Path:
    """Return the folder of compiled kernels in the user's cache."""
    return cache_root() / "kernels"


def _owned(path: Path) -> None:
    """Raise BackendError if users other than this one and root could have written a file or folder of the cache."""
    whose = writable_by_others(path)
    if whose:
        raise BackendError(
            f"the kernel cache {path} {whose}, who could place code there that runs under your account: set "
            "FAULTWAVE_CACHE to a folder of your own, or remove the permission (chmod go-w)"
        )


def _unwritable(error: OSError) -> BackendError:
    return BackendError(f"the kernel cache {cache_folder()} cannot be written ({error}); set FAULTWAVE_CACHE")


def begin_building(sources: Iterable[tuple[str, str]]) -> dict[str, Future[Path]]:
    """Compile the (name, C source) pairs that the cache lacks, several at a time, and return futures of libraries by name."""
    return {name: compilers().submit(functools.partial(_build_one, name, source)) for name, source in sources}


def build(sources: Iterable[tuple[str, str]]) -> dict[str, Path]:
    """Compile (name, C source) pairs as ``begin_building`` does, and wait for the libraries."""
    return {name: library.result() for name, library in begin_building(sources).items()}


@functools.cache
def _tell() -> None:
    """Report once per process that kernels are being compiled, which a later run of the same case skips."""
    report_status(f"compiling kernels for this processor; later runs load them from {cache_folder()}")


def known(name: str, content: str) -> Path | None:
    """Return the library built from a kernel's ``content`` by this version and compiler; None if absent or damaged."""
    found = load_text("lowered", name, content, _generator(), _identity(), *flags())
    if found is None or not re.fullmatch(r"[\w.-]+\.so", found):
        return None
    target = cache_folder() / found
    try:
        _owned(target.parent)
        _owned(target)
        return target if is_sealed(target) else None
    except OSError:
        return None


def remember(name: str, content: str, library: Path) -> None:
    """Record the library, so that ``known`` finds it later."""
    store_text(library.name, "lowered", name, content, _generator(), _identity(), *flags())


@functools.cache
def _generator() -> str:
    """Return a hash of the files that generate C from kernels; another version may generate different text."""
    cpu = Path(__file__).parent
    files = [
        *cpu.iterdir(),
        *(cpu / "include").iterdir(),
        *cpu.parent.glob("*.py"),
        *(cpu.parents[1] / "kernels").glob("*.py"),
    ]
    content = [f"{path.name}\n".encode() + path.read_bytes() for path in sorted(files) if path.suffix in (".py", ".h")]
    return hashlib.sha256(b"\0".join(content)).hexdigest()


def load(library: str) -> ctypes.CDLL:
    """Load a library from the cache. A damaged one raises BackendError and is removed, so that the next run rebuilds it."""
    try:
        return ctypes.CDLL(library)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(library)
        raise BackendError(
            f"a compiled kernel is damaged ({error}); it was removed and is compiled again in the next run"
        ) from None


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Lock a kernel, so that processes and runs that need it compile it once; each compiles alone without file locks."""
    path = target.parent / f".{target.stem}.lock"
    with path.open("w") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # a process that waits for the lock finds the library next


_INCOMPLETE = (
    (r"omp\.h|-lomp|-lgomp|libgomp|fopenmp", "OpenMP of this compiler", "libomp-dev with clang, libgomp1 with gcc"),
    (
        r"\w\.h'?( file not found|: No such file)|cannot find (-lm|-lc|crti\.o|Scrt1\.o)",
        "the C library's headers",
        "libc6-dev",
    ),
)
"""Patterns of a compiler's messages, the part that is not installed, and the Debian package that contains it."""


def _advice(said: str) -> str:
    """Return which part of the compiler's installation is missing according to its messages; empty if none is."""
    for pattern, part, package in _INCOMPLETE:
        if re.search(pattern, said):
            other = f"{zig.EXTRA} and CC=zig" if zig.missing() else "CC=zig"
            return f"\n{part} is missing. Install it (Debian/Ubuntu: apt install {package}), or use another compiler: {other}"
    return ""


def _build_one(name: str, source: str) -> Path:
    key = hashlib.sha256("\0".join(["sealed", source, _identity(), *flags()]).encode()).hexdigest()[:24]
    target = cache_folder() / f"{name}-{key}.so"
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _owned(target.parent)
        if target.exists():
            _owned(target)
            if is_sealed(target):
                return target
        with _alone(target), scratch_folder(target.parent) as scratch:
            if target.exists() and is_sealed(target):  # built by another process in the meantime
                return target
            _tell()
            code, library = scratch / f"{name}.c", scratch / f"{name}.so"
            code.write_text(source)
            own = [EXACT] if source.startswith(AS_WRITTEN) else []
            command = [*compiler(), *flags(), *own, str(code), "-o", str(library), "-lm"]
            status, said = compilers().run(command, _environment(scratch))
            if status:
                text = f"compiling kernel {name} failed: {' '.join(command)}\n{said[-2000:]}{_advice(said)}"
                raise BackendError(text)
            write_sealed(target, library.read_bytes(), 0o755)  # atomic, for processes without locks
    except OSError as error:
        raise _unwritable(error) from None
    return target
