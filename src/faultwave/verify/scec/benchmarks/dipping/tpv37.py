"""TPV37: the fault of TPV36 with cohesion that stops rupture near the surface."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmarks.dipping._shallow import shallow

TPV37 = shallow(
    "tpv37",
    "thrust fault that dips at 15 degrees, much cohesion near the surface",
    1875.0,
    (checks.symmetric(), checks.stays("main", 0.95)),
)
