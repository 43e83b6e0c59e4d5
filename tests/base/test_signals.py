"""What tells a program to stop, and what it says to a terminal that is lost."""

import os
import signal
import subprocess
import sys

from faultwave.base.processes import signals

TELLS = """
import os, signal
from faultwave.base.processes import signals
def stop(number, frame):
    signals.detach_lost_terminal()
    os.write(1, b"nobody reads this")
    os._exit(75)
signal.signal(signal.SIGHUP, stop)
os.write(1, b"ready")
while True:
    signal.pause()
"""


def test_nohup_is_heeded():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert signal.SIGHUP not in signals.stop_signals()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert signal.SIGHUP in signals.stop_signals()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_lost_terminal_ends_nothing():
    """The one that owned it is told by SIGHUP, and can still say something to nobody."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", f"import fcntl, termios\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n{TELLS}"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    assert os.read(ours, 5) == b"ready"
    os.close(ours)
    assert process.wait(60) == 75
