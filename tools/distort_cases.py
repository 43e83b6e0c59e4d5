"""Check distorted cases: every example and every deck, each of its keys damaged in turn.

    python tools/distort_cases.py REPORT.json [--seed 0] [--count N] [--decks FOLDER] [--only NAME ...] [--keep FOLDER]

Each key is removed, set to 0, -1, nan, 1e30 and a word, given a wrong unit and exchanged with its neighbour; further inputs damage two
keys. ``faultwave.check`` reads each input in a worker process with limits of processor time and memory. It must answer: no problem,
warnings, or errors, and never a traceback. Answers are appended to REPORT.jsonl, so that an interrupted run goes on where it stopped;
REPORT.json sums up. Exit code 1 where an input had no answer.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

SECONDS, MEMORY = 10.0, 2 << 30
"""Processor time [s] and memory [bytes] that a check of a distorted case may take, beyond what the libraries take."""
PATIENCE = 150.0
"""Seconds that the parent waits for an answer of a worker, on a busy machine."""
EXAMPLES, BUILT_IN = ROOT / "examples", ROOT / "src" / "faultwave" / "case" / "examples"
DECKS = next((f for f in (ROOT.parent / "shared" / "cases", ROOT / "shared" / "cases") if f.is_dir()), Path("no decks"))
SMALL = (
    "leapfrog",
    "point-source",
    "plane-wave",
    "em-cavity",
    "imposed-slip",
    "finite-source",
    "green-tensors",
    "seafloor",
)
"""Examples that a check takes a fraction of a second for."""
WAYS = ("removed", "0", "-1", "nan", "1e30", "text", "unit", "exchanged")
WORD = "some words"
TOTAL = 20_000
"""Inputs by default: all single distortions, then pairs."""

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Base:
    """A sound case: its ``file`` among the other files of its folder. ``text``: the file that is distorted, which a deck may name."""

    name: str
    file: Path
    text: Path


@dataclass(frozen=True)
class Answer:
    """Result of the check of one input.

    The kind is ``ok``, ``warnings``, ``errors``, or without an answer ``traceback``, ``slow``, ``memory`` or ``crash``. The result has the
    processor time [s], the largest memory [bytes] and the first words or the last line of a traceback.
    """

    name: str
    kind: str
    seconds: float
    memory: int
    what: str

    @property
    def answered(self) -> bool:
        return self.kind in ("ok", "warnings", "errors")


def bases(decks: Path = DECKS) -> list[Base]:
    """Return the examples, built-in ones first, and the decks with each of their text files."""
    found = [Base(path.stem, path, path) for path in sorted(BUILT_IN.glob("*.yaml"))]
    found += [Base(path.parent.name, path, path) for path in sorted(EXAMPLES.glob("*/case.yaml"))]
    for deck in sorted(decks.glob("*/*.par")):
        texts = [deck, *sorted(p for p in deck.parent.iterdir() if p.suffix in (".yaml", ".dat") and p.is_file())]
        found += [Base(f"{deck.parent.name}/{text.name}", deck, text) for text in texts]
    return found


def single(base: Base) -> Iterator[tuple[Any, str]]:
    """Yield every place of a base with every way that distorts it."""
    for place in places(base):
        yield from ((place, way) for way in WAYS)


def places(base: Base) -> list[Any]:
    """Return what can be distorted: locations in a native case, numbers of lines in a text of a deck."""
    if base.text.suffix == ".yaml" and base.text == base.file:
        return list(_locations(_document(base.text)))
    lines = base.text.read_text(errors="replace").splitlines()
    return [k for k, line in enumerate(lines) if line.split("!")[0].split("#")[0].strip() not in ("", "/", "-")]


def distorted(base: Base, changes: Sequence[tuple[Any, str]]) -> str | None:
    """Return the text of a base with changes (place, way); None where one of them cannot be made."""
    if base.text.suffix == ".yaml" and base.text == base.file:
        document = copy.deepcopy(_document(base.text))
        if not all(_changed(document, place, way) for place, way in changes):
            return None
        return _as_text(document)
    lines = base.text.read_text(errors="replace").splitlines()
    if not all(_changed_line(lines, place, way) for place, way in changes):
        return None
    return "\n".join(lines) + "\n"


_DOCUMENTS: dict[Path, Any] = {}


def _document(path: Path) -> Any:
    from ruamel.yaml import YAML

    if path not in _DOCUMENTS:
        _DOCUMENTS[path] = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    return _DOCUMENTS[path]


def _as_text(document: Any) -> str:
    from ruamel.yaml import YAML

    writer, stream = YAML(typ="safe"), StringIO()
    writer.default_flow_style = False
    writer.dump(document, stream)
    return stream.getvalue()


def _locations(node: Any, at: Place = ()) -> Iterator[Place]:
    items: Any = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield (*at, key)
        yield from _locations(value, (*at, key))


def _changed(document: Any, place: Place, way: str) -> bool:
    """Distort a place of a document; False where that changes nothing."""
    for key in place[:-1]:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):  # another distortion took it away
            return False
    key = place[-1]
    if not (isinstance(document, dict) and key in document or isinstance(document, list) and key < len(document)):  # type: ignore[operator]
        return False
    keys: list[Any] = list(document) if isinstance(document, dict) else list(range(len(document)))
    old = document[key]
    match way:
        case "removed":
            del document[key]
            return True
        case "exchanged":
            if len(keys) < 2:
                return False
            other = keys[(keys.index(key) + 1) % len(keys)]
            document[key], document[other] = document[other], old
            return bool(document[key] != old)
        case "unit":
            new = _other_unit(old)
            if new is None:
                return False
        case _:
            new = {"0": 0, "-1": -1, "nan": float("nan"), "1e30": 1e30, "text": WORD}[way]
    document[key] = new
    return bool(new != old)


def _other_unit(value: Any) -> str | None:
    """Return a number with a unit of another dimension, or of another size; None of what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = re.fullmatch(r"\s*([-+\d.eE]+)\s*(.*)", str(value))
    if found is None:
        return None
    number, unit = found.groups()
    return (
        f"{number} {'ms' if unit in ('', 's') else 's' if unit not in ('m', 'km') else 'm' if unit == 'km' else 'km'}"
    )


_PAIR = re.compile(r"^(\s*(?:- )?(?:!\w+\s+)?[^:=!#]+?\s*[:=]\s*)([^!#]*?)(\s*(?:[!#].*)?)$")


def _changed_line(lines: list[str], number: int, way: str) -> bool:
    """Distort the value of a line 'key = value' or 'key: value', or the first number of another line."""
    old = lines[number]
    match way:
        case "removed":
            lines[number] = ""
        case "exchanged":
            other = (number + 1) % len(lines)
            one, two = _PAIR.match(old), _PAIR.match(lines[other])
            if one and two:
                lines[number], lines[other] = one[1] + two[2] + one[3], two[1] + one[2] + two[3]
            else:
                words = old.split()
                if len(words) < 2 or ":" in old:
                    return False
                words[0], words[1] = words[1], words[0]
                lines[number] = " ".join(words)
        case _:
            pair = _PAIR.match(old)
            value = pair[2] if pair else (old.split() or [""])[0]
            new = f"{value} km" if way == "unit" else WORD if way == "text" else {"nan": ".nan"}.get(way, way)
            lines[number] = f"{pair[1]}{new}{pair[3]}" if pair else old.replace(value, new, 1)
    return lines[number] != old


def inputs(
    chosen: Sequence[Base], seed: int, count: int | None = None
) -> Iterator[tuple[str, Base, list[tuple[Any, str]]]]:
    """Yield names, bases and changes: every single distortion in the order of ``seed``, then pairs, up to ``count``."""
    draw = random.Random(seed)
    singles = [(base, [change]) for base in chosen for change in single(base)]
    draw.shuffle(singles)
    everything = {base: places(base) for base in chosen}
    made = 0
    while count is None or made < count:
        if made < len(singles):
            base, changes = singles[made]
        elif count is None:
            return
        else:
            base = draw.choice(chosen)
            changes = [(draw.choice(everything[base]), draw.choice(WAYS)) for _ in range(2)]
        made += 1
        said = "; ".join(f"{_shown(place)} {way}" for place, way in changes)
        yield f"{made:05} {base.name}: {said}", base, changes


def _shown(place: Any) -> str:
    return ".".join(map(str, place)) if isinstance(place, tuple) else f"line {place + 1}"


def prepare(base: Base, text: str, folder: Path) -> Path:
    """Write a distorted text into a folder beside links to the other files of its base; return the case file."""
    for path in base.file.parent.iterdir():
        target = folder / path.name
        if path.is_file() and path != base.text and not target.exists():
            target.symlink_to(path)
    changed = folder / base.text.name
    changed.unlink(missing_ok=True)
    changed.write_text(text, encoding="utf-8")
    return folder / base.file.name


class Slow(BaseException):
    """A check took more processor time than it may."""


def judge(name: str, path: Path) -> Answer:
    """Check a case in this process and say what became of it."""
    from faultwave.run.planned import check

    begin, what = time.process_time(), ""
    _forget_peak()
    before = _status("VmRSS")
    try:
        found = check(path)
        kind = "errors" if found.errors else "warnings" if found.items else "ok"
        what = str(found.items[0])[:200] if found.items else ""
    except Slow as error:
        kind, what = "slow", _last_frames(error)
    except MemoryError as error:
        kind, what = "memory", _last_frames(error)
    except Exception as error:
        kind, what = "traceback", f"{type(error).__name__}: {str(error)[:200]} @ {_last_frames(error)}"
    return Answer(name, kind, time.process_time() - begin, max(0, _status("VmHWM") - before), what)


def _last_frames(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "faultwave" in f.filename][-3:]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames))


def _status(key: str) -> int:
    """Return a number [bytes] of this process by its name in /proc; 0 on systems that have none."""
    try:
        found = re.search(rf"{key}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0


def _forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def work() -> None:
    """Answer the inputs that the parent names, one a line, within the limits."""
    import faultwave.dg.engine
    import faultwave.fd.engine  # noqa: F401

    def late(*_: object) -> None:
        raise Slow

    signal.signal(signal.SIGPROF, late)
    limit = _status("VmSize") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    answers, sys.stdout = sys.stdout, sys.stderr
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        name, path = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            answer = judge(name, Path(path))
        except Slow:  # between the check and here
            answer = Answer(name, "slow", SECONDS, 0, "")
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        print(json.dumps(asdict(answer)), file=answers, flush=True)


class Worker:
    """A process that checks cases, begun anew after a crash and after every 300 inputs; it ends with the block."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.checked = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def check(self, name: str, path: Path) -> Answer:
        if self.process is None or self.checked >= 300:
            self.stop()
            command = [sys.executable, "-P", str(Path(__file__).resolve()), "--worker"]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
            )
            self.checked = 0
            self._line()
        assert self.process.stdin is not None
        self.checked += 1
        begin = time.monotonic()
        try:
            self.process.stdin.write(json.dumps([name, str(path)]) + "\n")
            self.process.stdin.flush()
            line = self._line()
        except BrokenPipeError:
            line = ""
        if line:
            return Answer(**json.loads(line))
        code = self.process.poll()
        self.stop()
        kind, what = ("slow", "no answer") if code is None else ("crash", f"exit code {code}")
        return Answer(name, kind, time.monotonic() - begin, 0, what)

    def _line(self) -> str:
        assert self.process is not None and self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            return ""
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
        return line


def summary(answers: Sequence[Answer], seed: int) -> dict[str, Any]:
    """Return counts of inputs and answers, the longest time, the largest memory and all inputs without an answer."""
    longest = max(answers, key=lambda a: a.seconds, default=None)
    largest = max(answers, key=lambda a: a.memory, default=None)
    return {
        "seed": seed,
        "inputs": len(answers),
        "answers": dict(Counter(a.kind for a in answers)),
        "without_answer": sum(not a.answered for a in answers),
        "tracebacks": sum(a.kind == "traceback" for a in answers),
        "longest_seconds": None if longest is None else [round(longest.seconds, 2), longest.name],
        "largest_memory_mib": None if largest is None else [largest.memory >> 20, largest.name],
        "unanswered": [asdict(a) for a in answers if not a.answered],
    }


def run(chosen: Sequence[Base], report: Path, seed: int, count: int, keep: Path | None = None) -> dict[str, Any]:
    """Check distorted cases up to ``count``, those of an earlier run with the same report left out, and return the summary."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    lines = report.with_suffix(".jsonl")
    answers = [Answer(**json.loads(line)) for line in lines.read_text().splitlines()] if lines.exists() else []
    done = {answer.name for answer in answers}
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with (
        tempfile.TemporaryDirectory(prefix="distort-") as temporary,
        Worker() as worker,
        lines.open("a") as log,
        Progress(*columns) as bar,
    ):
        task = bar.add_task("", total=count)
        for name, base, changes in inputs(chosen, seed, count):
            bar.advance(task)
            text = None if name in done else distorted(base, changes)
            if text is None:
                continue
            folder = Path(temporary) / base.name.replace("/", "-")
            folder.mkdir(exist_ok=True)
            answer = worker.check(name, prepare(base, text, folder))
            answers.append(answer)
            log.write(json.dumps(asdict(answer)) + "\n")
            log.flush()
            if not answer.answered:
                bar.console.print(f"{answer.kind}: {answer.name}: {answer.what}", markup=False)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{name.split()[0]}-{base.text.name}").write_text(text)
            bar.update(task, description=f"{sum(not a.answered for a in answers)} without an answer")
    found = summary(answers, seed)
    report.write_text(json.dumps(found, indent=1))
    return found


def main() -> int:
    """Check distorted inputs, write the report and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("report", type=Path, nargs="?", help="summary in JSON; REPORT.jsonl has every answer")
    parser.add_argument("--seed", type=int, default=0, help="of the order and of pairs of distortions")
    parser.add_argument("--count", type=int, default=TOTAL, help="inputs altogether")
    parser.add_argument(
        "--decks",
        type=lambda text: Path(text).resolve(),
        default=DECKS,
        help="folder with a folder for each SeisSol deck",
    )
    parser.add_argument("--only", action="append", help="name of a base; default all")
    parser.add_argument("--keep", type=Path, help="folder for inputs without an answer")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work()
        return 0
    if given.report is None:
        parser.error("name a file for the report")
    chosen = [b for b in bases(given.decks) if not given.only or b.name in given.only]
    if not chosen:
        parser.error(f"no such base; there are {', '.join(b.name for b in bases(given.decks))}")
    found = run(chosen, given.report, given.seed, given.count, given.keep)
    print(json.dumps({k: v for k, v in found.items() if k != "unanswered"}, indent=1))
    return bool(found["without_answer"])


if __name__ == "__main__":
    raise SystemExit(main())
