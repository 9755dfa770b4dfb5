#!/bin/sh
# The paper's first sentence, on one small machine: a billion rows in one packed file, sampled by SGFS
# with less than 1 GB resident.
#
#   bench/billion.sh [ROWS] [FOLDER]       default: 1e9 rows, in the folder at hand
#
# 1e9 rows x (8 features + target) in single precision take 36 GB of disk. A chain of SGFS needs about
# one pass over the rows for an effective draw (docs/math.md), so PASSES is what the time goes to.
# Environment: SGFS (program), BATCH, CHAINS, WARMUP and PASSES (in passes over the rows), SEED, KEEP=1.
set -eu
rows=$(printf '%.0f' "${1:-1e9}")
folder=${2:-.}
sgfs=${SGFS:-$(cd "$(dirname "$0")/.." && pwd)/build/sgfs}
batch=${BATCH:-16000}
chains=${CHAINS:-2}
warmup=${WARMUP:-6}
passes=${PASSES:-20}
seed=${SEED:-1}
[ -x "$sgfs" ] || { echo "No program at $sgfs: run make first, or set SGFS." >&2; exit 2; }

need=$((rows * 36 / 1000000 + 200))
free=$(df -Pm "$folder" | awk 'NR == 2 {print $4}')
if [ "$free" -lt "$need" ]; then
    echo "$folder has $free MB free; $rows rows take $need MB." >&2
    exit 5
fi
work=$(mktemp -d "$folder/billion.XXXXXX")
[ "${KEEP:-0}" = 1 ] || trap 'rm -rf "$work"' EXIT

seconds() { date +%s.%N; }
# The largest resident set, in MB, of a command that is watched while it runs.
watched() {
    "$@" &
    pid=$!
    peak=0
    while kill -0 $pid 2>/dev/null; do
        now=$(awk '/^VmHWM/ {print int($2 / 1024)}' /proc/$pid/status 2>/dev/null || true)
        [ -n "$now" ] && [ "$now" -gt "$peak" ] && peak=$now
        sleep 0.2
    done
    wait $pid
}

echo "== $rows rows x 8 features to $work/big.sgd, then the posterior's mean and curvature by full passes"
start=$(seconds)
watched "$sgfs" simulate logistic --rows "$rows" --dim 8 --seed "$seed" --storage f32 \
    --out "$work/big.sgd" --truth "$work/truth.json"
packed=$(stat -c %.Y "$work/big.sgd") # its head is written last
known=$(seconds)
pack_peak=$peak

echo "== sampling"
iterations() { awk -v r="$rows" -v b="$batch" -v p="$1" 'BEGIN {printf "%d", (p * r + b - 1) / b}'; }
watched "$sgfs" sample logistic --data "$work/big.sgd" --sampler sgfs-f --alpha 0 --batch "$batch" \
    --chains "$chains" --warmup "$(iterations "$warmup")" --draws "$(iterations "$passes")" \
    --thin "$((1 + $(iterations "$passes") / 2000))" --seed "$seed" --out "$work/big.run"
sampled=$(seconds)

echo "== against the truth"
"$sgfs" compare "$work/big.run" --reference "$work/truth.json" || true

total=$(awk -v c="$chains" -v i="$(iterations "$warmup")" -v j="$(iterations "$passes")" \
    'BEGIN {print c * (i + j)}')
awk -v rows="$rows" -v bytes="$(stat -c %s "$work/big.sgd")" -v a="$start" -v b="$packed" \
    -v c="$known" -v d="$sampled" -v n="$total" -v batch="$batch" -v p1="$pack_peak" \
    -v p3="$peak" 'BEGIN {
    printf "\nrows %.3g, file %.2f GB\n", rows, bytes / 1e9
    printf "pack      %8.0f s   %.3g rows/s, %.0f MB/s, peak resident %d MB\n", b - a, rows / (b - a), bytes / (b - a) / 1e6, p1
    printf "truth     %8.0f s\n", c - b
    printf "sampling  %8.0f s   %.0f iterations/s, %.3g rows touched (%.1f passes), %.3g rows/s, peak resident %d MB\n", d - c, n / (d - c), n * batch, n * batch / rows, n * batch / (d - c), p3
}'
