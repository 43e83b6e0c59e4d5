"""Checksums of inputs: those of sha256sum for a file of one piece, shared among processes else; nothing waits for them."""

from __future__ import annotations

import hashlib
import threading

from faultwave.comm import World
from faultwave.output import manifest


class One(World):
    """One of several processes, which have left what they found in ``told``."""

    def __init__(self, rank, size, told):
        super().__init__()
        self.rank, self.size, self.told = rank, size, told

    def broadcast(self, value):
        return self.told.setdefault("shared", value)

    def gather(self, value):
        self.told[self.rank] = value
        return [self.told[r] for r in range(self.size)] if self.first else None


def test_as_sha256sum_shows_them(tmp_path):
    files = {"a": b"", "b": b"mesh" * 1000}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = manifest.Digests(World(), [tmp_path / n for n in files]).found()
    expected = {str(tmp_path / n): {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in files.items()}
    assert found == expected


def test_any_number_of_processes_finds_the_same(tmp_path, monkeypatch):
    """Each reads its share only."""
    monkeypatch.setattr(manifest, "PIECE", 100)
    monkeypatch.setattr(manifest, "BLOCK", 7)
    data = bytes(range(250)) + bytes(range(100))
    file = tmp_path / "mesh"
    file.write_bytes(data)
    tree = hashlib.sha256(b"".join(hashlib.sha256(data[i : i + 100]).digest() for i in range(0, 350, 100))).hexdigest()
    for size in (1, 3, 5):
        told: dict = {}
        each = [manifest.Digests(One(rank, size, told), [file] if rank == 0 else []) for rank in range(size)]
        assert [len(d._mine) for d in each] == [len(range(rank, 4, size)) for rank in range(size)]
        found = [d.found() for d in reversed(each)][-1]
        assert found == {str(file): {"bytes": 350, "sha256_of_pieces_of_100_bytes": tree}}


def test_nobody_waits_and_what_is_gone_stops_nothing(tmp_path, monkeypatch):
    gate, real = threading.Event(), manifest._digest

    def slow(path, start):
        assert gate.wait(10)
        return real(path, start)

    monkeypatch.setattr(manifest, "_digest", slow)
    (tmp_path / "a").write_text("x")
    made = manifest.Digests(World(), [tmp_path / "a"])
    assert made.before() == {str(tmp_path / "a"): {"bytes": 1}}
    (tmp_path / "a").unlink()
    gate.set()
    assert made.found() == {str(tmp_path / "a"): {"bytes": 1, "unreadable": "No such file or directory"}}
