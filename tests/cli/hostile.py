"""Run commands of the program one after the other under an audit hook: ``python hostile.py COMMANDS ALLOWED``, JSON both.

COMMANDS: a list of lists of arguments; ALLOWED: folders that may be written to. Prints JSON: for each command its exit code, the last of
what it said, and what it did that only the content of a file can have asked for. The hook stays for good, so this is a process of its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import site
import sys
import sysconfig
import traceback
from pathlib import Path

import faultwave

with contextlib.suppress(ImportError):  # Pint loads Dask where it is installed, which unpickles functions of its own
    import dask.delayed  # noqa: F401

TOKEN = "pwned"
"""In all that a file asks to be run."""

PACKAGE = str(Path(faultwave.__file__).parent)
LIBRARIES = [PACKAGE, sys.prefix, sys.base_prefix, *site.getsitepackages(), *sysconfig.get_paths().values()]
FORBIDDEN = (
    "pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.startfile", "socket.connect", "socket.getaddrinfo", "socket.bind",
    "urllib.Request", "ftplib.connect", "http.client.connect", "webbrowser.open", "code.__new__", "ctypes.call_function", "pty.spawn",
)  # fmt: skip
CHANGES = (
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "shutil.rmtree",
)
COMPILERS = {shutil.which(name) for name in ("cc", "gcc", "clang", "mpiexec")}
EXCUSED = (["uname", "-p"], ["git", "rev-parse"], ["fc-list", "--help"], ["fc-list", "--format=%{file}\\n"])
"""What Python's module platform, ObsPy (its version) and Matplotlib (fonts) run when they are loaded."""

found: list[str] = []
allowed: list[str] = []
listening = False


def within(path: object, folders: list[str]) -> bool:
    name = os.path.realpath(os.fsdecode(path)) if isinstance(path, str | bytes | os.PathLike) else ""
    return any(name == f or name.startswith(f.rstrip("/") + "/") for f in folders)


def hook(event: str, args: tuple[object, ...]) -> None:
    global listening
    if not listening:
        return
    listening = False  # what this function does is no event
    try:
        look(event, args)
    finally:
        listening = True


def asks_for_the_commit(command: object) -> bool:
    """Return whether a command is what the manifest asks git of the checkout that the program runs from."""
    if not isinstance(command, list) or command[:3] != ["git", "--no-optional-locks", "-C"]:
        return False
    return within(PACKAGE, [command[3]]) and command[4:6] == ["-c", "core.fsmonitor=false"]


def look(event: str, args: tuple[object, ...]) -> None:
    if event in FORBIDDEN:
        found.append(f"{event} {str(args)[:200]}")
    elif event in ("exec", "compile"):
        told = str(args[0])
        code = args[0]
        if event == "exec":
            told = str((getattr(code, "co_names", ""), getattr(code, "co_consts", "")))
            file = getattr(code, "co_filename", "")
            if not file.startswith("<") and not within(file, LIBRARIES):
                found.append(f"exec of {file}")
        if TOKEN in told:
            found.append(f"{event} {told[:200]}")
    elif event == "import" and args[1] and not within(args[1], LIBRARIES):
        found.append(f"import {args}")
    elif event == "subprocess.Popen":
        command = args[1]
        first = command[0] if isinstance(command, list | tuple) else command
        if command[:2] in EXCUSED or asks_for_the_commit(command):
            return
        if isinstance(command, str) or (
            first not in COMPILERS and shutil.which(str(first)) not in COMPILERS and first != sys.executable
        ):
            found.append(f"subprocess {command}")
        elif first == sys.executable and not (
            command[1] == "-P" and (command[2] == "-m" or within(command[2], [PACKAGE]))
        ):
            found.append(f"subprocess {command}")
    elif (
        event == "ctypes.dlopen" and args[0] and os.sep in str(args[0]) and not within(args[0], [*LIBRARIES, *allowed])
    ):
        found.append(f"dlopen {args}")
    elif event == "open":
        path, mode, flags = args
        writes = bool(int(flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))
        if writes and isinstance(path, str | bytes) and not within(path, [*allowed, "/dev", "/proc"]):
            found.append(f"opens {path!r} to write")
    elif event in CHANGES and isinstance(args[0], str | bytes) and args[0] and not within(args[0], allowed):
        if os.path.isabs(os.fsdecode(args[0])):
            found.append(f"{event} {args[0]!r}")


def run(arguments: list[str]) -> dict[str, object]:
    global listening
    from faultwave.cli import main

    found.clear()
    said, code = io.StringIO(), 0
    sys.argv = ["faultwave", *arguments]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        listening = True
        try:
            main.app(prog_name="faultwave")
        except SystemExit as done:
            code = done.code if isinstance(done.code, int) else 0
        except BaseException:
            code = -1
            traceback.print_exc()
        finally:
            listening = False
    return {"code": code, "said": said.getvalue()[-1500:], "found": list(found)}


if __name__ == "__main__":
    allowed += json.loads(sys.argv[2])
    sys.addaudithook(hook)
    answers = [run(command) for command in json.loads(Path(sys.argv[1]).read_text())]
    print(json.dumps(answers))
