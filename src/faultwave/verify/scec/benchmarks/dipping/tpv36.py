"""TPV36: a thrust fault with a dip of 15 degrees; rupture reaches the surface."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmarks.dipping._shallow import shallow

TPV36 = shallow(
    "tpv36",
    "thrust fault that dips at 15 degrees, little cohesion near the surface",
    500.0,
    (checks.symmetric(), checks.ruptures("main", 0.9)),
)
