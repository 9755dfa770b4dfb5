#!/bin/sh
# SPDX-License-Identifier: MIT
# Draws from rows in many files, by arrays of Slurm jobs, one task for each file. docs/cluster.md explains the steps.
#
#     ./slurm_sketch.sh fit.run 'part-*.csv' logistic --target y --draws 2000
#
# It submits an array for each step and waits for it; a node of any size can run it, by sbatch, too. Nodes need the
# program (SGFS names it) and see the folder. SBATCH_PARTITION, SBATCH_ACCOUNT and their like are heard by sbatch. When
# it was interrupted, the same command goes on: what is there is not made again.
set -eu
sgfs=${SGFS:-sgfs}
run=$1 pattern=$2
shift 2
count=$(ls -d $pattern | wc -l)

# each STEP WORD...: `sgfs sketch WORD... --data FILE --out RUN.STEP-K` for the K-th file, side by side
each() {
    step=$1
    shift
    sbatch --wait --quiet --array="0-$((count - 1))" --output="$run.$step-%a.log" \
        --export=ALL,SGFS_PATTERN="$pattern",SGFS_OUT="$run.$step" "$task" "$sgfs" "$@" ||
        { cat "$run.$step"-*.log >&2; exit 1; }
}
task=$run.task.sh
cat > "$task" <<'TASK'
#!/bin/sh
sgfs=$1
shift
file=$(ls -d $SGFS_PATTERN | sed -n "$((SLURM_ARRAY_TASK_ID + 1))p")
exec "$sgfs" sketch -q "$@" --data "$file" --out "$SGFS_OUT-$SLURM_ARRAY_TASK_ID"
TASK

each columns "$@" --columns-only
place=$run.place-0
"$sgfs" sketch --merge "$run.columns-*[0-9]" --out "$place" --json > "$place.json"
turn=0
until grep -q '"done": true' "$place.json"; do
    turn=$((turn + 1))
    each "pass-$turn" --at "$place"
    next=$run.place-$turn
    "$sgfs" sketch --at "$place" --merge "$run.pass-$turn-*[0-9]" --out "$next" --json > "$next.json"
    place=$next
done
each marks --at "$place"
exec "$sgfs" sample --sketch "$run.marks-*[0-9]" --out "$run"
