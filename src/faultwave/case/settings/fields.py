"""Settings of parameters that vary in space, among them ground models in files of other programs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from faultwave.base.registry import entries
from faultwave.base.units import Quantity
from faultwave.case.settings.common import (
    Deviations,
    InputFile,
    Kinds,
    Parameters,
    Settings,
    Vector,
    need,
    one_of,
    only_for_kinds,
)

Count = Annotated[int, Field(ge=1)]
Name = Literal["rho", "vp", "vs", "Qp", "Qs"]


class GroundModel(Kinds):
    """Gridded model of density, wave speeds and quality factors."""

    kind: one_of(*entries("faultwave.media.models.formats")) = Field(description="Format of the file.")
    file: InputFile = Field(description="The model.")
    vertical: Literal["sea-level", "ground"] = Field(
        "sea-level",
        description="Reference of z: sea level, or the ground of a model with topography, which is thereby flattened.",
    )
    outside: Literal["error", "nearest"] = Field(
        "error",
        description="Points beyond the model: an error, or its nearest values. One spacing beyond is always allowed.",
    )
    water: Literal["error", "fluid"] = Field("error", description="Points without S speed: an error, or fluid.")
    crs: str | None = Field(
        None,
        description="Projection of an sfile, which does not state it; default: that of the case.",
        json_schema_extra=only_for_kinds("sfile"),
    )
    names: dict[Name, str] = Field(
        default_factory=dict,
        description="Names of variables that differ from the default names.",
        json_schema_extra=only_for_kinds("netcdf"),
    )
    shape: tuple[Count, Count, Count] | None = Field(
        None, description="Points along x, y, z.", json_schema_extra=only_for_kinds("awp-mesh")
    )
    spacing: Quantity("m", gt=0) | None = Field(
        None, description="Between points.", json_schema_extra=only_for_kinds("awp-mesh")
    )
    vertical_spacing: Quantity("m", gt=0) | None = Field(
        None, description="Spacing along z, if different.", json_schema_extra=only_for_kinds("awp-mesh")
    )
    origin: Vector = Field(
        (0.0, 0.0, 0.0),
        description="x, y and z of the first point; z goes down from there.",
        json_schema_extra=only_for_kinds("awp-mesh"),
    )
    variables: list[str] | None = Field(
        None,
        description="Quantities of each point, in order; by default those that AWP uses for their number (3, 5 or 8).",
        json_schema_extra=only_for_kinds("awp-mesh"),
    )
    byte_order: Literal["little", "big"] = Field(
        "little", description="Byte order.", json_schema_extra=only_for_kinds("awp-mesh")
    )

    def conditions(self) -> Iterable[tuple[object, str]]:
        return (
            (
                self.kind != "awp-mesh" or (self.shape and self.spacing),
                "kind awp-mesh needs shape and spacing: the file contains no metadata",
            ),
            (
                self.vertical == "sea-level" or self.kind in ("geomodelgrids", "rfile", "sfile"),
                f"vertical: ground needs a model with topography; {self.kind} has none",
            ),
        )


CorrelationLengths = Annotated[
    tuple[Quantity("m", gt=0), ...],
    BeforeValidator(lambda value: value if isinstance(value, list | tuple) else (value,)),
]
Range = tuple[Quantity("m"), Quantity("m")]


class RandomTaper(Settings):
    """Factor that falls smoothly to 0 at the ends of ranges of coordinates."""

    x: Range | None = Field(None, description="Least and largest x with a perturbation; default all.")
    y: Range | None = Field(None, description="Least and largest y with a perturbation; default all.")
    z: Range | None = Field(None, description="Least and largest z with a perturbation; default all.")
    width: Quantity("m", ge=0) = Field(description="Distance from the ends over which the factor rises to 1.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        ranges = {n: r for n in "xyz" if (r := getattr(self, n)) is not None}
        need(
            (ranges, "give a range of x, y or z"),
            *((r[0] < r[1], f"{n} is from {r[0]:g} to {r[1]:g} m: give the least first") for n, r in ranges.items()),
            *(
                (
                    2 * self.width <= r[1] - r[0] or r[0] >= r[1],
                    f"width {self.width:g} m exceeds half of the range of {n}, so that the factor is nowhere 1",
                )
                for n, r in ranges.items()
            ),
        )
        return self


class RandomField(Settings):
    """Random field of von Karman's correlation that perturbs parameters, all by the same field."""

    relative: dict[str, Quantity("")] = Field(
        default_factory=dict,
        description="Parameter: standard deviation over its value without the perturbation, as 0.05 or 5 %; negative: opposite sign.",
    )
    absolute: Deviations = Field(
        default_factory=dict,
        description="Parameter: standard deviation in the parameter's unit; negative: opposite sign.",
    )
    correlation_length: CorrelationLengths = Field(
        description="One for all directions, or three along x, y, z; with strike three along strike, dip and normal, or two along strike "
        "and dip for a field that is constant along the normal.",
    )
    hurst: float = Field(
        ge=0, le=1, description="Hurst exponent: 1 is smooth, 0 is rough, 0.5 has exponential correlation."
    )
    shortest_wavelength: Quantity("m", gt=0) = Field(
        description="Wavelength below which the spectrum falls to zero, along the shortest correlation length; in other directions in "
        "proportion longer. Two elements or more."
    )
    seed: int = Field(ge=0, description="Seed; fields with other names are independent.")
    strike: Quantity("deg", ge=-360, le=360) | None = Field(
        None, description="Turns the directions: the first runs along strike, clockwise from y; the second down dip."
    )
    dip: Quantity("deg", ge=0, le=90) = Field(90.0, description="Dip to the right of strike, from the horizontal.")
    limit: float | None = Field(
        None, gt=0, description="Largest magnitude in standard deviations, to which the field is clipped; default none."
    )
    taper: RandomTaper | None = Field(None, description="Ranges beyond which there is no perturbation.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        lengths: tuple[float, ...] = self.correlation_length
        need((1 <= len(lengths) <= 3, f"give one to three lengths as correlation_length, not {len(lengths)}"))
        shortest, longest = min(lengths), max(lengths)
        zero = sorted(n for n, v in (self.relative | self.absolute).items() if v == 0)
        need(
            (self.relative or self.absolute, "give relative or absolute standard deviations of parameters"),
            (not zero, f"standard deviation 0 of {', '.join(zero)}: leave it out"),
            (
                self.shortest_wavelength <= 4 * shortest,
                f"shortest_wavelength {self.shortest_wavelength:g} m is above 4 correlation lengths of {shortest:g} m, so that nothing is "
                "left of the spectrum",
            ),
            (
                longest <= 1e6 * self.shortest_wavelength,
                f"shortest_wavelength {self.shortest_wavelength:g} m is below a millionth of the correlation length {longest:g} m",
            ),
            (
                len(lengths) != 2 or self.strike is not None,
                "two correlation lengths are along strike and dip: give strike, or three lengths",
            ),
            (
                self.strike is not None or "dip" not in self.model_fields_set,
                "dip does nothing without strike",
            ),
        )
        return self


class FieldSetting(Settings):
    """Named parameters in space, given in one or several ways, each parameter once."""

    easi: InputFile | None = Field(None, description="easi YAML model file.")
    constant: Parameters = Field(
        default_factory=dict, description="Parameter: uniform value; strings may include a unit."
    )
    expression: dict[str, str] = Field(
        default_factory=dict, description="Parameter: body in the easi function language, inputs x, y, z (and t)."
    )
    layers: InputFile | None = Field(
        None, description="Text table of layers: header 'depth vp vs rho [Qp Qs]', SI, depth of layer top below z = 0."
    )

    models: list[GroundModel] = Field(
        default_factory=list,
        description="Gridded velocity models from files; where several cover a point, the first is used.",
    )
    regions: dict[str | int, Parameters] = Field(
        default_factory=dict,
        description="Physical volume, by name or number: parameters there. Every volume of the mesh needs an entry.",
    )
    random: dict[str, RandomField] = Field(
        default_factory=dict, description="Name: random field that perturbs these parameters, before the limits apply."
    )
    minimum: Parameters = Field(default_factory=dict, description="Parameter: values below this are raised to it.")
    maximum: Parameters = Field(default_factory=dict, description="Parameter: values above this are lowered to it.")

    @model_validator(mode="after")
    def _given_once(self) -> Self:
        twice = sorted(set(self.constant) & set(self.expression))
        ways = self.easi or self.constant or self.expression or self.layers or self.models or self.regions
        crossed = sorted(n for n in set(self.minimum) & set(self.maximum) if self.minimum[n] > self.maximum[n])
        unnamed = [name for name in self.random if not re.fullmatch(r"[\w-]+", name, re.ASCII)]
        need(
            (ways, "give easi, constant, expression, layers, models or regions"),
            (not crossed, f"minimum is above maximum: {', '.join(crossed)}"),
            (
                not unnamed,
                f"random: a name has letters, digits, - and _, and {', '.join(map(repr, unnamed))} has others",
            ),
            (not twice, f"defined both as constant and as expression: {', '.join(twice)}"),
        )
        return self
