"""Context manager that collects input errors instead of raising the first one."""

from __future__ import annotations

from faultwave.base.errors import InputError, Problems


class collect_problems:
    """Collects the problems of an InputError raised inside the block, so that checking continues."""

    def __init__(self, problems: Problems):
        self.problems = problems

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, InputError):
            self.problems.extend(error.problems)
            return True
        return False
