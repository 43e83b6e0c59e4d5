"""A study as a model on the network: UM-Bridge clients send values of its variables and receive scalar results.

The protocol is that of UM-Bridge (Seelinger et al. 2023, doi:10.21105/joss.04748). ``umbridge`` is imported only when a study is
served. Each evaluation runs in a process of its own, like a member of an ensemble.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from faultwave.base.errors import FaultwaveError, InputError, Problems, suggest
from faultwave.base.units import to_si
from faultwave.case.native import location_of
from faultwave.case.settings.model import Case
from faultwave.case.validate import build, dotted
from faultwave.ensemble.design import unit_of_setting
from faultwave.ensemble.ensemble import Ensemble
from faultwave.ensemble.executors import thread_count
from faultwave.ensemble.members import Members, set_value
from faultwave.ensemble.process import OutOfTime, ProcessEnded, own_process
from faultwave.ensemble.study import study_problem
from faultwave.ensemble.tasks import run_member, scalars_of
from faultwave.run.event import with_event
from faultwave.run.planned import check

WRITING = ("surface", "fault", "volume", "box", "checkpoint")
"""Groups of the output that only write files."""
INPUT, EVALUATION = "InvalidInput", "EvaluationFailed"
"""Types of the errors that clients receive."""


class EvaluationError(Exception):
    """Raised if an evaluation fails; ``kind`` is the type of the error that the client receives."""

    def __init__(self, kind: str, text: str):
        self.kind = kind
        super().__init__(text)


def evaluate_case(case: Case) -> dict[str, float]:
    """Return the scalar results of a case, which is run without writing files."""
    session = run_member(case)
    return scalars_of(with_event(session.case, session.results()))


def check_case(case: Case) -> Problems:
    """Return every problem of a case, with all its inputs read."""
    return check(case)


@dataclass(frozen=True)
class ServedStudy:
    """Study as a function of its variables.

    Attributes
    ----------
    members : Members
        Members of the study, whose base case and variables define the model.
    """

    members: Members

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self.members.study.vary)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.members.study.serve.outputs

    def case(self, values: Sequence[float], config: Mapping[str, object]) -> Case:
        """Return the case for values of the variables in SI units, and settings of a configuration.

        Raises
        ------
        EvaluationError
            If a value is no number or the configuration has other settings than ``serve.config``.
        InputError
            If the case is invalid.
        """
        study = self.members.study
        data = copy.deepcopy(self.members.base)
        if not isinstance(config, Mapping):
            raise EvaluationError(INPUT, f"config is {config!r}, not an object of settings")
        for name, value in config.items():
            if name not in study.serve.config:
                allowed = ", ".join(study.serve.config) or "none"
                advice = suggest(name, study.serve.config)
                raise EvaluationError(INPUT, f"config: '{name}' cannot be set (allowed: {allowed}). {advice}".strip())
            set_value(data, location_of(name), value)
        for (name, variable), value in zip(study.vary.items(), values, strict=True):
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise EvaluationError(INPUT, f"{name} is {value}, not a finite number")
            if variable.seed and value != int(value):
                raise EvaluationError(INPUT, f"{name} is {value}, and seeds are whole numbers")
            for path in variable.setting:
                set_value(data, location_of(path), int(value) if variable.seed else float(value))
        output = {k: v for k, v in dict(data.get("output", {})).items() if k not in WRITING}
        numerics = {**data.get("numerics", {}), "threads": thread_count(study.execution)}
        problems = Problems()
        case = build({**data, "output": output, "numerics": numerics}, self.members.folders, dotted, problems)
        problems.raise_errors()
        assert case is not None
        return case

    def evaluate(self, values: Sequence[float], config: Mapping[str, object]) -> list[float]:
        """Return the outputs for values of the variables in SI units.

        Raises
        ------
        EvaluationError
            If the input is invalid, the run fails or exceeds its time limit, or it lacks an output.
        """
        limit = self.members.study.execution.time_limit
        try:
            case = self.case(values, config)
            found = own_process(thread_count(self.members.study.execution)).call(evaluate_case, case, limit)
        except (InputError, KeyError) as error:
            raise EvaluationError(INPUT, str(error)) from None
        except OutOfTime:
            raise EvaluationError(EVALUATION, f"exceeded the time limit of {limit:g} s") from None
        except (FaultwaveError, ProcessEnded) as error:
            raise EvaluationError(EVALUATION, str(error)) from None
        lacking = [name for name in self.outputs if name not in found]
        if lacking:
            text = f"the run has no {', '.join(lacking)} (available: {', '.join(sorted(found))})"
            raise EvaluationError(EVALUATION, text)
        return [found[name] for name in self.outputs]


def load_served_study(ensemble: Ensemble) -> ServedStudy:
    """Return the model of a study after checks of its settings and of its first member.

    Raises
    ------
    InputError
        With every problem found.
    """
    members, problems = ensemble.members, Problems()
    study, where = members.study, members.where
    if importlib.util.find_spec("umbridge") is None:
        advice = "pip install 'faultwave[umbridge]'"
        problems.error("--umbridge", "needs the package umbridge, which is not installed", advice=advice)
    if not study.serve.outputs:
        what = "is empty: clients would receive nothing"
        problems.items.append(study_problem(where, ("serve", "outputs"), what, "names of scalar results"))
    for name, variable in study.vary.items():
        column, unit = members.table.column(name), unit_of_setting(variable.setting[0])
        try:
            [to_si(value, unit) for value in column]
        except ValueError:
            what = "has values that are no numbers, which clients cannot send"
            problems.items.append(study_problem(where, ("vary", name), what))
    for path in study.serve.config:
        if any(path in variable.setting for variable in study.vary.values()):
            problems.items.append(study_problem(where, ("serve", "config"), f"'{path}' is set by a variable"))
    if study.execution.processes > 1 or study.execution.executor != "local":
        what = "evaluations run in processes of this machine, each on one MPI process"
        problems.items.append(study_problem(where, ("execution",), what, "executor: local, processes: 1"))
    problems.raise_errors()
    served = ServedStudy(members)
    values = [to_si(v, unit_of_setting(study.vary[n].setting[0])) for n, v in members.table.values(0).items()]
    try:
        case = served.case(values, {})
        problems.extend(own_process(thread_count(study.execution)).call(check_case, case).items)
    except InputError as error:
        problems.extend(error.problems)
    problems.raise_errors()
    return served


def serve(served: ServedStudy, port: int) -> None:
    """Serve a study until the process is stopped, on all network interfaces of this machine.

    Parameters
    ----------
    served : ServedStudy
        Model.
    port : int
        Port of the HTTP server.
    """
    import umbridge
    from aiohttp import web

    def refuse(error: EvaluationError) -> NoReturn:
        # the server sends exceptions of the web framework as they are; any other would become an error without a text
        body = {"error": {"type": error.kind, "message": str(error)}}
        raise web.HTTPBadRequest(text=json.dumps(body), content_type="application/json")

    class StudyModel(umbridge.Model):
        def get_input_sizes(self, config: Mapping[str, object] | None = None) -> list[int]:
            return [len(served.names)]

        def get_output_sizes(self, config: Mapping[str, object] | None = None) -> list[int]:
            return [len(served.outputs)]

        def supports_evaluate(self) -> bool:
            return True

        def __call__(self, parameters: list[list[float]], config: Mapping[str, object] | None = None) -> Any:
            try:
                return [served.evaluate(parameters[0], config or {})]
            except EvaluationError as error:
                refuse(error)

    study = served.members.study
    workers = study.execution.workers or 1
    umbridge.serve_models([StudyModel(study.serve.name)], port, max_workers=workers)
