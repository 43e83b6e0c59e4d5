"""TPV37: as TPV36 with cohesion that holds the uppermost part of the fault."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmarks._shallow import shallow

TPV37 = shallow(
    "tpv37",
    "thrust fault that dips at 15 degrees, much cohesion near the surface",
    1875.0,
    (checks.symmetric(), checks.stays("main", 0.95)),
)
