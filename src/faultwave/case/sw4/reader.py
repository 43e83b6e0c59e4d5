"""Commands and keys of SW4's input, typed access to their values, and the settings built from them with their origins.

SW4 ignores what it does not know; here unknown commands and keys are warnings. A command that changes the solution and is not supported is
an error. Every key that the conversion does not use is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from faultwave.base.errors import Problems, suggest
from faultwave.base.files.sw4 import command_lines
from faultwave.base.types import Settings
from faultwave.base.units import LARGEST, SMALLEST, finite_number
from faultwave.case.validate import Location, dotted

IMAGE = "x y z mode file time timeInterval cycle cycleInterval precision"
KEYS: dict[str, tuple[str, ...]] = {
    name: tuple(keys.split())
    for name, keys in {
        "fileio": "path verbose printcycle pfs nwriters temppath obspath",
        "grid": "x y z nx ny nz h lat lon az mlat mlon proj ellps datum lon_p lat_p scale extrapolate",
        "time": "t steps utcstart event",
        "supergrid": "gp width dc order",
        "boundary_conditions": "lx hx ly hy lz hz",
        "refinement": "zmax",
        "topography": "input file zmax order smooth zetabreak gridgenerator analyticalMetric gaussianAmp gaussianXc gaussianYc gaussianLx "
        "gaussianLy",
        "attenuation": "nmech phasefreq maxfreq minppw qmultiplier",
        "block": "vp vs rho r qp qs vpgrad vsgrad rhograd x1 x2 y1 y2 z1 z2 absdepth",
        "globalmaterial": "vpmin vsmin",
        "source": "x y z lat lon depth topodepth m0 mxx mxy mxz myy myz mzz strike dip rake f0 amp fx fy fz t0 freq type ncyc dfile "
        "sacbase sacbasedisp event",
        "rupture": "file event",
        "image": IMAGE,
        "imagehdf5": IMAGE,
    }.items()
}
"""Commands that are converted, with their keys; SW4 accepts those of ``CAPITALS`` also with a capital first letter."""

CAPITALS = frozenset("qp qs mxx mxy mxz myy myz mzz strike dip rake fx fy fz".split())

STATIONS = ("rec", "sac", "rechdf5", "sachdf5")
"""Commands that ``observe.stations`` reads."""

NOT_WRITTEN = {
    "volimage": "output.volume", "ssioutput": "output.volume with format essi",
    "essioutput": "output.volume with format essi", "sfileoutput": "", "gmt": "`faultwave plot`", "checkpoint": "output.checkpoint",
}  # fmt: skip
"""Commands that only write files, with what replaces them."""

OF_THE_OPTIMIZER = (
    "event mparcart mpallpts mrun mscalefactors lbfgs nlcg cg mfsurf mimage m3dimage regularize mtypx scalefactors observation "
    "obshdf5 observationhdf5"
).split()
"""Commands that SW4 itself ignores when it simulates waves."""

NOT_SUPPORTED = {
    "anisotropy": "anisotropic rock on grids", "ablock": "anisotropic rock on grids",
    "prefilter": "a filter of source time functions",
    "rfile": "a material in an rfile", "sfile": "a material in an sfile", "gmg": "a material in GeoModelGrids' files",
    "pfile": "a material in a pfile", "ifile": "a material between surfaces", "material": "a material between surfaces",
    "vimaterial": "a material in volume images", "randomblock": "random material", "randomize": "random material",
    "invtestmaterial": "a material of tests", "geodynbc": "motion of a cube from Geodyn",
    "rupturehdf5": "a rupture in HDF5", "developer": "settings of SW4's developers",
    "twilight": "a test of developers", "testpointsource": "a test of developers", "testlamb": "a test of developers",
    "testrayleigh": "a test of developers", "testenergy": "a test of developers",
}  # fmt: skip
"""Commands that change the solution and are not converted."""

ADVICE = {
    "prefilter": "Remove the line and use numerics.source_lowpass of a native case.",
    "rfile": "Use material.models of a native case.", "sfile": "Use material.models of a native case.",
    "gmg": "Use material.models of a native case.", "randomblock": "Use material.random of a native case.",
    "rupturehdf5": "Use 'rupture file=' with an SRF file.",
    "testlamb": "Replace it by a block of the same vp, vs and rho.",
    "testpointsource": "Replace it by a block of the same vp, vs and rho.",
}  # fmt: skip

NEGLIGIBLE = ("verbose", "printcycle", "pfs", "nwriters", "temppath")
"""Keys that concern only how SW4 prints and writes."""


@dataclass
class Command:
    """Line of an input.

    Attributes
    ----------
    name : str
        Command.
    where : str
        File and line.
    values : dict of str to str
        Texts by key.
    problems : Problems
        Collects errors of values.
    """

    name: str
    where: str
    values: dict[str, str]
    problems: Problems = field(repr=False)

    def given(self, *keys: str) -> list[str]:
        """Return those of the keys that the line contains."""
        return [key for key in keys if key in self.values]

    def number(self, key: str, default: float | None = None) -> float | None:
        """Return the number of a key, the default without the key, or None with an error."""
        if key not in self.values:
            return default
        value = finite_number(self.values[key])
        if value is None:
            self.wrong(key, "a number")
        elif value and not SMALLEST <= abs(value) <= LARGEST:
            self.wrong(key, f"0, or a number of magnitude {SMALLEST:g} to {LARGEST:g}")
            return None
        return value

    def real(self, key: str, default: float = 0.0) -> float:
        """Return the number of a key, and the default without the key or, with an error, if it is not a number."""
        value = self.number(key, default)
        return default if value is None else value

    def positive(self, key: str, default: float) -> float:
        """Return a number above 0, or the default as ``real`` does."""
        value = self.real(key, default)
        if value > 0:
            return value
        self.wrong(key, "a number above 0")
        return default

    def wrong(self, key: str, allowed: str, advice: str = "") -> None:
        """Report an invalid value as an error, with the allowed values."""
        self.problems.error(self.where, f"{key}={self.values.get(key, '')} of {self.name}", allowed, advice)

    def error(self, what: str, allowed: str = "", advice: str = "") -> None:
        """Report an error of the line."""
        self.problems.error(self.where, f"{self.name}: {what}", allowed, advice)

    def warn(self, what: str, advice: str = "") -> None:
        """Report a warning about the line."""
        self.problems.warn(self.where, f"{self.name}: {what}", "", advice)


class Reader:
    """Reader of an input.

    Attributes
    ----------
    name : str
        Name of the file.
    problems : Problems
        Collects problems.
    commands : list of Command
        Commands to convert, in the order of the file.
    stations : list of str
        File and line of each station command.
    station_lines : list of str
        Texts of these lines.
    data : dict
        Settings built so far.
    origins : dict of Location to Command
        Line that each setting came from.
    """

    def __init__(self, name: str, text: str, problems: Problems):
        self.name, self.problems = name, problems
        self.commands: list[Command] = []
        self.stations: list[str] = []
        self.station_lines: list[str] = []
        self.data: Settings = {}
        self.origins: dict[Location, Command] = {}
        self._reported: set[str] = set()
        for number, line in command_lines(text):
            self._line(f"{name}:{number}", line)

    def _line(self, where: str, line: str) -> None:
        command, *words = line.split()
        if line.endswith("\\"):
            self.problems.error(
                where, "ends with a backslash, but SW4 does not continue lines", "a command in one line"
            )
            return
        if command in KEYS:
            self.commands.append(Command(command, where, self._values(command, where, words), self.problems))
        elif command in STATIONS:
            self.stations.append(where)
            self.station_lines.append(line)
        elif command in NOT_SUPPORTED:
            what = f"'{command}' ({NOT_SUPPORTED[command]}) is not supported"
            self.problems.error(where, what, advice=ADVICE.get(command, "Remove the line, or write a native case."))
        elif command == "checkpoint" and any(word.startswith(("restartfile=", "restartpath=")) for word in words):
            self.problems.error(
                where, "'checkpoint': SW4's checkpoints cannot be read", advice="Start from the beginning."
            )
        elif command in NOT_WRITTEN:
            self._once(command, where, "its files are not written", NOT_WRITTEN[command])
        elif command in OF_THE_OPTIMIZER:
            self._once(command, where, "has no effect on a simulation, as in SW4", "")
        else:
            known = [*KEYS, *STATIONS, *NOT_WRITTEN, *NOT_SUPPORTED]
            self.problems.warn(where, f"'{command}' is not a command and has no effect", "", suggest(command, known))

    def _once(self, command: str, where: str, what: str, instead: str) -> None:
        """Warn of the first line of a command."""
        if command not in self._reported:
            self._reported.add(command)
            advice = f"In a native case, use {instead}." if instead else ""
            self.problems.warn(where, f"'{command}': {what}", "", advice)

    def _values(self, command: str, where: str, words: Sequence[str]) -> dict[str, str]:
        values = dict[str, str]()
        for word in words:
            key, equals, text = word.partition("=")
            lowered = key[:1].lower() + key[1:]
            key = lowered if lowered in CAPITALS else key
            if not equals or key not in KEYS[command]:
                what = f"'{word}' is not a key of {command} and has no effect"
                self.problems.warn(where, what, "", suggest(key, KEYS[command]))
            elif key in values and values[key] != text:
                self.problems.error(where, f"{command} contains {key} twice", "one of them")
            else:
                values[key] = text
        return values

    def all(self, name: str) -> Iterator[Command]:
        """Yield the lines of a command."""
        return (command for command in self.commands if command.name == name)

    def last(self, name: str, needed: str = "") -> Command | None:
        """Return the only line of a command, None without one; a second line is an error.

        ``needed`` describes what is missing if there is none.
        """
        found = list(self.all(name))
        if name not in self._reported:
            self._reported.add(name)
            if needed and not found:
                self.problems.error(self.name, f"has no line '{name}'", needed)
            for other in found[1:]:
                self.problems.error(other.where, f"'{name}' is repeated, first at {found[0].where}", "one line")
        return found[0] if found else None

    def put(self, location: Location, value: object, command: Command | None = None) -> None:
        """Set a setting; ``command`` is the line that it came from."""
        group = self.data
        for part in location[:-1]:
            group = group.setdefault(str(part), {})
        group[str(location[-1])] = value
        if command is not None:
            self.origins[location] = command

    def origin(self, location: Location) -> Command | None:
        """Return the line that the innermost known part of a location came from, else the first one below it."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.origins:
                return self.origins[location[:end]]
        return next((c for place, c in self.origins.items() if place[: len(location)] == location), None)

    def place(self, location: Location) -> str:
        """Return file:line of the line that a setting came from, or the file."""
        command = self.origin(location)
        return self.name if command is None else command.where

    def spell(self, location: Location) -> str:
        """Return the command that a setting came from, with the setting."""
        command = self.origin(location)
        return dotted(location) if command is None else f"{command.name} ({dotted(location)})"
