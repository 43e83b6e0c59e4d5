"""Compilation of kernels for graphics processors that need not be present, to read the resources that a kernel uses.

CUDA text is compiled with NVRTC, a library of the package nvidia-cuda-nvrtc; HIP text with hipcc or, where that is absent, with the clang
of Zig (package ziglang). Zig has no library of device functions: alone_functions.h defines the ones that friction needs.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from faultwave.backends import zig
from faultwave.backends.device.lower import lower
from faultwave.backends.device.schedule import Plan
from faultwave.backends.device.target import TARGETS, Target
from faultwave.base.errors import BackendError, InputError, Problem, suggest
from faultwave.kernels.language import Kernel

SHOWN = 2000
"""Number of characters of a compiler's messages that an error repeats."""

HIPCC = "hipcc (Debian, Ubuntu: apt install hipcc rocm-device-libs)"
CUDA_FLAGS = ("-std=c++14", "-ftz=true")
"""Options of NVRTC, as in a run: CuPy adds the second, which flushes single-precision numbers below 1.2e-38 to zero."""


class FunctionsMissing(BackendError):
    """Error: a kernel needs a mathematical function that the available compiler does not provide."""


class Shape(Protocol):
    """Resources that a thread group needs of a multiprocessor: shared memory [bytes] and threads."""

    @property
    def target(self) -> Target: ...

    @property
    def shared(self) -> int: ...

    @property
    def threads(self) -> int: ...


S = TypeVar("S", bound=Shape)


@dataclass(frozen=True)
class Built(Generic[S]):
    """Resources of a compiled kernel.

    Attributes
    ----------
    plan
        Launch plan of the kernel.
    registers : int
        Registers per thread.
    spilled : int
        Register spills per thread [bytes].
    stack : int
        Private memory per thread [bytes].
    size : int
        Size of the object code [bytes].
    """

    plan: S
    registers: int
    spilled: int
    stack: int
    size: int

    @property
    def groups(self) -> int:
        """Number of resident groups of a multiprocessor, limited by shared memory, registers (allocated by eight) and threads."""
        target, threads = self.plan.target, self.plan.threads
        registers = -(-self.registers // 8) * 8 * threads
        return min(
            target.unit // max(1, self.plan.shared + target.reserved),
            target.registers // max(1, registers),
            target.resident // threads,
        )

    @property
    def occupancy(self) -> float:
        """Occupancy: resident threads as a fraction of the largest number of a multiprocessor."""
        return self.groups * self.plan.threads / self.plan.target.resident


def build(kernel: Kernel, arch: str, single: bool) -> Built[Plan]:
    """Compile ``kernel`` for an architecture; raise BackendError if the compiler is absent or fails."""
    text, made = lower(kernel, target_of(arch), single)
    return build_text(kernel.name, text, made)


def build_text(name: str, text: str, made: S) -> Built[S]:
    """Compile the text of a kernel for the target of its plan; raise BackendError if the compiler is absent or fails."""
    return (_with_nvrtc if made.target.dialect == "cuda" else _for_amd)(name, text, made, made.target)


def target_of(arch: str) -> Target:
    """Return the target called ``arch``; raise InputError with the known names if there is none."""
    known = [n for n, t in TARGETS.items() if t.dialect != "opencl"]
    if arch not in known:
        raise InputError(Problem("--arch", f"'{arch}' is not known", ", ".join(known), suggest(arch, known)))
    return TARGETS[arch]


def architecture(backend: str, arch: str) -> Target:
    """Return the target called ``arch``, or the default of a backend; raise InputError if they do not match."""
    usual = {"cuda": "sm_90", "hip": "gfx90a"}
    if backend and backend not in usual:
        raise InputError(Problem("--backend", f"'{backend}' has no architectures", ", ".join(usual)))
    chosen = target_of(arch or usual[backend or "cuda"])
    if backend and chosen.dialect != backend:
        allowed = ", ".join(n for n, t in TARGETS.items() if t.dialect == backend)
        raise InputError(Problem("--arch", f"'{arch}' is not a processor of the backend '{backend}'", allowed))
    return chosen


def missing(dialect: str) -> str:
    """Return why kernels of a dialect cannot be compiled here and which packages to install; empty if they can."""
    if dialect == "hip":
        return "" if shutil.which("hipcc") or zig.program() else f"HIP kernels need {HIPCC}, or: pip install ziglang"
    return "" if _nvrtc() else "CUDA kernels need NVRTC: pip install nvidia-cuda-nvrtc"


@functools.cache
def _nvrtc() -> ctypes.CDLL | None:
    found: list[str] = []
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations or () if spec else ():
        found += sorted(map(str, Path(place).glob("*/lib/libnvrtc.so*")))
    name = ctypes.util.find_library("nvrtc")
    for path in [*found, *([name] if name else [])]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def _with_nvrtc(name: str, text: str, made: S, target: Target) -> Built[S]:
    library = _nvrtc()
    if library is None:
        raise BackendError(missing("cuda"))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), f"{name}.cu".encode(), 0, None, None)
    try:
        options = [
            f"--gpu-architecture={target.name}".encode(),
            b"--ptxas-options=-v",
            *(o.encode() for o in CUDA_FLAGS),
        ]
        failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        output = log.value.decode()
        if failed:
            raise BackendError(f"compiling {name} for {target.name} failed: {output[:SHOWN]}")
        library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    stack, stores, loads = _numbers(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", output
    )
    (registers,) = _numbers(r"Used (\d+) registers", output)
    return Built(made, registers, stores + loads, stack, size.value)


def _for_amd(name: str, text: str, made: S, target: Target) -> Built[S]:
    if why := missing("hip"):
        raise BackendError(why)
    alone = shutil.which("hipcc") is None
    files = [resources.files(__package__).joinpath("include", n) for n in ("hip_alone.h", "alone_functions.h")]
    head = "".join(f.read_text() for f in files) if alone else "#include <hip/hip_runtime.h>\n"
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder) / f"{name}.hip", Path(folder) / f"{name}.o"
        source.write_text(head + text)
        output = (_with_zig if alone else _with_hipcc)(source, result, target)
        if not result.exists():
            if alone and (function := re.search(r"use of undeclared identifier '(\w+)'", output)):
                raise FunctionsMissing(f"{name} uses the function {function[1]} of AMD's library: it needs {HIPCC}")
            raise BackendError(f"compiling {name} for {target.name} failed: {output[-SHOWN:]}")
        size = result.stat().st_size
    (registers,) = _numbers(r" VGPRs: (\d+)", output)
    (accumulation,) = _numbers(r" AGPRs: (\d+)", output)
    (spilled,) = _numbers(r"VGPRs Spill: (\d+)", output)
    (stack,) = _numbers(r"ScratchSize \[bytes/lane\]: (\d+)", output)
    return Built(made, registers + accumulation, 4 * spilled, stack, size)


FLAGS = (
    "--cuda-device-only", "-O3", "-w", "-fgpu-flush-denormals-to-zero", "-Rpass-analysis=kernel-resource-usage",
)  # fmt: skip


def _with_hipcc(source: Path, result: Path, target: Target) -> str:
    """Compile with hipcc and return its messages."""
    command = ["hipcc", f"--offload-arch={target.name}", *FLAGS, "-c", str(source), "-o", str(result)]
    environment = {**os.environ, "HIP_PLATFORM": "amd"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stderr


def _with_zig(source: Path, result: Path, target: Target) -> str:
    """Compile with Zig's clang and return its messages; assembled separately, as it has no linker for such objects."""
    clang, assembly = [str(zig.program()), "clang"], str(source.with_suffix(".s"))
    alone = ("-x", "hip", "-std=c++17", "-nogpuinc", "-nogpulib", "-fno-math-errno", "-S")
    command = [*clang, *alone, f"--offload-arch={target.name}", *FLAGS, str(source), "-o", assembly]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    if Path(assembly).exists():
        finish = [
            "-target",
            "amdgcn-amd-amdhsa",
            f"-mcpu={target.name}",
            "-x",
            "assembler",
            "-c",
            assembly,
            "-o",
            str(result),
        ]
        output += subprocess.run([*clang, *finish], capture_output=True, text=True, check=False).stderr
    return output


def _numbers(pattern: str, text: str) -> tuple[int, ...]:
    found = re.search(pattern, text)
    if not found:
        raise BackendError(f"the output of the compiler contains nothing of the form '{pattern}': {text[:SHOWN]}")
    return tuple(map(int, found.groups()))
