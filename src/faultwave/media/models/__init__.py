"""Ground models on lattices, with one file per format in ``formats``, all read through ``open_models``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from faultwave.base.errors import InputError, Problem
from faultwave.base.projection import Projection
from faultwave.base.registry import entries
from faultwave.base.types import Setting
from faultwave.media.easi.component import gather
from faultwave.media.field import Field
from faultwave.media.models.model import COVERAGE, Model, Priority
from faultwave.media.points import Floats, Integers

if TYPE_CHECKING:
    from faultwave.base.projection import ProjectionSettings
    from faultwave.media.models.model import ModelSettings


def open_models(settings: Sequence[ModelSettings], where: str, projection: ProjectionSettings | None = None) -> Field:
    """Return the field of the models of all settings, of which the first that covers a point is used there.

    Parameters
    ----------
    settings : sequence
        Settings of the models (kind, file, ...).
    where : str
        Path of the settings, for messages.
    projection : optional
        Setting (crs, origin, azimuth) of the case's projection, for models in longitude and latitude.

    Raises
    ------
    InputError
        With the problems of every file.
    """
    mapped = None if projection is None else Projection(projection.crs, projection.origin, projection.azimuth)

    def opened(number: int) -> Model:
        setting = settings[number]
        path = Path(setting.file)
        known = entries("faultwave.media.models.formats")
        if setting.kind not in known:
            raise InputError(Problem(f"{where}[{number}].kind", f"'{setting.kind}' does not exist", ", ".join(known)))
        try:
            model: Model = known[setting.kind].load().read(path, setting, mapped)
        except OSError as error:
            raise InputError(Problem(str(path), f"cannot be read: {error.strerror or error}")) from None
        return model

    models = tuple(gather(partial(opened, n) for n in range(len(settings))))
    return models[0] if len(models) == 1 else Priority(models)


def coverage(
    settings: Sequence[Setting], projection: Setting = None
) -> tuple[tuple[str, ...], Callable[[Floats], Integers]] | None:
    """Return the coverage of points by models; None if there are no models.

    Returns
    -------
    kinds : tuple of str
        Kinds of coverage in words.
    function : callable
        Returns the index of the kind (n,) at points (n, 3) [m].

    Raises
    ------
    InputError
        Under the conditions of ``open_models``.
    """
    if not settings:
        return None
    return COVERAGE, cast("Model | Priority", open_models(settings, "material.models", projection)).coverage
