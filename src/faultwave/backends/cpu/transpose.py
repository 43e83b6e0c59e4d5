"""Moves between slots (one item's numbers side by side) and vectors of items, by transposing in registers."""

from __future__ import annotations


def transposes(lanes: int) -> str:
    """C text of ``transpose(V *a)``, the LANES x LANES matrix in place by halves, quarters and so on, and of ``load``
    and ``save``, which cover a slot by such blocks; the last one overlaps the one before."""
    lines, step = ["F void transpose(V *a) {", "  V b;"], lanes // 2
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
    lanes_in = " ".join(f"t[{i}] = *(const VU *)(slot[{i}] + at);" for i in range(lanes))
    lanes_out = " ".join(f"*(VU *)(slot[{i}] + at) = t[{i}];" for i in range(lanes))
    rows_in = " ".join(f"t[{i}] = v[at + {i}];" for i in range(lanes))
    rows_out = " ".join(f"v[at + {i}] = t[{i}];" for i in range(lanes))
    following = f"if (at + {lanes} == size) break; at = at + {2 * lanes} <= size ? at + {lanes} : size - {lanes};"
    return "\n".join(
        [
            *lines,
            "}",
            "F void load(V *v, R *const *slot, int size) {",
            f"  if (size < {lanes}) {{",
            f"    for (int i = 0; i < {lanes}; ++i) for (int j = 0; j < size; ++j) v[j][i] = slot[i][j];",
            "    return;",
            "  }",
            f"  for (int at = 0;;) {{ V t[{lanes}]; {lanes_in} transpose(t); {rows_out} {following} }}",
            "}",
            "F void save(const V *v, R *const *slot, int size) {",
            f"  if (size < {lanes}) {{",
            f"    for (int i = 0; i < {lanes}; ++i) for (int j = 0; j < size; ++j) slot[i][j] = v[j][i];",
            "    return;",
            "  }",
            f"  for (int at = 0;;) {{ V t[{lanes}]; {rows_in} transpose(t); {lanes_out} {following} }}",
            "}",
        ]
    )
