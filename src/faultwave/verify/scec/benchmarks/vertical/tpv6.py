"""TPV6: a vertical strike-slip fault between very different rocks."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmarks.vertical._bimaterial import TOWARDS, bimaterial

TPV6 = bimaterial(
    "tpv6",
    "vertical strike-slip fault between very different rocks",
    (2225.0, 3750.0, 2165.0),
    (checks.ruptures("main", 0.7), checks.earlier("main", (9e3, 7.5e3), (-9e3, 7.5e3), TOWARDS)),
)
