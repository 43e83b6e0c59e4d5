"""Programs that tell each other planes, in tiles that go through all of them: every read finds the half-step that it is meant to."""

import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from faultwave.backends.cpu.blocking import skew
from faultwave.backends.cpu.joint import Event, Schedule, Sweep, reach
from faultwave.fd.blocks.interface import EXCHANGED_FIELDS, _face
from faultwave.fd.method.stencils import beyond
from faultwave.kernels.stencil import record
from faultwave.run import simulate
from tests.fd.test_block_steps import deep
from tests.fd.test_blocks import eighth

STEPS, TILE, ROWS = 3, 4, np.arange(96, 192)
RIGID = {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"}


def blocks(kind):
    """Operators of blocks, and what they tell each other."""
    made = eighth(2) if kind == "order 8" else deep(int(kind[-1]), sources=[], output={})
    if kind == "three 2":
        made["grid"] |= {
            "blocks": [*made["grid"]["blocks"], {"below": 3400 + 44 * 200, "spacing": 400.0}],
            "upper": [3200, 3200, 0],
        }
        made["grid"]["lower"][2] = -3400 - 44 * 200 - 26 * 400
    made["grid"]["boundaries"] = RIGID
    op = simulate(made).solver.operator
    rows = [round(op.blocks[-1].scheme.grid.spacing / b.scheme.grid.spacing) for b in op.blocks]
    told = [
        [t for n, i in enumerate(op.interfaces) for t in i.transfers(stage, n)]
        for stage in range(len(EXCHANGED_FIELDS))
    ]
    return op, rows, told


@dataclass(frozen=True)
class Place:
    """An event, by its number."""

    number: int
    event: Event

    def tiles(self, rows):
        return (rows + self.event.behind) // (self.event.rows * TILE)


def fine(earlier, later, rows=ROWS, others=ROWS):
    """Whether one is done before the other on these rows, whatever threads do: tiles follow each other event by event."""
    return earlier.number < later.number and bool((earlier.tiles(rows) <= later.tiles(others)).all())


class Order:
    """What launches and transfers read and write, and at which event."""

    def __init__(self, op, rows, told):
        self.op, self.rows, self.told = op, rows, told
        self.events = list(enumerate(Schedule([b.runner.program for b in op.blocks], rows, told, STEPS).events()))
        self.of_half = {}
        for n, e in self.events:
            self.of_half.setdefault((e.number, e.half), []).append((n, e))

    def place(self, program, half, plane):
        """When a half-step is at a plane: once."""
        ((number, event),) = (x for x in self.of_half[program, half] if x[1].planes[0] <= plane < x[1].planes[1])
        return Place(number, event)

    def of_launches(self):
        for number, block in enumerate(self.op.blocks):
            program = block.runner.program
            top = program.box.hi[0] if program.together is None else program.together
            for half in range(STEPS * len(program.levels)):
                for launch in program.levels[half % len(program.levels)]:
                    reads, writes = record(launch.stencil)
                    low, high = launch.box.lo[0], launch.box.hi[0]
                    for plane in sorted({*range(low, min(high, low + 26)), *range(max(low, high - 6), high)}):
                        # planes from ``together`` on are worked on at once, whichever a launch is at
                        for key in reads:
                            if key[0] in ("at", "on"):
                                there = plane + key[2] if key[0] == "at" else key[2]
                                yield (
                                    half,
                                    number,
                                    launch.names.get(key[1], key[1]),
                                    there,
                                    key[3],
                                    self.place(number, half, min(plane, top)),
                                    False,
                                )
                        for name in writes:
                            yield (
                                half,
                                number,
                                launch.names.get(name, name),
                                plane,
                                0,
                                self.place(number, half, min(plane, top)),
                                True,
                            )

    def of_transfers(self):
        faces = len(self.op.interfaces)
        for stage in range(STEPS * len(EXCHANGED_FIELDS)):
            kind = stage % len(EXCHANGED_FIELDS)
            listed = [(n, up) for n in range(faces) for up in (False, True) for _ in EXCHANGED_FIELDS[0]]
            for n, (transfer, (face, upwards)) in enumerate(zip(self.told[kind], listed, strict=True)):
                name = EXCHANGED_FIELDS[kind][n % len(EXCHANGED_FIELDS[0])]
                assert (transfer.source, transfer.target) == ((face + 1, face) if upwards else (face, face + 1))
                number = n + sum(map(len, self.told[:kind]))
                place = Place(*self.of_half[number, None][stage // len(EXCHANGED_FIELDS)])
                plane = _face(self.op.blocks[transfer.source], name, not upwards)
                yield stage - 0.5, transfer, name, plane, beyond(name, not upwards), place


def used(transfer, row, every):
    """The lowest and highest row of the source that rows of the target are made of, both as of a grid without ends; ``every``: rows after
    which weights come again."""
    first, weights = transfer.rows
    at = 3 + (row - 3) % every
    marked = weights[at] != 0
    ratio = (first[3 + every] - first[3]) / every
    low = first[at] - transfer.first[0] + ratio * (row - at)
    return (low + marked.argmax(1)).astype(int), (low + weights.shape[1] - 1 - marked[:, ::-1].argmax(1)).astype(int)


def broken(kind):
    """Reads that find another half-step than in the order of the programs."""
    op, rows, told = blocks(kind)
    order, wrong, by_array = Order(op, rows, told), [], {}
    for half, number, name, plane, ahead, place, writes in order.of_launches():
        by_array.setdefault((number, name, plane), set()).add((half, place, ahead, writes))
    for when, transfer, name, plane, into, place in order.of_transfers():
        every = max(1, rows[transfer.target] // rows[transfer.source])
        for half, there, _, writes in by_array[transfer.source, name, plane]:
            for read in used(transfer, ROWS, every) if writes else ():
                if not (fine(there, place, read, ROWS) if half < when else fine(place, there, ROWS, read)):
                    wrong.append(("read by a transfer", name, half, when))
        for half, there, _, _ in by_array[transfer.target, into, 0]:
            if not (fine(there, place) if half < when else fine(place, there)):
                wrong.append(("made by a transfer", into, half, when))
    for key, listed in by_array.items():
        for half, there, _, _ in (x for x in listed if x[3]):
            for other, place, ahead, _ in (x for x in listed if x[0] != half):
                read = ROWS + ahead
                if not (fine(there, place, read, ROWS) if half < other else fine(place, there, ROWS, read)):
                    wrong.append((*key, half, other, ahead))
    return wrong


KINDS = ["two 2", "two 3", "three 2", "order 8"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_read_finds_its_half_step(kind):
    assert broken(kind) == []


@pytest.mark.parametrize("steps", [4, 6])
@pytest.mark.parametrize("kind", ["two 2", "two 3"])
def test_of_more_steps_too(kind, steps, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "STEPS", steps)
    assert broken(kind) == []


@pytest.mark.parametrize("kind", ["two 2", "two 3"])
def test_without_a_sweep_too(kind, monkeypatch):
    monkeypatch.setattr(Sweep, "of", lambda program, steps: None)
    assert broken(kind) == []


@pytest.mark.parametrize(("kind", "what"), [("two 2", "at"), ("two 3", "at"), ("two 2", "steep"), ("order 8", "read")])
def test_another_order_would_be_noticed(kind, what, monkeypatch):
    """Stages one row nearer to each other, planes that lag no more right beside the face, or from a plane on that is read there."""
    of, made, event = Sweep.of, Schedule.__init__, Schedule._event
    if what == "at":

        def nearer(self, *given):
            made(self, *given)
            self.at = [rows - n for n, rows in enumerate(self.at)]

        monkeypatch.setattr(Schedule, "__init__", nearer)
    elif what == "steep":

        def steep(self, half, first, end):
            found = event(self, half, first, end)
            return replace(found, behind=int(self.own[0][half])) if first > self.sweep.low else found

        monkeypatch.setattr(Schedule, "_event", steep)
    else:
        # None where so many steps have no sweep, of which ``prepare`` may ask.
        monkeypatch.setattr(Sweep, "of", lambda *given: (found := of(*given)) and replace(found, read=-9))
    assert broken(kind)


@pytest.mark.parametrize("kind", ["two 2", "two 3"])
def test_planes_are_made_of_two_rows_beside_them(kind):
    """In both directions: those that cubic polynomials through four points read."""
    _, rows, told = blocks(kind)
    assert {reach(t, rows) for of in told for t in of} == {2}


def test_the_uppermost_block_is_swept_as_closely_as_a_grid():
    """Away from the face its half-steps are no farther behind each other than those of a grid of one spacing."""
    op, rows, told = blocks("two 2")
    program = op.runner.program
    events = Schedule([b.runner.program for b in op.blocks], rows, told, STEPS).events()
    apart = skew(program)
    expected = [y + apart.step[1] * step for step in range(STEPS) for y in apart.y]
    far = {e.half: e.behind for e in events if e.number == 0 and e.half is not None and e.planes[0] > 16}
    assert [far[n] for n in sorted(far)] == expected
    beside = {e.half: e.behind for e in events if e.number == 0 and e.half is not None and e.planes[0] < 3}
    assert all(beside[n] == 2 * 2 * n for n in beside) and len(beside) == len(expected)
