#!/usr/bin/env bash
# On a machine with a GPU: check that everything on it is right, then time it.
# usage: tools/gpu.sh [BACKEND] [PYTHON]     BACKEND: cuda (default), hip or opencl; PYTHON has Faultwave and the backend's extra
set -euo pipefail
backend=${1:-cuda}
python=${2:-python3}
faultwave() { "$python" -m faultwave.cli.main "$@"; }

"$python" -c "
from faultwave import backends
why = backends.missing('$backend')
raise SystemExit(why or print(backends.make('$backend').described))"
echo "== kernels against the reference"
"$python" -m pytest -q -k "$backend" tests/backends tests/engines/test_backends_agree.py
echo "== runs against the processor's"
faultwave verify backends
if [ "$backend" = cuda ] && command -v compute-sanitizer >/dev/null 2>&1; then
  for tool in memcheck racecheck; do
    echo "== $tool"
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$python" -m faultwave.cli.main bench proxy --backend cuda --order 3 --cells 1000 --steps 2
  done
fi
echo "== what memory and arithmetic allow"
[ "$backend" = opencl ] || faultwave kernels report turn predict correct --backend "$backend"
echo "== rates"
for precision in double single; do
  for order in 2 3 4 5 6; do
    faultwave bench proxy --backend "$backend" --order "$order" --precision "$precision" --cells 524288 --steps 50
  done
done
faultwave bench proxy --backend "$backend" --order 4 --cells 4096 --steps 200
