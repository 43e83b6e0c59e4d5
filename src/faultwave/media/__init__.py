"""Parameter fields in space, the source of materials, friction and initial stress.

``load_field`` turns a setting into a ``Field``; ``cell_averages`` and ``at_points`` evaluate one with checks.
"""

from faultwave.media.field import Constant, Converted, Expression, Field, Layers, Merged
from faultwave.media.homogenise import at_points, cell_averages
from faultwave.media.load import check_field, load_field

__all__ = [
    "Constant",
    "Converted",
    "Expression",
    "Field",
    "Layers",
    "Merged",
    "at_points",
    "cell_averages",
    "check_field",
    "load_field",
]
