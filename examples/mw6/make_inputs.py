"""The finite fault and the stations of the example: a strike-slip earthquake of magnitude 6 with random slip.

    python examples/mw6/make_inputs.py [FOLDER]

writes rupture.srf (version 2.0, one segment) and stations.txt. Slip is a random field of the von Karman kind (Mai & Beroza 2002)
that tapers to the edges; rupture runs at 0.8 of the S speed from a hypocentre near one end; rise times grow with the root of slip
(Graves & Pitarka 2010) about the mean of Somerville et al. (1999).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

MAGNITUDE = 6.0
LENGTH, WIDTH, TOP = 14.0, 8.0, 2.25  # km; TOP is the depth of the upper edge
NODES = (28, 16)  # 448 subfaults
STRIKE, DIP, RAKE = 25.0, 75.0, 172.0  # deg
HYPOCENTRE = (-4.6, 5.3)  # km along strike from the centre, and down dip from the upper edge
LAYERS = (
    (0.0, 2300.0, 2400.0),
    (2.0, 3200.0, 2650.0),
    (6.0, 3600.0, 2800.0),
)  # top [km], S speed [m/s], density [kg/m^3]
CORRELATION, HURST = (5.0, 3.0), 0.75  # km, of slip
INTERVAL, MEAN_RISE = 0.02, 0.9  # s
ORIGIN = (-117.0, 34.0)
KM_PER_DEGREE = 111.195
STATIONS = ((4.0, 6), (9.0, 8), (14.0, 8), (19.0, 8))  # radius [km] of each ring, stations on it
SEED = 6


def slip_shape(rng: np.random.Generator) -> np.ndarray:
    """Return random slip (ns, nd) that is positive and tapers to the edges, in arbitrary units."""
    (ns, nd), (ks, kd) = (
        NODES,
        (np.fft.fftfreq(2 * n, size / n) for n, size in zip(NODES, (LENGTH, WIDTH), strict=True)),
    )
    k = (2 * np.pi * CORRELATION[0] * ks[:, None]) ** 2 + (2 * np.pi * CORRELATION[1] * kd) ** 2
    amplitude = (1.0 + k) ** (-0.5 * (HURST + 1.0))
    noise = np.fft.ifft2(amplitude * np.fft.fft2(rng.standard_normal((2 * ns, 2 * nd)))).real[:ns, :nd]
    s, d = (np.arange(n) + 0.5 for n in NODES)
    taper = np.sqrt(np.sin(np.pi * s / ns))[:, None] * np.sqrt(np.sin(np.pi * d / nd))
    return np.asarray(np.exp(0.6 * noise / noise.std()) * taper)


def rates(rise: float) -> np.ndarray:
    """Return a slip rate of unit integral [1/s] that falls as slip pulses do: a quick rise and a long tail."""
    t = (np.arange(max(4, round(rise / INTERVAL))) + 0.5) * INTERVAL / rise
    shape = np.where(t < 0.2, np.sin(0.5 * np.pi * t / 0.2), 0.0) + np.where(
        t >= 0.2, np.cos(0.5 * np.pi * (t - 0.2) / 0.8) ** 2, 0.0
    )
    return np.asarray(shape / (shape.sum() * INTERVAL))


def rupture() -> str:
    """Return the text of the finite fault."""
    rng = np.random.default_rng(SEED)
    ns, nd = NODES
    strike, dip = np.radians([STRIKE, DIP])
    s = ((np.arange(ns) + 0.5) / ns - 0.5)[:, None] * LENGTH + np.zeros(nd)
    d = (np.arange(nd) + 0.5) / nd * WIDTH + np.zeros((ns, 1))
    depth = TOP + d * np.sin(dip)
    layer = np.searchsorted([top for top, _, _ in LAYERS], depth, side="right") - 1
    speed, density = np.array([(v, rho) for _, v, rho in LAYERS])[layer].transpose(2, 0, 1)
    area = LENGTH * WIDTH / (ns * nd) * 1e6
    slip = slip_shape(rng)
    slip *= 10 ** (1.5 * MAGNITUDE + 9.1) / (density * speed**2 * area * slip).sum()
    onset = np.hypot(s - HYPOCENTRE[0], d - HYPOCENTRE[1]) * 1e3 / (0.8 * speed[ns // 2, nd // 2])
    rise = np.maximum(MEAN_RISE * np.sqrt(slip / slip.mean()), 8 * INTERVAL)
    across = (d - 0.5 * WIDTH) * np.cos(dip)
    east = s * np.sin(strike) + across * np.cos(strike)
    north = s * np.cos(strike) - across * np.sin(strike)
    lines = ["2.0", f"# magnitude {MAGNITUDE:g}, random slip", "PLANE 1"]
    lines += [
        f" {ORIGIN[0]} {ORIGIN[1]} {ns} {nd} {LENGTH} {WIDTH}",
        f" {STRIKE} {DIP} {TOP} {HYPOCENTRE[0]:g} {HYPOCENTRE[1]:g}",
        f"POINTS {ns * nd}",
    ]
    for k in range(nd):
        for i in range(ns):
            lat = ORIGIN[1] + north[i, k] / KM_PER_DEGREE
            lon = ORIGIN[0] + east[i, k] / (KM_PER_DEGREE * np.cos(np.radians(ORIGIN[1])))
            shape = 100 * slip[i, k] * rates(rise[i, k])
            lines.append(
                f"{lon:.6f} {lat:.6f} {depth[i, k]:.4f} {STRIKE} {DIP} {1e4 * area:.6e} {onset[i, k]:.4f} {INTERVAL} -1 -1"
            )
            lines.append(f"{RAKE} {100 * slip[i, k]:.4f} {len(shape)} 0 0 0 0")
            lines += [" ".join(f"{r:.4e}" for r in shape[n : n + 8]) for n in range(0, len(shape), 8)]
    return "\n".join(lines) + "\n"


def stations() -> str:
    """Return the text of the table of stations: four rings around the epicentre."""
    lines = ["# x [m], y [m], z [m], name"]
    for ring, (radius, count) in enumerate(STATIONS):
        for i in range(count):
            azimuth = 2 * np.pi * (i + 0.31 * ring + 0.13) / count
            x, y = 1e3 * radius * np.sin(azimuth), 1e3 * radius * np.cos(azimuth)
            lines.append(f"{x:.0f} {y:.0f} 0 R{ring + 1}{chr(65 + i)}")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Write both files into a folder."""
    folder = Path(arguments[0] if arguments else Path(__file__).parent)
    (folder / "rupture.srf").write_text(rupture())
    (folder / "stations.txt").write_text(stations())


if __name__ == "__main__":
    main(sys.argv[1:])
