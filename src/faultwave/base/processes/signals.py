"""Signals that request the program to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import stat

AT_ONCE = 128 + signal.SIGINT
"""Exit code of a program that ended at once by an unknown signal, the code of shells for Ctrl-C."""

TRY_AGAIN = 75
"""Exit code of a run that can be resumed, or that a scheduler's SIGUSR1 stopped before it began.

It is EX_TEMPFAIL of sysexits.h.
"""

LAUNCHED_BY_FAULTWAVE = "FAULTWAVE_RELAUNCHED"
"""Environment variable of processes whose launcher this program started.

For them, SIGUSR1 stands for any signal that the program received.
"""

STOPS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP})


class StopSignal(KeyboardInterrupt):
    """Raised if signal ``number`` stops the program and no result is saved.

    As a KeyboardInterrupt it passes handlers of ordinary errors, which would take it for a defect of a file.
    """

    def __init__(self, text: str, number: int):
        super().__init__(text)
        self.number = int(number)

    def __reduce__(self) -> tuple[type[StopSignal], tuple[str, int]]:
        return type(self), (str(self), self.number)

    @property
    def code(self) -> int:
        """Exit code of shells for this signal.

        For SIGUSR1, by which schedulers announce the end of a job, the code for trying again.
        """
        if self.number == signal.SIGUSR1 and LAUNCHED_BY_FAULTWAVE not in os.environ:
            return TRY_AGAIN
        return 128 + self.number


def stop_signals() -> list[int]:
    """Return the signals that stop a run: SIGINT, SIGTERM, SIGUSR1, and SIGHUP unless nohup ignores it.

    Launchers forward SIGUSR1; SIGHUP means that the terminal was lost.
    """
    found = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1]
    return [*found, signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else [*found]


def detach_lost_terminal() -> None:
    """Redirect the streams of a lost terminal to nowhere.

    Writing to it would otherwise end the program before it saves its output.
    """
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):  # the stream may be closed
            if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, number)
                os.close(nowhere)


__all__ = [
    "AT_ONCE",
    "LAUNCHED_BY_FAULTWAVE",
    "STOPS",
    "TRY_AGAIN",
    "StopSignal",
    "detach_lost_terminal",
    "stop_signals",
]
