"""Messages speak of options on the command line, of keywords in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultwave.base.errors import InputError
from faultwave.base.wording import command, command_line, option


def test_words_of_both() -> None:
    assert option("checkpoint_every") == "checkpoint_every="
    assert option("precision", "double") == "precision='double'" and option("force", True) == "force=True"
    assert command("run") == "faultwave.run" and command("resume", Path("a b")) == "faultwave.resume('a b')"
    with command_line():
        assert option("checkpoint_every") == "--checkpoint-every"
        assert option("precision", "double") == "--precision double" and option("force", True) == "--force"
        assert command("run") == "faultwave run" and command("resume", Path("out")) == "faultwave resume out"
    assert option("order") == "order="


def test_words_are_back_after_an_error() -> None:
    with pytest.raises(InputError), command_line():
        raise InputError(())
    assert option("order") == "order="
