"""Small files of events for tests."""

import json

import pytest

quakeml = pytest.importorskip("obspy.core.event")

NDK = """\
PDEW 2006/04/09 20:50:46.0 -20.45  -70.24  34.6 5.5 5.8 NEAR COAST OF NORTHERN C
C200604092050A   B: 88  166  40 S: 96  189  50 M: 41   52 125 CMT: 1 TRIHD:  1.8
CENTROID:      5.3 0.1 -20.46 0.01  -70.73 0.01  39.0  0.4 FREE S-20060726112355
24  4.180 0.069 -1.700 0.046 -2.480 0.060 -1.050 0.052 -2.410 0.075 -2.280 0.038
V10   4.975 73 100   0.120  8 216  -5.095 15 308   5.035  49 30  106 211 61   81
"""

CMT = """\
PDE 2020 1 1 0 0 10.00 34.0 -117.0 6.0 4.5 4.5 SOMEWHERE
event name:     somewhere
time shift:      0.5
half duration:   1.0
latitude:       34.0
longitude:    -117.0
depth:           6.0
Mrr:       0.0
Mtt:       0.0
Mpp:       0.0
Mrt:       0.0
Mrp:       0.0
Mtp:       1.0e+23
"""

RING = [
    [-117.6, 35.62, 0.0],
    [-117.5, 35.7, 0.0],
    [-117.42, 35.78, 0.0],
    [-117.42, 35.78, 12.0],
    [-117.5, 35.7, 12.0],
    [-117.6, 35.62, 12.0],
]


def rupture_json(geometry=None, **metadata):
    """Return the text of a rupture of ShakeMap, on two vertical planes; metadata that are None are left out."""
    known = {
        "id": "us1",
        "lat": 35.7,
        "lon": -117.5,
        "depth": 8.0,
        "mag": 6.4,
        "time": "2019-07-04T17:33:49.000Z",
        "mech": "SS",
        "rake": 180.0,
    }
    geometry = geometry or {"type": "MultiPolygon", "coordinates": [[[*RING, RING[0]]]]}
    feature = {"type": "Feature", "properties": {}, "geometry": geometry}
    found = {name: value for name, value in (known | metadata).items() if value is not None}
    return json.dumps({"type": "FeatureCollection", "metadata": found, "features": [feature]}, indent=1)


def identifier(name):
    return quakeml.ResourceIdentifier(f"smi:local/{name}")


def quake(name="quake", tensor=None, planes=None, **place):
    """Return an event with a hypocentre and a magnitude, and with a centroid and a tensor, or with nodal planes."""
    at = {"longitude": 20.0, "latitude": 40.0, "depth": 9e3} | place
    begin = pytest.importorskip("obspy").UTCDateTime(2020, 1, 1)
    origins = [quakeml.Origin(resource_id=identifier(f"{name}/origin"), time=begin, origin_type="hypocenter", **at)]
    size = quakeml.Magnitude(resource_id=identifier(f"{name}/magnitude"), mag=5.0, magnitude_type="Mww")
    found = []
    if planes is not None:
        of_planes = {f"nodal_plane_{n}": quakeml.NodalPlane(**plane) for n, plane in enumerate(planes, 1)}
        found = [
            quakeml.FocalMechanism(
                resource_id=identifier(f"{name}/planes"),
                nodal_planes=quakeml.NodalPlanes(preferred_plane=len(planes), **of_planes),
            )
        ]
    if tensor is not None:
        origins.append(
            quakeml.Origin(
                resource_id=identifier(f"{name}/centroid"),
                time=begin + 2.0,
                origin_type="centroid",
                longitude=20.1,
                latitude=40.05,
                depth=11e3,
            )
        )
        of_tensor = quakeml.MomentTensor(
            resource_id=identifier(f"{name}/tensor"), derived_origin_id=origins[1].resource_id,
            tensor=quakeml.Tensor(**tensor.get("parts", {})),
            scalar_moment=tensor.get("moment"), source_time_function=tensor.get("function"),
        )  # fmt: skip
        found.append(quakeml.FocalMechanism(resource_id=identifier(f"{name}/mechanism"), moment_tensor=of_tensor))
    return quakeml.Event(
        resource_id=identifier(name), origins=origins, magnitudes=[size], focal_mechanisms=found,
        preferred_origin_id=origins[0].resource_id,
        preferred_magnitude_id=size.resource_id, event_descriptions=[quakeml.EventDescription(text=f"Somewhere of {name}")],
    )  # fmt: skip


def write(path, *events):
    """Write events as QuakeML."""
    quakeml.Catalog(list(events), resource_id=identifier("catalog")).write(str(path), format="QUAKEML")
    return path


PARTS = {"m_rr": 1e16, "m_tt": -3e16, "m_pp": 2e16, "m_rt": 4e16, "m_rp": -5e16, "m_tp": 6e16}
