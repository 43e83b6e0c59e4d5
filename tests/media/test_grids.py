"""`!ASAGI` and `!SCECFile` on small files written here."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.base.errors import InputError, NotBuiltError
from tests.messages import raises

netCDF4 = pytest.importorskip("netCDF4")

X, Y, Z = np.array([0.0, 2.0, 4.0, 6.0]), np.array([-1.0, 0.0, 1.0]), np.array([-100.0, 0.0])


def formula(x, y, z):
    """Linear in each coordinate, so multilinear interpolation gives it back exactly."""
    return 1 + 2 * x - 3 * y + 0.01 * x * z + 0.5 * x * y


@pytest.fixture
def grid(tmp_path):
    """grid.nc: 'data' compound of two, 'plain' one float, both (z, y, x)."""
    with netCDF4.Dataset(str(tmp_path / "grid.nc"), "w") as file:
        for name, values in {"x": X, "y": Y, "z": Z}.items():
            file.createDimension(name, len(values))
            file.createVariable(name, "f4", (name,))[:] = values
        z, y, x = np.meshgrid(Z, Y, X, indexing="ij")
        kind = np.dtype([("first", "f4"), ("second", "f4")])
        pair = np.zeros(z.shape, dtype=kind)
        pair["first"], pair["second"] = formula(x, y, z), -x
        file.createVariable("data", file.createCompoundType(kind, "pair"), ("z", "y", "x"))[...] = pair
        file.createVariable("plain", "f4", ("z", "y", "x"))[...] = formula(x, y, z)
    return tmp_path


def test_compound_members_match_parameters_by_position(grid, easi, at):
    field = easi("!ASAGI {file: grid.nc, parameters: [zeta, alpha]}")
    points = np.array([[0.5, 0.25, -30], [6, 1, 0], [0, -1, -100], [3.3, -0.9, -99.5], [6, 0.1, -50]])
    assert field.parameters == {"zeta", "alpha"}
    np.testing.assert_allclose(at(field, "zeta", points), formula(*points.T), rtol=1e-6)
    np.testing.assert_allclose(at(field, "alpha", points), -points[:, 0], rtol=1e-6)


def test_plain_variable_and_nearest(grid, easi, at):
    field = easi("!ASAGI {file: grid.nc, parameters: [p], var: plain, interpolation: nearest}")
    points = [[0.9, 0.4, -49], [1.1, -0.6, -51], [6, 1, 0]]
    expected = [formula(0, 0, 0), formula(2, -1, -100), formula(6, 1, 0)]
    np.testing.assert_allclose(at(field, "p", points), expected, rtol=1e-6)


def test_points_outside_are_not_accepted(grid, easi, at):
    alone = easi("!ASAGI {file: grid.nc, parameters: [p], var: plain}")
    for point in ([-0.01, 0, 0], [6.01, 0, 0], [1, 0, 0.01]):
        with raises(InputError):
            at(alone, "p", point)
    backed = easi("!Any\ncomponents:\n - !ASAGI {file: grid.nc, parameters: [p], var: plain}\n"
                  " - !ConstantMap {map: {p: -7}}\n")  # fmt: skip
    np.testing.assert_allclose(at(backed, "p", [[7, 0, 0], [6, 0, 0]]), [-7, formula(6, 0, 0)], rtol=1e-6)


def test_axes_follow_sorted_names_of_the_parent(grid, easi, at):
    """Dimensions named otherwise: the fastest NetCDF dimension is the first name in ASCII order."""
    field = easi("""
        !AffineMap
        matrix: {ub: [0, 1, 0], ua: [1, 0, 0], uc: [0, 0, 1]}
        translation: {ub: 0, ua: 0, uc: 0}
        components: !ASAGI
          file: grid.nc
          var: plain
          parameters: [raw]
          components: !FunctionMap {map: {p: return 2*raw;}}
    """)
    np.testing.assert_allclose(at(field, "p", [[4, -1, -100]]), [2 * formula(4, -1, -100)], rtol=1e-6)


def test_single_layer_in_one_direction(tmp_path, easi, at):
    with netCDF4.Dataset(str(tmp_path / "flat.nc"), "w") as file:
        for name, count in {"x": 3, "y": 1}.items():
            file.createDimension(name, count)
            file.createVariable(name, "f8", (name,))[:] = np.arange(count)
        file.createVariable("data", "f4", ("y", "x"))[...] = [[1, 3, 7]]
    field = easi("!AffineMap {matrix: {a: [1, 0, 0], b: [0, 1, 0]}, translation: {a: 0, b: 0}, "
                 "components: !ASAGI {file: flat.nc, parameters: [p]}}")  # fmt: skip
    assert at(field, "p", [[1.5, 0, 9]]) == [5]


def test_asagi_mistakes(grid, easi):
    cases = {
        "!ASAGI {file: none.nc, parameters: [p]}": "'none.nc' does not exist. Looked for",
        "!ASAGI {file: model.yaml, parameters: [p]}": "is not a valid NetCDF grid",
        "!ASAGI {file: grid.nc, parameters: [p], var: dta}": "has no variable 'dta' .allowed: x, y, z, data, plain",
        "!ASAGI {file: grid.nc, parameters: [p]}": "lists 1 name.s., but the file has 2 value",
        "!ASAGI {file: grid.nc, parameters: [p], var: x}": "the grid has 1 dimension",
        "!ASAGI {file: grid.nc, parameters: [p], var: plain, interpolation: linaer}": "did you mean 'linear'",
    }
    for text, message in cases.items():
        with pytest.raises(InputError, match=message):
            easi(text)
    with pytest.raises(NotBuiltError, match="cubic"):
        easi("!ASAGI {file: grid.nc, parameters: [p], var: plain, interpolation: cubic}")


def test_asagi_axes_follow_from_their_ends(tmp_path, easi, at, caplog):
    """(last - first) / (n - 1), whatever lies between, and whole numbers where a dimension has no coordinates."""
    with netCDF4.Dataset(str(tmp_path / "odd.nc"), "w") as file:
        for name, count in (("x", 4), ("y", 2)):
            file.createDimension(name, count)
        file.createVariable("x", "f8", ("x",))[:] = [0.0, 1.0, 3.5, 6.0]
        file.createVariable("data", "f4", ("y", "x"))[...] = [[1, 2, 4, 8], [1, 2, 4, 8]]
    text = ("!AffineMap {matrix: {a: [1, 0, 0], b: [0, 1, 0]}, translation: {a: 0, b: 0}, "
            "components: !ASAGI {file: odd.nc, parameters: [p]}}")  # fmt: skip
    assert at(easi(text), "p", [[2, 0, 0], [3, 1, 0], [6, 0.5, 0]]) == [2, 3, 8]
    assert "its steps are 1 to 2.5. ASAGI assumes 2" in caplog.text and "from 1 to 2" in caplog.text
    assert "'y' has no coordinate variable, so its vertices lie at 0 to 1" in caplog.text


@pytest.mark.parametrize("axis", [[2.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, float("nan"), 1.0]])
def test_asagi_axes_must_ascend(tmp_path, easi, axis):
    with netCDF4.Dataset(str(tmp_path / "odd.nc"), "w") as file:
        file.createDimension("x", 3)
        file.createVariable("x", "f8", ("x",))[:] = axis
        file.createVariable("data", "f4", ("x",))[...] = [1, 2, 3]
    with raises(InputError):
        easi("!AffineMap {matrix: {a: [1, 0, 0]}, translation: {a: 0}, "
             "components: !ASAGI {file: odd.nc, parameters: [p]}}")  # fmt: skip


def scec_rows(nx: int, ny: int, lx: float, ly: float) -> list[str]:
    rows = [f"{i} {j} {i * lx / nx} {j * ly / ny} {1e6 * (i + 10 * j)} {i} {j} 0.1 0.2 0.6 0.4 0.3 2e5 {0.5 * j}"
            for j in range(ny + 1) for i in range(nx + 1)]  # fmt: skip
    return ["17 42", f"{nx} {ny} {lx} {ly}", "1 1 0. 0. 0. 0.", *rows]


SCEC = """
    !FunctionMap
    map: {strike: return x;, up: return -z;}
    components: !SCECFile {file: fault.txt, interpolation: KIND}
"""


def test_scec_file(tmp_path, easi, at):
    (tmp_path / "fault.txt").write_text("\n".join(scec_rows(4, 2, 400.0, 100.0)) + "\n")
    field = easi(SCEC.replace("KIND", "linear"))
    assert field.parameters == {
        "cohesion", "d_c", "forced_rupture_time", "mu_d", "mu_s", "s_dip", "s_normal", "s_strike"
    }  # fmt: skip
    points = [[150, 0, -25], [-50, 0, 10], [1e5, 0, -1e5]]  # inside, clamped to both corners
    assert at(field, "s_normal", points) == pytest.approx([1e6 * (1.5 + 5), 0, 24e6])
    assert at(field, "s_strike", points) == pytest.approx([1.5, 0, 4])
    assert at(field, "s_dip", points) == pytest.approx([0.5, 0, 2])
    assert at(field, "forced_rupture_time", points) == pytest.approx([0.25, 0, 1])
    assert at(field, "cohesion", points) == pytest.approx([2e5] * 3)
    assert [at(field, n, points[:1])[0] for n in ("mu_s", "mu_d", "d_c")] == pytest.approx([0.6, 0.4, 0.3])
    nearest = easi(SCEC.replace("KIND", "nearest"))
    assert at(nearest, "s_strike", [[149, 0, 0], [151, 0, 0], [999, 0, 0]]) == [1, 2, 4]


def test_scec_mistakes(tmp_path, easi):
    text = SCEC.replace("KIND", "linear")
    rows = scec_rows(4, 2, 400.0, 100.0)
    for lines, message in {
        tuple(rows[:-1]): "lacks 1 of 15 rows",
        (*rows[:5], "1 1 2", *rows[6:]): "fault.txt:6: row i=1 j=1 with 3 numbers",
        (*rows[:5], rows[5].replace("0.6", "x"), *rows[6:]): "fault.txt:6: not a row",
        (rows[0], "a b c d", *rows[2:]): "fault.txt:2: not 'nx ny Lx Ly'",
        tuple(rows[:1]): "lacks its three header lines",
        (*rows[:5], rows[5].replace("2 0", "5 0", 1), *rows[6:]): "fault.txt:6: row i=5",
    }.items():
        (tmp_path / "fault.txt").write_text("\n".join(lines) + "\n")
        with pytest.raises(InputError, match=message):
            easi(text)
    with raises(InputError):
        easi("!SCECFile {file: fault.txt}")
