"""What the examples cost, counted from their plans: updates of cells or grid points until the end. Writes docs/example-costs.json.

python tools/example_costs.py [NAME ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from faultwave.case.load import examples
from faultwave.run.engines import engine_of
from faultwave.run.inputs import load_valid_case

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "example-costs.json"


def cost(name: str) -> dict[str, object] | None:
    """Of an example; None for one that is a script."""
    file = ROOT / "examples" / name / "case.yaml"
    if not file.exists() and name not in examples():
        return None
    case, _ = load_valid_case(str(file) if file.exists() else name)
    plan = engine_of(case).plan(case)
    if case.engine == "fd":
        return {"engine": "fd", "size": plan.points, "updates": plan.points * plan.steps}
    clusters = plan.clustering
    updates = float((clusters.histogram * np.ceil(case.end_time / clusters.steps)).sum())
    return {"engine": "dg", "order": case.numerics.order, "size": plan.cells, "updates": updates}


def main(names: list[str]) -> None:
    """Count those named, or all; the others stay as they were."""
    known = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    for name in names or sorted(f.name for f in (ROOT / "examples").iterdir() if f.is_dir()):
        found = cost(name)
        if found is not None:
            known[name] = found
            print(name, found, flush=True)
    TARGET.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
