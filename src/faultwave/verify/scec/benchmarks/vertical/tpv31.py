"""TPV31: a vertical strike-slip fault in layers with jumps of the speeds."""

from faultwave.verify.scec.benchmark import Domain, quick
from faultwave.verify.scec.benchmarks.vertical._layers import layered

TABLES = (
    (0.0, 2400.0, 2400.0, 5000.0, 5000.0, 10000.0, 10000.0, 15000.0),
    (4050.0, 4050.0, 4450.0, 5200.0, 5750.0, 5750.0, 6500.0, 6500.0),
    (2250.0, 2250.0, 2550.0, 3050.0, 3450.0, 3450.0, 3800.0, 3800.0),
    (2580.0, 2580.0, 2600.0, 2620.0, 2720.0, 2720.0, 3000.0, 3000.0),
)

TPV31 = layered(
    "tpv31",
    "vertical strike-slip fault in layers with jumps",
    TABLES,
    quick(900.0, 9.0),
    Domain(depths=(2400.0, 5000.0, 10000.0)),
)
