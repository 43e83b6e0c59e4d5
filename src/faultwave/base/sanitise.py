"""Sanitising of text from users and their files for terminals, pictures and pages."""

from __future__ import annotations

import unicodedata

REPLACED = "\ufffd"
"""Replacement for characters that cannot be shown."""
PRESERVED = "\n\t"
_HIDDEN = ("Cc", "Cs", "Co", "Cn")
_BIDIRECTIONAL_MARKS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F}
"""Control characters that change the direction of the surrounding text."""


def printable(text: str, kept: str = PRESERVED) -> str:
    """Return a text with all unprintable characters replaced, except those in ``kept``.

    Replaced are control characters, which a terminal executes, halves of surrogate pairs, which no file can contain, and marks that change
    the direction of other text.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in kept or not is_unprintable(c) else REPLACED for c in text)


def is_unprintable(character: str) -> bool:
    """Return True if a character cannot be shown."""
    return unicodedata.category(character) in _HIDDEN or ord(character) in _BIDIRECTIONAL_MARKS


__all__ = ["REPLACED", "is_unprintable", "printable"]
