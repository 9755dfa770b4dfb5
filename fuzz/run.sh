#!/bin/sh
# SPDX-License-Identifier: MIT
# Run fuzz targets and say in one line each what came of it; `make fuzz` calls this.
#
#     fuzz/run.sh BUILD SECONDS JOBS [TARGET...]     all targets that were built, unless named
#
# Seeds come from fuzz/corpus/TARGET (run files share theirs). What is new and interesting is kept in BUILD/fuzz-new/TARGET and
# read again next time; inputs that crash, hang or want too much memory are kept in BUILD/fuzz-crash.
set -u
here=$(dirname "$0")

# One target: 0 where nothing was found.
one() {
    build=$1 seconds=$2 target=$3
    new=$build/fuzz-new/$target log=$build/fuzz-$target.log crash=$build/fuzz-crash/$target-
    mkdir -p "$new" "$build/fuzz-crash"
    longest=4096
    seeds=$here/corpus/$target
    case $target in
    packed) longest=20480 ;; # a head and chunks of a page each
    run | predict | resume) longest=65536 seeds=$here/corpus/run ;; # a header has all options
    esac
    dictionary=
    [ -f "$here/$target.dict" ] && dictionary=-dict=$here/$target.dict
    OMP_NUM_THREADS=1 ASAN_OPTIONS=malloc_context_size=8 "$build/fuzz/fuzz_$target" \
        -max_total_time="$seconds" -max_len=$longest -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=64 \
        -print_final_stats=1 -artifact_prefix="$crash" $dictionary "$new" "$seeds" > "$log" 2>&1
    code=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(sed -n 's/.* cov: \([0-9]*\) ft: \([0-9]*\).*/\1 edges, \2 features/p' "$log" | tail -1)
    added=$(sed -n 's/^stat::new_units_added: *//p' "$log")
    found="nothing found"
    [ $code -eq 0 ] || found="FAILED"
    echo "fuzz $target: ${runs:-0} runs, ${cover:-no coverage}, ${added:-0} new inputs: $found"
    [ $code -eq 0 ] && return 0
    grep -a -m 3 'ERROR:\|runtime error\|^fuzz:' "$log"
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
    echo "  report: $log"
    [ -n "$input" ] && echo "  again:  $build/fuzz/fuzz_$target $input"
    return 1
}

if [ "$1" = --one ]; then
    shift
    one "$@"
    exit
fi
build=$1 seconds=$2 jobs=$3
shift 3
[ $# -gt 0 ] || set -- $(cd "$build/fuzz" && for f in fuzz_*; do [ -f "$f" ] && echo "${f#fuzz_}"; done)
printf '%s\n' "$@" | xargs -P "$jobs" -I TARGET sh "$0" --one "$build" "$seconds" TARGET
