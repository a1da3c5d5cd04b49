#!/usr/bin/env bash
# Install a wheel into a new environment, away from any clone, print the size of the install, and run the demo.
#   packaging/try_wheel.sh WHEEL
set -euo pipefail
wheel=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"${PYTHON:-python3.11}" -m venv env
env/bin/pip install --quiet --disable-pip-version-check --no-compile "$wheel"
size=$(du -sm --exclude=pip --exclude='pip-*' --exclude=setuptools --exclude='setuptools-*' env/lib/python*/site-packages | cut -f1)
echo "base install: $size MB"
test "$size" -le 600 || { echo "the base install is larger than 600 MB"; exit 1; }
env/bin/visualjudge demo --out demo-out
test -f demo-out/study/report.html
