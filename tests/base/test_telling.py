"""What long work tells reaches who listens, while they do."""

from __future__ import annotations

from faultwave.base.telling import listening, tell


def test_heard_while_somebody_listens() -> None:
    heard: list[str] = []
    tell("before")
    with listening(heard.append):
        tell("during")
        with listening(lambda text: heard.append(f"also {text}")):
            tell("within")
    tell("after")
    assert heard == ["during", "within", "also within"]
