#!/bin/sh
# Several processes, a run that is cut short, and going on from its checkpoint with another number of processes.
#   sh restart.sh [FOLDER]
set -e
folder=${1:-restart}
faultwave=${FAULTWAVE:-faultwave}        # the program; with pip install 'faultwave[mpi]' it starts mpiexec itself
mkdir -p "$folder"

# a run in one piece on one process, to compare with
$faultwave run plane-wave --threads 1 --output "$folder/whole"

# the same on two processes, with a checkpoint every 0.1 s, told to stop at half its time. A batch system's SIGTERM or Ctrl-C
# does the same at any moment: the run writes a checkpoint and ends with exit code 75
$faultwave run plane-wave --ranks 2 --threads 1 --until 0.25 --checkpoint-every 0.1 --output "$folder/parts"

# go on from the last checkpoint, on one process, to the end; receivers and snapshots continue where they were
$faultwave resume "$folder/parts" --threads 1 --until 0.5

# both are equal: every misfit is 0
$faultwave compare "$folder/parts" "$folder/whole" --limit 1e-12
