"""TPV32: a vertical strike-slip fault in rock that softens steadily towards the surface."""

from faultwave.verify.scec.benchmark import Domain, quick
from faultwave.verify.scec.benchmarks.vertical._layers import layered

TABLES = (
    (0.0, 500.0, 1000.0, 1600.0, 2400.0, 3600.0, 5000.0, 9000.0, 11000.0, 15000.0),
    (2200.0, 3000.0, 3600.0, 4400.0, 4800.0, 5250.0, 5500.0, 5750.0, 6100.0, 6300.0),
    (1050.0, 1400.0, 1950.0, 2500.0, 2800.0, 3100.0, 3250.0, 3450.0, 3600.0, 3700.0),
    (2200.0, 2450.0, 2550.0, 2600.0, 2600.0, 2620.0, 2650.0, 2720.0, 2750.0, 2900.0),
)

TPV32 = layered(
    "tpv32",
    "vertical strike-slip fault in rock that softens towards the surface",
    TABLES,
    quick(900.0, 9.0),
    Domain(),
)
