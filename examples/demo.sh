#!/bin/sh
# The first five minutes: data with a known truth, one command to sample them, the comparison, and the report.
set -e
sgfs=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
report=$(cd "$(dirname "$1")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

run() { printf '\n$ sgfs %s\n' "$*"; "$sgfs" "$@"; }
run simulate logistic --rows 200000 --dim 20 --seed 1 --out data.npy --truth truth.json
run sample logistic --data data.npy --out fit.run
run compare fit.run --reference truth.json
run report fit.run --reference truth.json --out report.html
cp report.html "$report/demo.html"
printf '\nThe report is in %s/demo.html\n' "$report"
