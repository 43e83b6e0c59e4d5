"""Signals by which somebody tells a program to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import stat

AT_ONCE = 128 + signal.SIGINT
"""Exit code of a program that ended at once without a signal's number being known, that of shells for a Ctrl-C."""

TRY_AGAIN = 75
"""Exit code (EX_TEMPFAIL of sysexits.h) of a run that can go on, or that a scheduler's SIGUSR1 stopped before it began."""

BY_OUR_LAUNCHER = "FAULTWAVE_RELAUNCHED"
"""In the environment of processes whose launcher this program has started: SIGUSR1 stands for whatever that program was told."""

STOPS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP})


class Told(KeyboardInterrupt):
    """A signal told the program to stop, and nothing of what it was doing is kept; ``number`` of the signal.

    As an interruption it passes handlers of ordinary errors, which would take it for a mistake of a file.
    """

    def __init__(self, text: str, number: int):
        super().__init__(text)
        self.number = int(number)

    def __reduce__(self) -> tuple[type[Told], tuple[str, int]]:
        return type(self), (str(self), self.number)

    @property
    def code(self) -> int:
        """Exit code of shells for this signal; of SIGUSR1, by which schedulers announce the end of a job, that for trying again."""
        if self.number == signal.SIGUSR1 and BY_OUR_LAUNCHER not in os.environ:
            return TRY_AGAIN
        return 128 + self.number


def telling_to_stop() -> list[int]:
    """SIGINT, SIGTERM, SIGUSR1, which launchers pass on, and SIGHUP, that of a lost terminal, where nohup has not made this program
    ignore it."""
    found = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1]
    return [*found, signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else [*found]


def forget_lost_terminal() -> None:
    """What is written to a terminal that is no more goes nowhere, rather than end the program before its outputs are kept."""
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):  # it may be closed
            if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, number)
                os.close(nowhere)


__all__ = ["AT_ONCE", "BY_OUR_LAUNCHER", "STOPS", "TRY_AGAIN", "Told", "forget_lost_terminal", "telling_to_stop"]
