"""A study as a model of UM-Bridge: the public client against a server in another process."""

import os
import socket
import subprocess
import sys
import time

import pytest
import yaml

from faultwave.base.errors import InputError
from faultwave.ensemble.ensemble import Ensemble
from faultwave.ensemble.process import close_processes
from faultwave.ensemble.served_model import EvaluationError, ServedStudy, load_served_study
from tests.messages import raises

from .case import study

umbridge = pytest.importorskip("umbridge")
SERVE = {"outputs": ["peak_ground_velocity"], "config": ["numerics.order"]}


@pytest.fixture
def server(tmp_path):
    """Address of a server, which ends with the test."""
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(study(tmp_path / "results", serve=SERVE)))
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    log = (tmp_path / "log").open("w+")
    process = subprocess.Popen(
        [sys.executable, "-m", "faultwave", "serve", "--umbridge", str(path)],
        env=os.environ | {"PORT": str(port)}, stdout=log, stderr=log,
    )  # fmt: skip
    address = f"http://localhost:{port}"
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            umbridge.supported_models(address)
            break
        except OSError:
            time.sleep(0.2)
    try:
        assert process.poll() is None, (tmp_path / "log").read_text()
        yield address
    finally:
        process.terminate()
        assert process.wait(30) in (0, 143), (tmp_path / "log").read_text()


def test_the_public_client(server):
    """Motion is proportional to the force at the places where its other component is small; levels differ, errors have a text."""
    assert umbridge.supported_models(server) == ["forward"]
    model = umbridge.HTTPModel(server, "forward")
    assert model.get_input_sizes() == [1] and model.get_output_sizes() == [1]
    assert model.supports_evaluate() and not model.supports_gradient() and not model.supports_apply_jacobian()
    ((small,),), ((large,),) = model([[10.0]]), model([[1000.0]])
    assert small > 0 and large == pytest.approx(100 * small, rel=0.1) and model([[10.0]]) == [[small]]
    ((finer,),) = model([[10.0]], {"numerics.order": 3})
    assert finer != small and finer == pytest.approx(small, rel=1.0)
    with pytest.raises(Exception, match="InvalidInput: config: 'end_time' cannot be set .allowed: numerics.order"):
        model([[1.0]], {"end_time": 3.0})
    with pytest.raises(Exception, match=r"InvalidInput: .*order"):
        model([[1.0]], {"numerics.order": 99})
    with pytest.raises(Exception, match="Expected 1 but got 2"):
        model([[1.0, 2.0]])
    with pytest.raises(Exception, match="Gradient not supported"):
        model.gradient(0, 0, [[1.0]], [1.0])
    assert model([[10.0]]) == [[small]]  # the server goes on


def test_every_problem_before_the_server_starts(tmp_path):
    made = study(tmp_path / "results", serve={"config": ["sources[0].force[0]"]})
    made["vary"]["kind"] = {"setting": "sources[0].time_function.kind", "values": ["triangle"] * 4}
    with raises(InputError):
        load_served_study(Ensemble(made))


def test_results_that_a_run_lacks(tmp_path):
    served = ServedStudy(Ensemble(study(tmp_path / "results", serve={"outputs": ["slip"]})).members)
    try:
        with raises(EvaluationError):
            served.evaluate([1.0], {})
        with raises(EvaluationError):
            served.evaluate([float("nan")], {})
    finally:
        close_processes()


def test_inputs_that_are_refused(tmp_path):
    """Seeds are whole numbers, as neighbouring values would be the same; a configuration is an object of settings."""
    vary = {"seed": {"setting": "sources[0].force[0]", "seed": True}}
    served = ServedStudy(
        Ensemble(study(tmp_path / "e", vary=vary, serve=SERVE, design={"kind": "random", "members": 1})).members
    )
    with raises(EvaluationError):
        served.case([1.9], {})
    with raises(EvaluationError):
        served.case([1.0], [1])
