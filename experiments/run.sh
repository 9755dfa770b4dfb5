#!/bin/sh
# SPDX-License-Identifier: MIT
# The paper's experiments: experiments/run.sh [NAME ...] [--quick] [--data-dir FOLDER] [--device cuda]; --help tells the rest.
# Builds the program and installs what is missing (gnuplot; numpy and scipy into build-venv) first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=sgfs
for word in "$@"; do
    case $word in
    -h | --help) if command -v python3 > /dev/null; then exec python3 "$here/paper.py" --help; fi ;;
    --device*) target=all ;; # with the plug-in for GPUs, where there is nvcc
    esac
done
# one at a time: two builds of one folder would break each other
if command -v flock > /dev/null; then
    flock "$here/run.sh" make --no-print-directory -C "$here/.." PAPER_TARGET="$target" paper-deps
else
    make --no-print-directory -C "$here/.." PAPER_TARGET="$target" paper-deps
fi
exec "$here/../build-venv/bin/python" "$here/paper.py" "$@"
