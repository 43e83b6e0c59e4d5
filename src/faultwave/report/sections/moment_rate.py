"""Section on the moment rate, and its spectrum with the fitted Brune spectrum."""

from __future__ import annotations

from collections.abc import Iterator

from faultwave.output.formats.csv_tables import read_columns
from faultwave.report.blocks import Block, Figure, Section
from faultwave.report.figures import axis, line, lines
from faultwave.report.loaded import Run

ORDER = 20


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections on the moment rate."""
    rates, spectra = [], []
    for number, r in enumerate(r for r in (run, other) if r is not None):
        rate, spectrum = r.file("moment-rate.csv"), r.file("moment-spectrum.csv")
        if rate is not None and (found := read_columns(rate)):
            rates.append(line(r.name, found["time [s]"], found["moment_rate [N*m/s]"], 0, number))
        if spectrum is not None and (found := read_columns(spectrum)):
            spectra.append(line(r.name, found["frequency [Hz]"], found["amplitude [N*m]"], 0, number))
            spectra.append(line(f"{r.name}, Brune", found["frequency [Hz]"], found["brune [N*m]"], 1, number))
    blocks: list[Block] = []
    if rates:
        blocks.append(
            lines("Moment rate", "Seismic moment released in each second.", rates, "time [s]", "moment rate [N m/s]")
        )
    if spectra:
        logarithmic = axis("amplitude [N m]", type="log", exponentformat="power")
        reported = "Amplitude spectrum of the moment rate, and the spectrum of Brune with the fitted corner frequency."
        axes = {"xaxis": axis("frequency [Hz]", type="log"), "yaxis": logarithmic}
        blocks.append(Figure("Moment rate spectrum", reported, spectra, axes))
    yield Section("Moment rate", blocks)
