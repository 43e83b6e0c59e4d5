#!/usr/bin/env bash
# On a machine with a GPU: check that everything on it is right, then time it and write the table of docs/performance.md.
# usage: tools/gpu.sh [BACKEND] [PYTHON] [quick]
#   BACKEND  cuda (default), hip or opencl        PYTHON  has Faultwave with the extras dev and cuda (default python3)
#   quick    small meshes, few tests, nothing written: whether the script itself runs, on any machine with OpenCL
set -euo pipefail
cd "$(dirname "$0")/.."
backend=${1:-cuda}
python=${2:-python3}
quick=${3:-}
faultwave() { "$python" -m faultwave.cli.main "$@"; }
heading() { printf '\n== %s (%s)\n' "$1" "$(date +%T)"; }

"$python" -c "
from faultwave import backends
why = backends.missing('$backend')
raise SystemExit(why or print(backends.make('$backend').described))"
export FAULTWAVE_TEST_DEVICE=$backend

heading "what compilers make of the kernels"
architectures="sm_80 sm_90 sm_100 gfx90a"
[ -z "$quick" ] || architectures=sm_90
for arch in $architectures; do faultwave kernels report turn correct predict --arch "$arch"; done

heading "kernels against the reference"
tests=(tests/backends tests/engines/test_backends_agree.py)
[ -z "$quick" ] || tests=(tests/backends/test_buffers.py)
"$python" -m pytest -q -k "$backend" "${tests[@]}"

heading "runs against the processor's, replays, checkpoints, two processes"
tests=(tests/run/test_devices.py tests/run/test_replays.py tests/run/test_ranks_devices.py tests/run/test_decks_on_devices.py)
[ -z "$quick" ] || tests=(tests/run/test_devices.py)
"$python" -m pytest -q "${tests[@]}"
[ -n "$quick" ] || faultwave verify backends

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
checked=(bench proxy --backend "$backend" --order 3 --cells 1000 --steps 2 --repeats 1 --faults 0.1)
if [ "$backend" = cuda ] && command -v compute-sanitizer >/dev/null 2>&1; then
  for tool in memcheck racecheck; do
    heading "$tool"
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$python" -m faultwave.cli.main "${checked[@]}"
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$python" -m faultwave.cli.main run tpv5 --backend cuda --order 2 --until 0.05 --output "$scratch/$tool"
  done
else
  heading "no compute-sanitizer: the same without it"
  faultwave "${checked[@]}"
fi

heading "rates"
if [ -n "$quick" ]; then
  faultwave bench device --backend "$backend" --order 4 --cells 400 --few 200 --size 1500 --steps 2 --repeats 1
else
  faultwave bench device --backend "$backend" --write docs/performance.md --json bench-device.json
fi
