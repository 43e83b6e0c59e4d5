"""Signals by which somebody tells a program to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import stat

AT_ONCE = 128 + signal.SIGINT
"""Exit code of a program that was told to stop a second time, that of shells for a Ctrl-C."""


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


__all__ = ["AT_ONCE", "forget_lost_terminal", "telling_to_stop"]
