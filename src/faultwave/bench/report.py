"""Titles, headers and rows of results that the commands show."""

from __future__ import annotations

from faultwave.bench.results import Measured
from faultwave.bench.rooflines.roofs import TITLES

Section = tuple[str, tuple[str, ...], list[tuple[str, ...]]]  # title, header, rows


def _energy(r: Measured) -> tuple[str, str]:
    found = r.get("updates_per_joule")
    return (f"{found:,.0f}", "of the board") if found else ("not available", r.get("energy_missing", ""))


def _elastic_share_row(r: Measured) -> list[tuple[str, ...]]:
    """Return the row of the rate relative to elastic rock, if it was measured."""
    share = r.get("elastic_fraction")
    rate = f"{r['elastic_updates_per_second']:,.0f} updates/s, measured in turn" if share else ""
    return [("share of the elastic rate", f"{share:.2f}", rate)] if share else []


def _faults(r: Measured) -> list[tuple[str, ...]]:
    """Return the row of the cost of a fault face, if there are fault faces."""
    cost = r.get("fault_face_updates")
    return [("friction of a face", f"{cost:.1f} cell updates", r["setting"]["friction"])] if cost else []


def proxy_sections(r: Measured) -> list[Section]:
    """Return the sections of the update, the roofs, and the kernels."""
    s = r["setting"]
    where = "in" if r["in_cache"] else "out of"
    title = (
        f"{s['law']}, order {s['order']}, {s['precision']}, {r['cells']:,} cells ({where} cache), {r['fault_faces']:,} fault "
        f"faces, {r.get('runs_on', s['backend'])}"
    )
    giga = 1e-9
    update: list[tuple[str, ...]] = [
        ("share of the roofline", f"{100 * r['roofline_fraction']:.1f} %", f"bound by {r['roofline']}"),
        (
            "element updates/s",
            f"{r['updates_per_second']:,.0f}",
            f"spread {100 * r['updates_per_second_spread']:.1f} %",
        ),
        (
            "degrees of freedom/s",
            f"{r['dofs_per_second']:,.0f}",
            f"{r['dofs_per_cell']:,} a cell",
        ),
        ("ns an update", f"{r['ns_per_update']:,.0f}", ""),
        *_elastic_share_row(r),
        *_faults(r),
        ("updates per joule", *_energy(r)),
        ("useful flops an update", f"{r['useful_flops_per_update']:,.0f}", f"of the {r['useful_flops_source']}"),
        ("executed flops an update", f"{r['executed_flops_per_update']:,.0f}", ""),
        ("bytes an update", f"{r['bytes_per_update']:,.0f}", "as the kernels declare"),
        (
            "useful GFLOP/s",
            f"{giga * r['useful_flops_per_second']:.2f}",
            f"{100 * r['peak_fraction']:.1f} % of the peak",
        ),
        (
            "executed GFLOP/s",
            f"{giga * r['executed_flops_per_second']:.2f}",
            f"{100 * r['executed_peak_fraction']:.1f} %",
        ),
        ("GB/s", f"{giga * r['bytes_per_second']:.2f}", f"{100 * r['copy_fraction']:.1f} % of a copy"),
        ("bytes a cell", f"{r['bytes_per_cell']:,.0f}", f"{r['resident_bytes'] / 2**20:,.0f} MiB in all"),
    ]
    roofs: list[tuple[str, ...]] = [
        (TITLES[name], f"{giga * roof['value']:.2f}", f"spread {100 * roof['spread']:.1f} %")
        for name, roof in r["roofs"].items()
    ]
    header = ("kernel", "items", "ns an item", "in the step", "GFLOP/s", "GB/s", "flops", "bytes", "share")
    rows: list[tuple[str, ...]] = [
        (
            k["kernel"], f"{k['items']:,.0f}", f"{k['ns_per_item']:.0f}", f"{k['ns_per_item_in_step']:.0f}",
            f"{giga * k['flops_per_second']:.2f}", f"{giga * k['bytes_per_second']:.2f}", f"{k['flops_per_item']:,}",
            f"{k['bytes_per_item']:,}", f"{100 * k['share']:.1f} %",
        )
        for k in r["kernels"]
    ]  # fmt: skip
    return [(title, (), update), ("roofs, measured between the repeats", (), roofs), ("kernels", header, rows)]


def peak_section(rows: list[Measured]) -> Section:
    """Return the section of roofs by number of threads."""
    threads = sorted({r["threads"] for r in rows})
    found: dict[tuple[str, str], dict[int, float]] = {}
    for r in rows:
        found.setdefault((r["roof"], r["precision"]), {})[r["threads"]] = r["value"]
    lines = [
        (TITLES[name], precision if name.startswith("fma") else "", *[f"{1e-9 * values[t]:.2f}" for t in threads])
        for (name, precision), values in found.items()
    ]
    return "roofs of this machine", ("roof", "precision", *[f"{t} thread{'s' * (t > 1)}" for t in threads]), lines
