"""Tables of energy flow: a file for each entry, whatever it is called."""

from faultwave.observe.dataset import Result, energies_from_arrays
from faultwave.output.formats import write_results
from faultwave.output.formats.csv_tables import read_energies


def test_surfaces_of_one_name_get_files_of_their_own(tmp_path):
    names = ["wall", "wall", "upper wall", "wall-2"]
    results = [Result("flux", energies_from_arrays([0.0], {"flux": [float(i)]}), name) for i, name in enumerate(names)]
    paths = write_results(results, tmp_path, "run")
    assert [p.name for p in paths] == [f"run-flux-{name}.csv" for name in ("wall", "wall-2", "upper-wall", "wall-2-2")]
    assert [read_energies(p)["flux"][0] for p in paths] == [0.0, 1.0, 2.0, 3.0]
