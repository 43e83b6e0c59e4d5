#!/bin/sh
# The full-size demonstration: from a place on Earth to a map and a report, 10 km at 1 Hz, with the wall time of each step.
#
#     tools/place.sh [FOLDER] [fd|dg] [FREQUENCY]
#
# Needs `faultwave` on the path. Give OMP_NUM_THREADS for the number of cores; default all.
set -e
folder=${1:-place} engine=${2:-fd} frequency=${3:-1Hz}
began=$(date +%s)

step() {
    start=$(date +%s)
    "$@" > "$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
    echo "$(($(date +%s) - start)) s  $*"
}

step faultwave new "$folder" --lon -117.5 --lat 35.7 --size 10km --frequency "$frequency" --engine "$engine" \
    --moment-tensor 320,85,178,5.2,3
mv "$folder.log" "$folder/new.log"
cd "$folder"
folder=log
step faultwave check case.yaml
step faultwave run case.yaml
step faultwave plot results
step faultwave report results
echo "$(($(date +%s) - began)) s in all; $(pwd)/results"
