"""Names in the C text."""

from __future__ import annotations

# Names that the C text uses itself, in addition to names that end in a digit, and the keywords of C.
_TAKEN = frozenset(
    """arg scalar begin end batch lane r o p j m x V VM I R F VU LL ALL SPLAT transpose load save slot t next a e i placed share_out FETCH
    FETCH_ALL SELECT LANES MAGNITUDE BIAS MANTISSA run it
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while""".split()
)


def c_name(name: str) -> str:
    """Return the name of an array or counter in the C text."""
    return f"{name}_" if name in _TAKEN or name[-1] == "_" or name[-1].isdigit() else name
