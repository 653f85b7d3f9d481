#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks two protocols of lib/store in all interleavings with spin: how a snapshot
# is taken, and how the monitor of triggers goes to sleep; and that spin refutes
# each of the protocols that are wrong.
set -u

models=$(realpath "${srcdir:-$(dirname "$0")/../../..}/test/unit/store")
model=$models/snapshot.pml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

command -v spin >/dev/null || { echo "1..0 # SKIP spin is not installed"; exit 77; }

n=0 status=0

# check NAME EXPECTED-ERRORS [-D...]
check() {
    local name=$1 expected=$2
    shift 2
    n=$((n + 1))
    if spin -a "$@" "$model" >log 2>&1 && ${CC:-cc} -O2 -w -DSAFETY -DVECTORSZ=2048 -o pan pan.c >>log 2>&1 &&
        ./pan -m100000 >>log 2>&1 && { [ "$expected" -eq 0 ] || grep -q "assertion violated" log; } &&
        ! grep -q "max search depth too small" log && grep -q "errors: $expected$" log; then
        echo "ok $n - $name: $(grep -o '^ *[0-9.e+]* states, stored' log | tr -s ' ')"
    else
        echo "not ok $n - $name"
        sed 's/^/# /' log
        status=1
    fi
}

echo 1..12
check "two writers, two snapshots" 0 -DWRITERS=2 -DRECORDS=2 -DSNAPSHOTS=2
check "two writers, three snapshots" 0 -DWRITERS=2 -DRECORDS=2 -DSNAPSHOTS=3
check "three writers, one snapshot" 0 -DWRITERS=3 -DRECORDS=1 -DSNAPSHOTS=1
check "refuted: the mark is ignored" 1 -DIGNORE_MARK
check "refuted: the mark is read before the tail" 1 -DMARK_READ_FIRST
check "refuted: the mark is written after the tail" 1 -DMARK_LAST
check "refuted: the epoch advances after the tails are read" 1 -DEPOCH_LAST
model=$models/wake.pml
check "sleeping: one writer" 0 -DWRITERS=1 -DRECORDS=4
check "sleeping: two writers" 0 -DWRITERS=2 -DRECORDS=3
check "sleeping: three writers" 0 -DWRITERS=3 -DRECORDS=1
check "refuted: the tails are compared before it says that it waits" 1 -DWRITERS=1 -DRECORDS=2 -DCOMPARE_FIRST
check "refuted: the writer asks before it stores its tail" 1 -DWRITERS=1 -DRECORDS=2 -DASK_FIRST
exit $status
