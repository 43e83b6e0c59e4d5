"""Command that makes a case for a place."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.types import Settings
from faultwave.cli import screen
from faultwave.cli.options import with_record_options

if TYPE_CHECKING:
    from faultwave.run.new_case.event_source import EventRequest
    from faultwave.run.new_case.options import Mechanism, NewCaseOptions
    from faultwave.run.new_case.write import Made


@dataclass(frozen=True)
class RegionOptions:
    """Options of the region and its resolution."""

    lon: Annotated[
        float | None, typer.Option("--lon", help="Longitude of the centre in degrees; default that of the traces.")
    ] = None
    lat: Annotated[
        float | None, typer.Option("--lat", help="Latitude of the centre in degrees; default that of the traces.")
    ] = None
    size: Annotated[
        str | None, typer.Option("--size", help="Side of the region, such as 40km; default around the traces.")
    ] = None
    depth: Annotated[str | None, typer.Option("--depth", help="Depth of the region; default half its size.")] = None
    frequency: Annotated[
        str | None,
        typer.Option("--frequency", help="Highest frequency to resolve; default 1 Hz, or by the source of an event."),
    ] = None
    engine: Annotated[
        str | None,
        typer.Option("--engine", help="dg (tetrahedra), or fd (a grid); default dg, or fd for an event without sea."),
    ] = None
    order: Annotated[int, typer.Option("--order", min=2, max=8, help="Order of dg.")] = 4
    topography: Annotated[
        Path | None, typer.Option("--topography", help="Raster of heights: GeoTIFF, NetCDF, ESRI ASCII.")
    ] = None
    topography_crs: Annotated[
        str | None,
        typer.Option("--topography-crs", help="Coordinate system of the raster, if the file does not state it."),
    ] = None
    sea: Annotated[bool, typer.Option("--sea", help="Fill areas below zero with water.")] = False
    stations: Annotated[
        Path | None,
        typer.Option("--stations", help="Stations: StationXML, SPECFEM's STATIONS, CSV; default a lattice."),
    ] = None
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Simulated time; default by size.")] = (
        None
    )


@dataclass(frozen=True)
class EarthquakeOptions:
    """Options of the earthquake."""

    fault: Annotated[
        list[Path] | None, typer.Option("--fault", help="Trace: GeoJSON, or columns lon,lat or x,y. May be repeated.")
    ] = None
    dip: Annotated[float, typer.Option("--dip", help="Dip of the faults, to the right of their traces [degrees].")] = (
        90.0
    )
    fault_depth: Annotated[str, typer.Option("--fault-depth", help="Depth of the lower edge of the faults.")] = "15km"
    rake: Annotated[
        float, typer.Option("--rake", help="Rake of slip: 180 right-lateral, 0 left-lateral, 90 reverse.")
    ] = 180.0
    moment_tensor: Annotated[
        str | None,
        typer.Option(
            "--moment-tensor", metavar="TENSOR", help="A CMTSOLUTION file, or strike,dip,rake,magnitude,depth_km."
        ),
    ] = None
    srf: Annotated[Path | None, typer.Option("--srf", help="A finite source in the Standard Rupture Format.")] = None
    event: Annotated[
        Path | None,
        typer.Option("--event", help="An event: QuakeML, ndk, CMTSOLUTION, rupture.json, param, FSP or SRF."),
    ] = None
    event_id: Annotated[
        str | None, typer.Option("--event-id", metavar="ID", help="One of several events of the file of --event.")
    ] = None
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism", metavar="ANGLES", help="strike,dip,rake of an event without; rake of a rupture.json."
        ),
    ] = None


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the new case.")],
    region: RegionOptions,
    quake: EarthquakeOptions,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that contains files.")] = False,
) -> None:
    """Write a case for a location on Earth: a folder with all files that check, plan and run need.

    On a terminal it prompts for missing values. Nothing is downloaded: the model of the crust (IASP91) is included, relief and
    faults come from your files. The case documents its assumptions line by line.
    """
    values = {**vars(region), **vars(quake)}
    if sys.stdin.isatty():
        values = _prompt_missing(values)
    made = _made(values, folder, force)
    if made.warnings:
        screen.show_problems(made.warnings)
    for line in made.summary:
        screen.out().print(line, soft_wrap=True)
    screen.files(made.files)
    screen.out().print(f"next: faultwave plan {folder / 'case.yaml'}", soft_wrap=True)


def _made(values: Settings, folder: Path, force: bool) -> Made:
    """Write the case and return its files; an error is shown on a map if the region is known."""
    from faultwave.run.new_case.event_case import new_event_case
    from faultwave.run.new_case.write import new_case

    problems = Problems()
    with collect_problems(problems):
        request = _event_request(values)
    with collect_problems(problems):
        requested = _new_case_options(values)
        frequency = _si("--frequency", values["frequency"], "Hz")
    problems.raise_errors()
    if request is not None:
        return new_event_case(request, requested, frequency, folder, force)
    try:
        return new_case(requested, folder, force)
    except InputError as error:
        raise _pictured(requested, error, folder.with_name(f"{folder.name}-problems")) from None


def _event_request(values: Settings) -> EventRequest | None:
    """Return the event of the options. Raises InputError for options that need one."""
    from faultwave.run.new_case.event_source import EventRequest

    problems, angles = Problems(), None
    if values["event"] is None:
        for name in ("event_id", "mechanism"):
            if values[name] is not None:
                problems.error(f"--{name.replace('_', '-')}", "has no effect without --event", "--event FILE")
        problems.raise_errors()
        return None
    if values["mechanism"] is not None:
        angles = _angles(values["mechanism"])
    return EventRequest(values["event"], values["event_id"], angles)


def _angles(words: str) -> tuple[float, ...]:
    """Return the numbers of --mechanism [deg]."""
    try:
        angles = tuple(float(w) for w in words.split(","))
    except ValueError:
        angles = ()
    if len(angles) not in (1, 3):
        allowed = "strike,dip,rake in degrees, or the rake alone"
        raise InputError(Problem("--mechanism", f"'{words}' is not one or three numbers", allowed))
    return angles


def _pictured(request: NewCaseOptions, error: InputError, folder: Path) -> InputError:
    """Return the error after drawing a map of its places, if they and the region are known.

    No case exists that could be drawn later.
    """
    from faultwave.cli.results import error_with_map
    from faultwave.run.new_case.write import draft_case

    if not any(p.places for p in error.problems):
        return error
    case = draft_case(request)
    return (
        InputError([replace(p, places=()) for p in error.problems])
        if case is None
        else error_with_map(case, error, folder)
    )


def _prompt_missing(values: Settings) -> Settings:
    """Return the options with answers to prompts for missing values that have no default."""
    found = dict(values)
    if found["event"] is not None:
        return found
    if not (found["fault"] or found["moment_tensor"] or found["srf"]):
        what = typer.prompt("File of fault traces, an .srf or CMTSOLUTION file, or strike,dip,rake,magnitude,depth_km")
        path = Path(what)
        if path.suffix.lower() == ".srf":
            found["srf"] = path
        elif path.suffix.lower() in (".geojson", ".json", ".csv", ".txt", ".gmt", ".xy"):
            found["fault"] = [path]
        else:
            found["moment_tensor"] = what
    if not found["fault"]:
        for name, words in (("lon", "Longitude of the centre"), ("lat", "Latitude of the centre")):
            if found[name] is None:
                found[name] = typer.prompt(f"{words} [degrees]", type=float)
        found["size"] = found["size"] or typer.prompt("Side of the region", default="40km")
    return found


def _new_case_options(values: Settings) -> NewCaseOptions:
    """Return the options of ``run.new_case.write.new_case`` in SI units. Raises InputError."""
    from faultwave.run.new_case.write import NewCaseOptions

    tensor = values["moment_tensor"]
    mechanism, source, kind = None, values["srf"], "srf"
    if tensor is not None and Path(tensor).is_file():
        if source is not None:
            raise InputError(Problem("--moment-tensor", "and --srf exclude each other", "one of them"))
        source, kind = Path(tensor), "cmtsolution"
    elif tensor is not None:
        mechanism = _mechanism(tensor)
    problems, si = Problems(), {}
    for name, unit in (("size", "m"), ("frequency", "Hz"), ("depth", "m"), ("fault_depth", "m"), ("until", "s")):
        with collect_problems(problems):
            si[name] = _si(f"--{name.replace('_', '-')}", values[name], unit)
    problems.raise_errors()
    engine = values["engine"] or ("fd" if values["event"] is not None and not values["sea"] else "dg")
    highest = 1.0 if si["frequency"] is None else si["frequency"]
    return NewCaseOptions(
        values["lon"], values["lat"], si["size"], highest, si["depth"], engine, values["order"],
        tuple(values["fault"] or ()), values["dip"], si["fault_depth"], values["rake"], mechanism, source, kind,
        values["topography"], values["topography_crs"], values["sea"], si["until"], stations=values["stations"],
    )  # fmt: skip


def _si(name: str, value: str | None, unit: str) -> Any:
    from faultwave.base.units import to_si

    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return to_si(value, unit)
    except ValueError as error:
        raise InputError(Problem(name, str(error), f"a number in {unit}, or with its unit")) from None


def _mechanism(words: str) -> Mechanism:
    from faultwave.run.new_case.write import Mechanism

    try:
        strike, dip, rake, magnitude, depth = (float(w) for w in words.split(","))
    except ValueError:
        what = f"'{words}' is neither a file nor five numbers"
        raise InputError(Problem("--moment-tensor", what, "strike,dip,rake,magnitude,depth_km")) from None
    return Mechanism(strike, dip, rake, magnitude, 1e3 * depth)


def add_commands(app: typer.Typer) -> None:
    """Add the command of this file to the program."""
    app.command(epilog="Example: faultwave new ridgecrest --fault trace.geojson --dip 80 --frequency 0.5Hz")(
        with_record_options(new)
    )
