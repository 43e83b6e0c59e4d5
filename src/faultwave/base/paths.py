"""Asking for files by names that users wrote."""

from __future__ import annotations

from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether there is a file of this name; also False for what can be no name, such as a text of thousands of letters."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def shown(name: object, most: int = 60) -> str:
    """A name for messages, cut where it is too long to read."""
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 3]}..."
