"""XML of others: text without declarations of its own, which parsers would expand or fetch."""

from __future__ import annotations

import re

HARMLESS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1", "windows-1252")
"""Encodings in which '<!' is written as these two bytes, so that a declaration cannot be hidden."""

_DECLARATION = re.compile(rb"<!(?!--|\[CDATA\[)\s*([A-Za-z]*)")
_ENCODING = re.compile(rb"^\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"'>]*)[\"']")
_COMMENT = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>", re.DOTALL)
DEEPEST = 200
"""Levels of elements within each other. Trees that are deeper exhaust the stack of what walks through them."""


def refuse_declarations(data: bytes) -> None:
    """Raise ValueError for XML that declares a document type or entities, hides them in its encoding, or is nested too deeply.

    Entities may stand for gigabytes, for other files and for addresses; no file of seismology needs them.

    Parameters
    ----------
    data : bytes
        Content of the file.

    Raises
    ------
    ValueError
        With what is wrong.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:64]:
        raise ValueError("it is not encoded in UTF-8")
    begin = data.removeprefix(b"\xef\xbb\xbf")
    encoding = _ENCODING.match(begin[:1000])
    if encoding is not None and encoding[1].decode("ascii", "replace").strip().lower() not in HARMLESS:
        raise ValueError(f"its encoding is '{encoding[1].decode('ascii', 'replace')[:40]}', and UTF-8 is read")
    plain = _COMMENT.sub(b"", begin)
    declared = _DECLARATION.search(plain)
    if declared is not None:
        raise ValueError(f"it declares '<!{declared[1].decode()}', and files with declarations are not read")
    depth = 0
    for match in re.finditer(rb"<(/?)[^<>]*?(/?)>", plain):
        if match[0].startswith(b"<?"):
            continue
        depth += -1 if match[1] else 0 if match[2] else 1
        if depth > DEEPEST:
            raise ValueError(f"its elements are nested more than {DEEPEST} levels deep")


__all__ = ["refuse_declarations"]
