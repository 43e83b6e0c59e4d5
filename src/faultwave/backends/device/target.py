"""Properties of devices that the lowering and the performance model need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Dialect = Literal["cuda", "hip", "opencl"]

LINE = 128
"""Size of one number of all items of a batch [bytes], one line of memory."""


@dataclass(frozen=True)
class Target:
    """Properties of a kind of device.

    Attributes
    ----------
    name, dialect : str
        Architecture, and language of its kernels.
    shared, unit : int
        Shared memory of a thread group, at most, and of a multiprocessor [bytes].
    warp : int
        Threads that execute in lockstep.
    threads : int
        Largest number of threads of a group.
    registers, resident : int
        32-bit registers and resident threads of a multiprocessor.
    functions : int
        Registers that a thread needs for functions such as exponentials, several of which AMD's compiler inlines at once.
    device : str
        Device of this kind whose data sheet gives the following numbers.
    bandwidth : float
        Memory bandwidth [B/s].
    peak : (float, float)
        Peak performance of the vector units in double and single precision [flop/s].
    memory : float
        Memory [B].
    units : int
        Number of multiprocessors.
    clock : float
        Clock rate [Hz].
    near : int
        Shared-memory bandwidth of a multiprocessor [bytes per cycle].
    """

    name: str
    dialect: Dialect
    shared: int
    unit: int
    warp: int = 32
    threads: int = 256
    registers: int = 65536
    resident: int = 2048
    functions: int = 112
    device: str = ""
    bandwidth: float = 0.0
    peak: tuple[float, float] = (0.0, 0.0)
    memory: float = 0.0
    units: int = 1
    clock: float = 1.0
    near: int = 128

    @property
    def reserved(self) -> int:
        """Shared memory that the system reserves for every group [bytes]; AMD's reserves none."""
        return 0 if self.dialect == "hip" else 1024

    def roof(self, moved: int, flops: int, single: bool) -> float:
        """Return the roofline [items/s] for items of ``moved`` bytes and ``flops`` operations, at full overlap of both."""
        return 1.0 / max(moved / self.bandwidth, flops / self.peak[single])

    def bound(self, groups: int, threads: int) -> int:
        """Return the second launch bound of a kernel, for ``groups`` resident groups of ``threads`` threads on a multiprocessor.

        CUDA counts groups; HIP counts waves of each of the four units, at most eight (HIP documentation, C++ language extensions).
        """
        if self.dialect != "hip":
            return groups
        return max(1, min(8, groups * threads // (4 * self.warp)))

    def with_shared(self, shared: int) -> Target:
        """Return a copy with the amount of shared memory that the driver reports."""
        return replace(self, shared=shared, unit=max(shared, min(self.unit, 2 * shared)))


KIB = 1024

# CUDA C++ Programming Guide, table of technical specifications by compute capability; CDNA 2 and 3 instruction set guides.
TARGETS = {
    t.name: t
    for t in (
        Target("sm_70", "cuda", 96 * KIB, 96 * KIB,
               device="V100", bandwidth=0.9e12, peak=(7.8e12, 15.7e12), memory=16e9, units=80, clock=1.53e09),
        Target("sm_80", "cuda", 163 * KIB, 164 * KIB,
               device="A100 80 GB", bandwidth=2.04e12, peak=(9.7e12, 19.5e12), memory=80e9, units=108, clock=1.41e09),
        Target("sm_86", "cuda", 99 * KIB, 100 * KIB, resident=1536,
               device="A40", bandwidth=0.696e12, peak=(0.58e12, 37.4e12), memory=48e9, units=84, clock=1.74e09),
        Target("sm_89", "cuda", 99 * KIB, 100 * KIB, resident=1536,
               device="L40S", bandwidth=0.864e12, peak=(1.43e12, 91.6e12), memory=48e9, units=142, clock=2.52e09),
        Target("sm_90", "cuda", 227 * KIB, 228 * KIB,
               device="H200", bandwidth=4.8e12, peak=(34e12, 67e12), memory=141e9, units=132, clock=1.98e09),
        Target("sm_100", "cuda", 227 * KIB, 228 * KIB,
               device="B200", bandwidth=8e12, peak=(37e12, 75e12), memory=180e9, units=148, clock=1.97e09),
        Target("gfx90a", "hip", 64 * KIB, 64 * KIB, 64, registers=131072, functions=176,
               device="MI250X, one die", bandwidth=1.6e12, peak=(23.9e12, 23.9e12), memory=64e9, units=110, clock=1.7e09),
        Target("gfx942", "hip", 64 * KIB, 64 * KIB, 64, registers=131072, functions=176,
               device="MI300X", bandwidth=5.3e12, peak=(81.7e12, 163.4e12), memory=192e9, units=304, clock=2.1e09),
        Target("opencl", "opencl", 64 * KIB, 64 * KIB),
    )
}  # fmt: skip
