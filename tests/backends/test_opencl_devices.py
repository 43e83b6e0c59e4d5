"""Which OpenCL devices count: a driver may be there whose compiler does not know the processor."""

import types

import pytest

cl = pytest.importorskip("pyopencl")

from faultwave.backends.opencl import runtime  # noqa: E402


class Refusing:
    def __init__(self, context, text):
        self.device = context[0]

    def build(self, cache_dir):
        if self.device.refuses:
            raise cl.RuntimeError("clBuildProgram failed\n\n  error: unknown target CPU 'generic'\n(options: -I here)")


def device(name, refuses, gpu=False):
    kind = cl.device_type.GPU if gpu else cl.device_type.CPU
    platform = types.SimpleNamespace(version="OpenCL 3.0 PoCL 3.0 ")
    return types.SimpleNamespace(name=name, refuses=refuses, type=kind, double_fp_config=1, platform=platform)


@pytest.fixture
def devices(monkeypatch):
    """Set the devices that there are."""

    def put(*found):
        platform = types.SimpleNamespace(get_devices=lambda: list(found))
        monkeypatch.setattr(cl, "get_platforms", lambda: [platform])
        monkeypatch.setattr(cl, "Context", lambda devices: devices)
        monkeypatch.setattr(cl, "Program", Refusing)
        monkeypatch.setattr(runtime, "_refusal", runtime._refusal.__wrapped__)

    return put


def test_a_compiler_that_refuses_is_named_with_what_it_says(devices):
    devices(device("old", True))
    told = runtime.missing()
    assert "that of 'old' (OpenCL 3.0 PoCL 3.0) says 'error: unknown target CPU 'generic''" in told
    assert "pocl-opencl-icd" in told and runtime.rank() == 0


def test_a_device_that_compiles_is_taken_before_one_that_does_not(devices, monkeypatch):
    monkeypatch.delenv("FAULTWAVE_OPENCL_DEVICE", raising=False)
    devices(device("old", True), device("new", False))
    assert runtime.missing() == "" and runtime._chosen(0).name == "new" and runtime.rank() == 0


@pytest.mark.parametrize(("refuses", "rank"), [(False, 3), (True, 0)])
def test_a_gpu_counts_where_its_compiler_works(devices, refuses, rank):
    devices(device("processor", False), device("gpu", refuses, gpu=True))
    assert runtime.rank() == rank
    assert runtime._devices()[0].name == ("processor" if refuses else "gpu")


def test_no_device(devices):
    devices()
    assert "finds no OpenCL device with double precision" in runtime.missing() and runtime.rank() == 0
