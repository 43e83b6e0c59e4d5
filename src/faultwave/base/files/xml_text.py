"""Safe parsing of external XML, without declarations that parsers would expand or fetch."""

from __future__ import annotations

import re
from typing import NoReturn
from xml.parsers import expat

HARMLESS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1", "windows-1252")
"""Encodings in which '<!' is these two bytes, so that a declaration cannot be hidden."""

_ENCODING = re.compile(rb"^\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"'>]*)[\"']")
DEEPEST = 200
"""Largest nesting depth of elements; deeper trees overflow the stack of recursive code."""


def refuse_declarations(data: bytes) -> None:
    """Raise ValueError for XML that declares a document type or entities, hides them in its encoding, or is malformed.

    Entities may stand for gigabytes, for other files and for addresses; no file of seismology needs them. Elements nested more than
    ``DEEPEST`` levels are refused, too.

    Parameters
    ----------
    data : bytes
        Content of the file.

    Raises
    ------
    ValueError
        With the defect.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:64]:
        raise ValueError("it is not encoded in UTF-8")
    begin = data.removeprefix(b"\xef\xbb\xbf")
    encoding = _ENCODING.match(begin[:1000])
    if encoding is not None and encoding[1].decode("ascii", "replace").strip().lower() not in HARMLESS:
        raise ValueError(
            f"its encoding is '{encoding[1].decode('ascii', 'replace')[:40]}', but only UTF-8 is supported"
        )
    _parse_without_declarations(data)


def _parse_without_declarations(data: bytes) -> None:
    """Let the parser recognise declarations, since comments and instructions may resemble parts of one."""
    parser, depth = expat.ParserCreate(), 0

    def declared(what: str) -> NoReturn:
        raise ValueError(f"it declares '<!{what}', and files with declarations are not read")

    def begin_element(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise ValueError(f"its elements are nested more than {DEEPEST} levels deep")

    def end_element(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = lambda *declaration: declared("DOCTYPE")
    parser.EntityDeclHandler = lambda *declaration: declared("ENTITY")
    parser.StartElementHandler, parser.EndElementHandler = begin_element, end_element
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from None
