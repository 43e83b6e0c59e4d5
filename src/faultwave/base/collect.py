"""Looking at everything before anything is raised."""

from __future__ import annotations

from faultwave.base.errors import InputError, Problems


class collected:
    """Turns an InputError inside the block into collected problems, so that others are still looked for."""

    def __init__(self, problems: Problems):
        self.problems = problems

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, InputError):
            self.problems.extend(error.problems)
            return True
        return False
