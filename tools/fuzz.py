"""Mutated input files for every reader: each is taken, or refused by an error that names it.

    python tools/fuzz.py [--seconds 60 | --count 20] [--reader NAME ...] [--seed 0] [--keep FOLDER]

Files are made from sound ones (``tools/fuzz_readers.py``), which come first, and from tests/fuzz/corpus. They are read in a worker
process with limits of memory and time, so that a crash or an endless loop is a finding as well. Findings are printed, and kept in FOLDER.
Exit code 1 if there are any.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

MEMORY = 3 << 30
PATIENCE = 300.0
"""Seconds for one file, on a busy machine, too; the readers' own limit on a hanging library is a part of that."""

WORDS = [b"nan", b"inf", b"-inf", b"1e400", b"1e308", b"-1", b"0", b"1e-320", b"9" * 400, b"2147483648", b"9223372036854775808", b"1e18",
         b"\xff\xfe", b"\x00", b"", b"[]", b"{}", b"null", b"''", b"%", b"*a", b"&a [*a]", b"a" * 5000, b"\xc2\xb2"]  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """What a reader did with a file, on one line; ``where`` it was raised tells findings apart."""

    reader: str
    where: str
    what: str


class Worker:
    """A process that reads files and says what became of them; begun anew after a crash. As a context it ends with the block."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.process: subprocess.Popen[str] | None = None

    def read(self, reader: str, path: Path) -> Finding | None:
        if self.process is None:
            command = [sys.executable, "-P", str(Path(__file__).resolve()), "--worker"]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
            )
            self._line(PATIENCE)  # it imports everything
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([reader, str(path)]) + "\n")
        self.process.stdin.flush()
        line = self._line(self.patience)
        if line:
            where, what = json.loads(line)
            return Finding(reader, where, what) if what else None
        code = self.process.poll()
        self.stop()
        if code is None:
            return Finding(reader, "hang", f"reads for more than {self.patience:g} s")
        return Finding(reader, "crash", signal.Signals(-code).name if code < 0 else f"exit code {code}")

    def _line(self, patience: float) -> str:
        assert self.process is not None and self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], patience)[0]:
            return ""
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
        return line

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def work() -> None:
    """Read files until the parent process ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    from tools.fuzz_readers import judged

    print("ready", flush=True)
    for line in sys.stdin:
        name, path = json.loads(line)
        try:
            found = ("", judged(name, Path(path)))
        except BaseException as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "faultwave" in f.filename]
            last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.name}"
            found = (
                f"{type(error).__name__} at {place}",
                f"{type(error).__name__} at {place}:{last.lineno}: {str(error)[:300]}",
            )
        print(json.dumps(found), flush=True)


def mutated(data: bytes, path: Path, draw: random.Random) -> bytes | None:
    """Return changed content, or None if the file ``path`` itself was changed."""
    if data.startswith(b"\x89HDF") and draw.random() < 0.5:
        path.write_bytes(data)
        restructured(path, draw)
        return None
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 1, 2, 4, 16])):
        way, at = draw.random(), draw.randrange(len(changed) + 1)
        numbers = list(re.finditer(rb"-?\d[\d.eE+-]*|\w+", bytes(changed[:200_000])))
        if way < 0.4 and numbers and b"\x00" not in data[:200]:
            word = draw.choice(numbers)
            changed[word.start() : word.end()] = draw.choice([*WORDS, bytes(draw.choice(numbers)[0])])
        elif way < 0.7 and changed:
            changed[at % len(changed)] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
        elif way < 0.8:
            changed[at:at] = draw.choice(WORDS)
        elif way < 0.9:
            del changed[at : at + draw.randrange(1, 64)]
        elif way < 0.95:
            del changed[at:]
        else:
            end = min(len(changed), at + draw.randrange(1, 400))
            changed[at:at] = changed[at:end]
    return bytes(changed)


def restructured(path: Path, draw: random.Random) -> None:
    """Replace one object of an HDF5 file by an unexpected one."""
    import h5py
    import numpy as np

    said = [
        float("nan"),
        float("inf"),
        -1.0,
        0,
        2**62,
        "text",
        b"\xff",
        np.zeros(0),
        np.zeros((2, 2)),
        h5py.Empty("f4"),
        1e308,
    ]
    held = [
        np.zeros(3), np.zeros((2, 2, 2)), np.zeros((0, 3)), np.array([b"x"]), np.full(4, np.nan), np.full((4, 3), -7),
        np.zeros(3, complex), np.float64(5), "text", h5py.Empty("f8"),
    ]  # fmt: skip
    try:
        with h5py.File(path, "r+") as file:
            names = ["/"]
            file.visit(names.append)
            name = draw.choice(names)
            found = file[name]
            if len(found.attrs) and draw.random() < 0.4:
                found.attrs[draw.choice(sorted(found.attrs))] = draw.choice(said)
            elif name != "/":
                del file[name]
                way = draw.random()
                if way < 0.5:
                    file[name] = draw.choice(held)
                elif way < 0.7:
                    file.create_dataset(name, (draw.choice([10**5, 10**9, 10**12]), 3), "f8", chunks=(1000, 3))
                elif way < 0.8:
                    file[name] = h5py.SoftLink(draw.choice(["/", name, "/nowhere"]))
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):
        pass  # some seeds are damaged already


def inputs(names: list[str], seed: int, folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield a reader, its judgement and a file: first all sound files, then changed ones without end, a reader after the other.

    The n-th file of a reader follows from ``seed``, its name and n alone, so that walks on other machines see the same files.
    """
    from tools.fuzz_readers import CORPUS, READERS

    seeds = dict[str, list[bytes]]()
    for name in names:
        (folder / name).mkdir()
        sound = list(READERS[name].seeds(folder / name))
        seeds[name] = [path.read_bytes() for path in [*sound, *sorted((CORPUS / name).glob("*"))]]
        for i, content in enumerate(seeds[name][: len(sound)]):
            path = folder / f"sound-{name}-{i}{READERS[name].suffix}"
            path.write_bytes(content)
            yield name, f"sound {name}", path
    for n in itertools.count():
        for name in names:
            draw = random.Random(f"{seed} {name} {n}")
            path = folder / f"input-{name}-{n}{READERS[name].suffix}"
            content = mutated(draw.choice(seeds[name]), path, draw)
            if content is not None:
                path.write_bytes(content)
            yield name, name, path


def hunt(
    names: list[str], seed: int, keep: Path | None = None, *, count: float = inf, seconds: float = inf
) -> list[Finding]:
    """Return the findings of a random walk, each kind once; it ends after ``count`` changed files a reader, or ``seconds``."""
    found = dict[tuple[str, str], Finding]()
    until, read, changed = time.monotonic() + seconds, 0, 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as temporary, Worker() as worker:
        for name, judge, path in inputs(names, seed, Path(temporary)):
            changed += judge == name
            if changed > count * len(names) or time.monotonic() > until:
                break
            finding = worker.read(judge, path)
            read += 1
            if finding and (judge, finding.where) not in found:
                found[judge, finding.where] = finding
                print(f"{judge}: {finding.what}", flush=True)
                if keep is not None:
                    (keep / name).mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, keep / name / path.name)
            path.unlink()
    print(f"{read} files, {len(found)} findings")
    return list(found.values())


def main() -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--seconds", type=float, default=60.0, help="how long to look")
    ends.add_argument("--count", type=int, help="how many changed files a reader, the same ones on every machine")
    parser.add_argument("--reader", action="append", help="name of a reader; default all")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers")
    parser.add_argument("--keep", type=Path, help="folder for files that led to findings")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work()
        return 0
    from tools.fuzz_readers import READERS

    wrong = sorted(set(given.reader or ()) - set(READERS))
    if wrong:
        parser.error(f"no reader {', '.join(wrong)}; there are {', '.join(READERS)}")
    end = {"seconds": given.seconds} if given.count is None else {"count": given.count}
    return bool(hunt(given.reader or list(READERS), given.seed, given.keep, **end))


if __name__ == "__main__":
    raise SystemExit(main())
