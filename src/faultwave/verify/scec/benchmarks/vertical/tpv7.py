"""TPV7: a vertical strike-slip fault between slightly different rocks."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmarks.vertical._bimaterial import TOWARDS, bimaterial

TPV7 = bimaterial(
    "tpv7",
    "vertical strike-slip fault between slightly different rocks",
    (2225.0, 5000.0, 2887.0),
    (checks.ruptures("main", 0.7), checks.earlier("main", (9e3, 7.5e3), (-9e3, 7.5e3), TOWARDS)),
    ("The far side's speeds, 1/1.2 of the near side's, and density are from memory and not confirmed.",),
)
