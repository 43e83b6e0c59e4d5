"""Words from users and their files, fit to be shown: on a terminal, in a picture, on a page."""

from __future__ import annotations

import unicodedata

REPLACED = "\ufffd"
"""Stands where a character cannot be shown."""
KEPT = "\n\t"
_HIDDEN = ("Cc", "Cs", "Co", "Cn")
_TURNING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F}
"""Marks that turn the direction of the text around them."""


def printable(text: str, kept: str = KEPT) -> str:
    """Return a text with every character replaced that is none to show: control characters, which a terminal obeys, halves of
    surrogate pairs, which no file can hold, and marks that turn the direction of other text. Those ``kept`` stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in kept or not hidden(c) else REPLACED for c in text)


def hidden(character: str) -> bool:
    """Return whether a character is none to show."""
    return unicodedata.category(character) in _HIDDEN or ord(character) in _TURNING


__all__ = ["REPLACED", "hidden", "printable"]
