#!/usr/bin/env bash
# On a machine with a GPU: check that everything on it is right, then time it and write the table of docs/performance.md.
# usage: tools/gpu.sh [BACKEND] [PYTHON] [quick]
#   BACKEND  cuda (default), hip or opencl        PYTHON  has Faultwave with the extras dev and cuda (default python3)
#   quick    small meshes, few tests, nothing written into docs: whether the script itself runs, on any machine with OpenCL
#   RESULTS  in the environment: folder of what every step said and of the numbers (default gpu-results)
# A step that fails does not keep the others from being done; the summary tells, and the exit code.
set -uo pipefail
backend=${1:-cuda}
python=$(command -v "${2:-python3}") || { echo "there is no ${2:-python3}" >&2; exit 2; }
case $python in /*) ;; *) python=$PWD/$python ;; esac
quick=${3:-}
results=${RESULTS:-gpu-results}
case $results in /*) ;; *) results=$PWD/$results ;; esac
cd "$(dirname "$0")/.." || exit 2
mkdir -p "$results" || exit 2
: >"$results/summary.txt"
failed=0

say() { echo "$1" | tee -a "$results/summary.txt"; }

# step NAME COMMAND...: do it, keep what it says in NAME.log, and go on.
step() {
  local name=$1 begun=$SECONDS
  shift
  printf '\n== %s (%s)\n' "$name" "$(date +%T)"
  if "$@" 2>&1 | tee "$results/$name.log"; then
    say "$name: done in $((SECONDS - begun)) s"
  else
    failed=$((failed + 1))
    say "$name: FAILED after $((SECONDS - begun)) s, see $results/$name.log"
  fi
}
faultwave() { "$python" -P -m faultwave.cli.main "$@"; }
compiled() { for arch in "$@"; do faultwave kernels report turn correct predict --arch "$arch" || return; done; }
present() {
  "$python" -c "
from faultwave import backends
import pytest
why = backends.missing('$backend')
raise SystemExit(why or print(backends.make('$backend').described))"
}

present || { echo "needs Faultwave with its extras: pip install '.[dev,cuda]'" >&2; exit 2; }
export FAULTWAVE_TEST_DEVICE=$backend

if [ -n "$quick" ]; then
  step compilers compiled sm_90
  step kernels "$python" -m pytest -q -k "$backend" tests/backends/test_buffers.py
  step runs "$python" -m pytest -q tests/run/test_devices.py
else
  step compilers compiled sm_80 sm_90 sm_100 gfx90a
  step kernels "$python" -m pytest -q -k "$backend" tests/backends tests/dg/test_backends_agree.py
  step runs "$python" -m pytest -q tests/run/test_devices.py tests/run/test_replays.py tests/run/test_ranks_devices.py
  step decks "$python" -m pytest -q -rs tests/run/test_decks_on_devices.py
  step verify faultwave verify backends
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
proxy=(bench proxy --backend "$backend" --order 3 --cells 1000 --steps 2 --repeats 1 --faults 0.1)
tpv5=(run tpv5 --backend "$backend" --order 2 --until 0.05)
if [ "$backend" = cuda ] && command -v compute-sanitizer >/dev/null 2>&1; then
  for tool in memcheck racecheck; do
    checked=(compute-sanitizer --tool "$tool" --error-exitcode 1 "$python" -P -m faultwave.cli.main)
    step "$tool-proxy" "${checked[@]}" "${proxy[@]}"
    step "$tool-tpv5" "${checked[@]}" "${tpv5[@]}" --output "$scratch/$tool"
    # Everything that runs of receivers, surfaces, far fields and checkpoints launch, and buffers are moved with.
    step "$tool-outputs" compute-sanitizer --tool "$tool" --error-exitcode 1 --target-processes all \
      "$python" -m pytest -q tests/backends/test_buffers.py tests/run/test_replays.py -k "$backend or large or samples or receivers"
  done
else
  say "sanitizers: NOT RUN, there is no compute-sanitizer for $backend here"
  step proxy faultwave "${proxy[@]}"
fi

if [ -n "$quick" ]; then
  step rates faultwave bench device --backend "$backend" --order 4 --cells 400 --few 200 --size 1500 --steps 2 --repeats 1 \
    --json "$results/bench-device.json"
else
  step rates faultwave bench device --backend "$backend" --write docs/performance.md --json "$results/bench-device.json"
  cp docs/performance.md "$results/"
fi

# Members of an ensemble in one solver: what they would gain (docs/decisions/0084).
members=(tools/members_in_one_solver.py --backend "$backend")
[ -n "$quick" ] && members+=(--members 1,2 --size 3000 --far-size 15000 --updates 1e4 --rounds 1)
step members "$python" "${members[@]}"

# Two processes, on two devices or sharing one: messages the shortest way this MPI takes them, then through the host's memory.
messages=(bench comm tpv5 --ranks 2 --backend "$backend" --halo auto --halo host --json "$results/bench-comm.json")
[ -n "$quick" ] && messages+=(--seconds 0.2)
step messages faultwave "${messages[@]}"

printf '\n== %s\n' "$results"
cat "$results/summary.txt"
[ "$failed" = 0 ]
