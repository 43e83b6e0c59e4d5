"""Fields of snapshots: names, lattices, refined cells and formats."""
