"""Copies between slots (contiguous numbers of one item) and vectors of items, by transposition in registers."""

from __future__ import annotations


def transposes(lanes: int, narrow: bool = False) -> str:
    """Return C text of ``transpose(V *a)`` (LANES x LANES, in place) and of ``load`` and ``save`` of slots by such blocks.

    The last block of a slot overlaps the previous one. ``narrow``: for slots of single precision, with suffixed names.
    """
    real, kind, anywhere, end = ("float", "VN", "VNU", "_narrow") if narrow else ("R", "V", "VU", "")
    wide, slim = ("WIDE({})", "NARROW({})") if narrow else ("{}", "{}")
    lanes_in = " ".join(f"t[{i}] = *(const {anywhere} *)(slot[{i}] + at);" for i in range(lanes))
    lanes_out = " ".join(f"*({anywhere} *)(slot[{i}] + at) = t[{i}];" for i in range(lanes))
    rows_in = " ".join(f"t[{i}] = {slim.format(f'v[at + {i}]')};" for i in range(lanes))
    rows_out = " ".join(f"v[at + {i}] = {wide.format(f't[{i}]')};" for i in range(lanes))
    following = f"if (at + {lanes} == size) break; at = at + {2 * lanes} <= size ? at + {lanes} : size - {lanes};"
    each = f"for (int i = 0; i < {lanes}; ++i) for (int j = 0; j < size; ++j)"
    return "\n".join(
        [
            *_transpose(lanes, kind, end),
            f"F void load{end}(V *v, {real} *const *slot, int size) {{",
            f"  if (size < {lanes}) {{",
            f"    {each} v[j][i] = slot[i][j];",
            "    return;",
            "  }",
            f"  for (int at = 0;;) {{ {kind} t[{lanes}]; {lanes_in} transpose{end}(t); {rows_out} {following} }}",
            "}",
            f"F void save{end}(const V *v, {real} *const *slot, int size) {{",
            f"  if (size < {lanes}) {{",
            f"    {each} slot[i][j] = v[j][i];",
            "    return;",
            "  }",
            f"  for (int at = 0;;) {{ {kind} t[{lanes}]; {rows_in} transpose{end}(t); {lanes_out} {following} }}",
            "}",
        ]
    )


def _transpose(lanes: int, kind: str, end: str) -> list[str]:
    """Return the lines of ``transpose`` for vectors of a kind."""
    lines, step = [f"F void transpose{end}({kind} *a) {{", f"  {kind} b;"], lanes // 2
    while step:
        low = ", ".join(str(i if not i & step else lanes + i - step) for i in range(lanes))
        high = ", ".join(str(i + step if not i & step else lanes + i) for i in range(lanes))
        for i in range(lanes):
            if not i & step:
                j = i + step
                lines.append(
                    f"  b = __builtin_shufflevector(a[{i}], a[{j}], {low}); "
                    f"a[{j}] = __builtin_shufflevector(a[{i}], a[{j}], {high}); a[{i}] = b;"
                )
        step //= 2
    return [*lines, "}"]
