"""Weights of staggered-grid differences by order: interior weights and summation-by-parts closures at the free surface.

Order 4 uses closures of second order in the uppermost planes ([1]_, as in the MIT-licensed tables of sbp.jl). Order 8
uses closures of third order found for this engine. Differences and norms that are exact for polynomials of degree 3
and satisfy summation by parts leave eight free parameters. They are chosen such that Rayleigh waves of 3.5 to 10
points per wavelength have their exact speed for Vp/Vs of 1.73 and 3, and that no frequency exceeds the interior ones
(docs/decisions/0020).

References
----------
.. [1] O'Reilly & Petersson (2019), arXiv:1907.01105.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Weights:
    """Weights of the staggered differences of one order.

    Attributes
    ----------
    inside : tuple of float
        Interior weights of the nearest pair of points, the next pair and so on.
    norm : dict of tuple of float
        Weights of planes in the norm H [cells], from the surface down, for ``whole`` and ``half`` planes.
    on_half : tuple of tuple of float
        Downward differences on the uppermost half planes of values on the uppermost whole planes.
    """

    inside: tuple[float, ...]
    norm: dict[str, tuple[float, ...]]
    on_half: tuple[tuple[float, ...], ...]

    @property
    def reach(self) -> int:
        """Number of points to either side that interior differences read."""
        return len(self.inside)

    @property
    def deep(self) -> int:
        """Number of planes of the arrays with modified differences, including the half plane on the surface."""
        return max(len(self.norm["whole"]) + 1, len(self.norm["half"]))

    @property
    def read(self) -> int:
        """Number of planes from the surface down that the modified differences read."""
        return self.deep + self.reach - 1

    @property
    def limit(self) -> float:
        """Largest Courant number, step times P speed over spacing, in three dimensions.

        The interior has the highest frequencies.
        """
        return float(1.0 / (np.sqrt(3.0) * np.abs(self.inside).sum()))


WEIGHTS = {
    4: Weights(
        (9.0 / 8.0, -1.0 / 24.0),
        {
            "whole": (0.2812150147607664, 1.4480216223843674, 0.6769783776156325, 1.0937849852392336),
            "half": (0.344556397209992, 0.43729008856459833, 1.30569549651249, 0.9124580177129197),
        },
        (
            (-1.4511412472637157, 1.853423741791147, -0.3534237417911469, -0.04885875273628437, 0.0),
            (-0.8577143189081458, 0.5731429567244373, 0.4268570432755628, -0.14228568109185424, 0.0),
            (-0.16745485058828774, -0.4976354482351368, 0.4976354482351368, 0.16745485058828774, 0.0),
            (0.10270611134051243, -0.26245413264698597, -0.8288742701021167, 1.0342864927831414, -0.04566420137455131),
        ),
    ),
    8: Weights(
        (1225.0 / 1024.0, -245.0 / 3072.0, 49.0 / 5120.0, -5.0 / 7168.0),
        {
            "whole": (
                0.32104496354467976,
                1.3649140711654706,
                0.6785051910024128,
                1.1895503645531342,
                0.937169262167886,
                1.0088161475664221,
            ),
            "half": (
                0.24965730078969042,
                0.5097211102497532,
                1.603488509767943,
                0.29812285605738703,
                1.5063135067835969,
                0.7989963402634811,
                1.033700376088148,
            ),
        },
        (
            (
                -1.6903217410976188,
                2.3891992201808896,
                -0.48691280308064083,
                -0.4712395008672072,
                0.2980292357408866,
                -0.03875441087630341,
                0.0,
                0.0,
                0.0,
                0.0,
            ),
            (
                -0.7628785795333473,
                0.21696699555269341,
                0.8025844797893988,
                -0.08076961735086123,
                -0.29968928921050064,
                0.12378601075261816,
                0.0,
                0.0,
                0.0,
                0.0,
            ),
            (
                -0.20037628352966608,
                -0.22734508989864316,
                -0.045190138442088405,
                0.5034037900147897,
                0.04002461253958924,
                -0.0705168906839813,
                0.0,
                0.0,
                0.0,
                0.0,
            ),
            (
                0.08711843395131848,
                -0.4254201178680166,
                -0.13017699058785046,
                0.07420712867178829,
                0.5058652269220804,
                -0.1092538918759696,
                -0.002339789213353267,
                0.0,
                0.0,
                0.0,
            ),
            (
                0.12675502101083003,
                -0.3053608692356153,
                6.10774513004978e-05,
                -0.44053245165232113,
                0.47397734809620434,
                0.1392094884191088,
                0.006353466563833256,
                -0.0004630806533406163,
                0.0,
                0.0,
            ),
            (
                -0.11045028271259034,
                0.36283879428572796,
                -0.36582025469178914,
                0.09405121032570163,
                -1.0682246445721677,
                1.176316267438635,
                -0.09981598181083914,
                0.011977917817300697,
                -0.0008730260799781849,
                0.0,
            ),
            (
                0.003387948159108779,
                -0.04415075613301315,
                0.11215506309978651,
                -0.08007234075175211,
                0.011401425891860297,
                -1.091440327144359,
                1.1572880209516219,
                -0.07715253473010812,
                0.009258304167612976,
                -0.0006748035107589632,
            ),
        ),
    ),
}
"""Weights of each order."""

__all__ = ["WEIGHTS", "Weights"]
