#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Parquet files that we wrote, read by DuckDB and by hyparquet: each value is
# the one that our own reader finds. Both come from the npm registry, in the
# versions that package-lock.json pins; where it cannot be reached the test
# fails, since nothing else here would tell that a file is no Parquet file.

load common

setup_file() {
    export here=${EF_SOURCE:-$BATS_TEST_DIRNAME/../..}
    export build=${EF_BUILD:-$here/_build}
    export oracle=$build/test/parquet_oracle
    mkdir -p "$oracle"
    cp "$here"/test/system/parquet_oracle/* "$oracle"
    if ! npm install --prefix "$oracle" --no-audit --no-fund >"$oracle/npm.log" 2>&1; then
        cat "$oracle/npm.log"
        echo "cannot install DuckDB and hyparquet from the npm registry"
        return 1
    fi
}

# Compares files of the random schemas that the seeds FROM to TO make.
compare() { # FROM TO ROWS
    local seed
    for ((seed = $1; seed <= $2; seed++)); do
        "$build/test/tools/parquet_rows" "$seed" "$3" "$BATS_TEST_TMPDIR/rows.parquet" >"$BATS_TEST_TMPDIR/rows"
        [ "$(wc -l <"$BATS_TEST_TMPDIR/rows")" = "$3" ]
        node "$oracle/compare.mjs" "$BATS_TEST_TMPDIR/rows.parquet" "$BATS_TEST_TMPDIR/rows" ||
            { echo "seed $seed"; return 1; }
    done
}

@test "DuckDB and hyparquet find the values that we wrote: 24 schemas, several row groups and pages" {
    compare 1 24 1500
}

@test "DuckDB and hyparquet find the values that we wrote: few rows, and one" {
    compare 25 34 3
    compare 35 40 1
}

@test "a file without rows is a file" {
    compare 41 42 0
}

@test "a value that differs is noticed" {
    "$build/test/tools/parquet_rows" 5 100 "$BATS_TEST_TMPDIR/rows.parquet" >"$BATS_TEST_TMPDIR/rows"
    sed -i '50s/"c1":"/"c1":"9/' "$BATS_TEST_TMPDIR/rows"
    run node "$oracle/compare.mjs" "$BATS_TEST_TMPDIR/rows.parquet" "$BATS_TEST_TMPDIR/rows"
    [ "$status" -ne 0 ]
    [[ $output == *"row 49"* ]]
}

# Runs an analyzer over the capture until its archive has the traces COUNT times.
archive_traces() { # COUNT URL
    "$build/analyzer/ef-analyzer" --name oracle --source "pcap:$BATS_TEST_TMPDIR/copies.pcap" --idle 200ms \
        --archive "$BATS_TEST_TMPDIR/archive" --http "${2#http://}" >"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
    local pid=$!
    if ! wait_until 30 archive_has "$1" "$2"; then
        cat "$BATS_TEST_TMPDIR/log"
        kill -KILL "$pid"
        return 1
    fi
    curl -sf "$2/v1/traces?limit=0&format=ndjson" >"$BATS_TEST_TMPDIR/traces"
    export_traces "$2" "$BATS_TEST_TMPDIR/answer"
    kill "$pid"
    wait "$pid"
}

# What efctl writes of the analyzer at URL, in DIR.
export_traces() { # URL DIR
    mkdir -p "$2"
    jq '.switches |= [.[0] | .ovsdb = "unix:/nonexistent/db.sock"]' "$here/test/golden/efctl/topology.json" >"$2.topology"
    jq -n --arg url "$1" --arg dir "$2" '{listen: "unix:\($dir).sock", topology: "\($dir).topology",
        analyzers: [{name: "oracle", url: $url}], reshufflers: [], everflow: {targets: ["10.255.255.1"],
        encap: "erspan3", classes: ["tcp_syn"]}}' >"$2.config"
    "$build/controller/ef-controller" --config "$2.config" >"$2.log" 2>&1 3>&- &
    local controller=$!
    wait_until 10 test -S "$2.sock"
    "$build/utilities/efctl/efctl" --controller "unix:$2.sock" store export "$2/all.parquet" || cat "$2.log"
    kill "$controller"
}

archive_has() { curl -sf "$2/v1/status" | jq -e ".archive.traces_taken == $1" >/dev/null; }

@test "DuckDB finds the switches, times and sequence numbers of an analyzer's archive and answers as doc/store.md says" {
    mkdir "$BATS_TEST_TMPDIR/archive"
    "$here/test/system/make_copies.py" --packets 2000 "$BATS_TEST_TMPDIR/copies.pcap"
    archive_traces 2000 http://127.0.0.1:18847
    [ -n "$(compgen -G "$BATS_TEST_TMPDIR/archive/*.parquet")" ]
    node "$oracle/archive.mjs" "$BATS_TEST_TMPDIR/archive" "$BATS_TEST_TMPDIR/traces"
    node "$oracle/archive.mjs" "$BATS_TEST_TMPDIR/answer" "$BATS_TEST_TMPDIR/traces"
    sed -i '700s/"sequence":6/"sequence":7/' "$BATS_TEST_TMPDIR/traces"
    run node "$oracle/archive.mjs" "$BATS_TEST_TMPDIR/archive" "$BATS_TEST_TMPDIR/traces"
    [ "$status" -ne 0 ]
    [[ $output == *"not ours"* ]]
}
