#!/usr/bin/env bash
# Make the environment FOLDER (default .venv) with Faultwave in it, or say what the machine lacks.
# usage: [PYTHON=python3.12] tools/setup.sh [FOLDER]
set -u
python=${PYTHON:-python3}
folder=${1:-.venv}

fail() {
  printf '\nsetup: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

command -v "$python" >/dev/null 2>&1 ||
  fail "there is no '$python'." "Debian, Ubuntu: apt-get install python3 python3-venv" "Or name another: make setup PYTHON=python3.12"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "$("$python" --version) is too old: Faultwave needs 3.11 or newer." "Name another: make setup PYTHON=python3.12"
"$python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
  fail "this Python cannot make environments: its venv module is missing." "Debian, Ubuntu: apt-get install python3-venv"

if [ ! -x "$folder/bin/python" ]; then
  "$python" -m venv "$folder" || fail "'$python -m venv $folder' failed." "Debian, Ubuntu: apt-get install python3-venv"
fi

install() { "$folder/bin/python" -m pip install --disable-pip-version-check --quiet -e "$1"; }

echo "setup: installing Faultwave and its tools into $folder (a few minutes, 2.5 GB)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! install '.[mesh,dev]' 2>"$log"; then
  echo "setup: not everything could be installed; trying once more without the mesh generator Gmsh"
  install '.[dev]' 2>"$log" || { cat "$log" >&2; fail "pip could not install Faultwave." "Is a package index reachable? pip's own words stand above."; }
  echo "setup: there is no Gmsh for this machine: Faultwave's own mesh of TPV5 serves the demo."
elif ! "$folder/bin/python" -c 'import gmsh' >"$log" 2>&1; then
  echo "setup: Gmsh is installed but cannot load ($(tail -n 1 "$log"))."
  echo "  Debian, Ubuntu: apt-get install libglu1-mesa libgl1 libxrender1 libxcursor1 libxft2 libxinerama1"
  echo "  Without it Faultwave uses its own mesh of TPV5, and the tests of Gmsh are skipped."
fi
if ! command -v gcc >/dev/null 2>&1 && ! command -v clang >/dev/null 2>&1 && ! command -v cc >/dev/null 2>&1; then
  if "$folder/bin/python" -c 'import sys; from faultwave.backends import zig; sys.exit(zig.missing() != "")' 2>/dev/null; then
    echo "setup: there is no C compiler: Zig, which was installed with the tools, compiles kernels (docs/install.md)."
  else
    echo "setup: there is no C compiler: the fast cpu backend needs one (the numpy backend does not)."
  fi
  echo "  Debian, Ubuntu: apt-get install gcc libc6-dev; some tests require gcc."
fi
echo "setup: done; try  $folder/bin/faultwave --help"
