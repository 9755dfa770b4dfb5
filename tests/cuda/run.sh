#!/bin/sh
# SPDX-License-Identifier: MIT
# What `make test-cuda` runs: programs of the conformance tests beside the real plug-in, on GPU 0. Each says why where it
# is skipped. With compute-sanitizer in PATH, some runs go through memcheck and racecheck, too, for some
# minutes.
set -u
build=${1:-build}
place=$build/tests/gpu
failed=0
mkdir -p "$place"
cp "$build/libsgfs_cuda.so" "$place/" || exit 1
for test in conform_test_device conform_test_far_device conform_test_all_rows conform_test_ahead \
    conform_test_streamed conform_test_early conform_test_far_pass conform_test_far_predictor \
    conform_test_gpu_arrays; do
    cp "$build/tests/$test" "$place/" || exit 1
    "$place/$test" cuda
    code=$?
    echo "$test: exit $code"
    [ $code = 0 ] || [ $code = 77 ] || failed=1
done
# Arrays of Python on the GPU; 77: nobody has any.
package=$(dirname "$0")/../../python
if python3 -c "import numpy" 2> /dev/null; then
    SGFS_LIBRARY=$build/libsgfs.so PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 \
        python3 -W ignore "$(dirname "$0")/arrays.py"
    code=$?
    echo "arrays.py: exit $code"
    [ $code = 0 ] || [ $code = 77 ] || failed=1
fi
if command -v compute-sanitizer > /dev/null; then
    for tool in memcheck racecheck; do
        timeout 200 compute-sanitizer --tool $tool --error-exitcode 9 "$place/conform_test_far_device" cuda few \
            > "$place/$tool.log"
        code=$?
        tail -n 3 "$place/$tool.log"
        echo "$tool: exit $code"
        [ $code = 9 ] && failed=1
        [ $code = 124 ] && echo "$tool: not finished after 200 s, no verdict"
    done
fi
exit $failed
