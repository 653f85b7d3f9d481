#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A flood of copies beyond what an analyzer can take loses copies, counted under
# a reason, and nothing else: its memory stays within --memory and the constant
# that analyzer/memory_plan.h names, and all other traces are right.
#
# Each test is a subshell; it, its setup and its teardown share their variables:
# shellcheck disable=SC2030,SC2031

load common

MEMORY_KB=$((16 * 1024))
OVERHEAD_KB=$((24 * 1024)) # EF_ANALYZER_OVERHEAD_BYTES
NS=ef-flood$$
PORT=18811
URL=http://127.0.0.1:$PORT

make_copies() { "$EF_SOURCE/test/system/make_copies.py" "$@"; }

start_analyzer() { # SOURCE ARGUMENT...
    "$EF_BUILD/analyzer/ef-analyzer" --name flood --memory 16M --http 127.0.0.1:$PORT --source "$@" \
        >"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
    ANALYZER=$!
    wait_until 10 curl -sf "$URL/v1/status" -o /dev/null || { cat "$BATS_TEST_TMPDIR/log"; return 1; }
}

setup() {
    ANALYZER=
}

teardown() {
    if [ -n "$ANALYZER" ]; then
        kill "$ANALYZER" || :
        wait "$ANALYZER" || :
    fi
    ip netns delete "$NS" 2>/dev/null || :
}

status() { curl -s "$URL/v1/status"; }

# Every copy that came is in a trace or has a reason, and all traces are closed.
is_settled() {
    status | jq -e '.copies_received == .copies_assembled + ([.drops[]] | add) and .traces_open == 0' >/dev/null
}

received() { [ "$(status | jq .copies_received)" -ge "$1" ]; }

# The most memory it ever had resident.
peak_kb() { awk '/^VmHWM:/ { print $2 }' "/proc/$ANALYZER/status"; }

check_memory() {
    echo "peak $(peak_kb) kB of $((MEMORY_KB + OVERHEAD_KB))"
    [ "$(peak_kb)" -le $((MEMORY_KB + OVERHEAD_KB)) ]
    status | jq -e '.memory_bytes <= .memory_limit_bytes' >/dev/null
}

# traces ARGUMENT...: the stored traces as NDJSON, without the last line.
traces() { curl -sG "$URL/v1/traces" -d format=ndjson -d limit=0 "$@" | jq -c 'select(.end != true)'; }

# All traces are whole: five hops in order, at the switches, ports and times
# that make_copies.py says.
all_whole() {
    jq -es 'all(.[]; [.hops[].switch] == ["10.255.0.1", "10.255.0.2", "10.255.0.3", "10.255.0.4", "10.255.0.5"]
                     and [.hops[].port] == [100, 101, 102, 103, 104]
                     and [.hops[].ttl] == [64, 63, 62, 61, 60]
                     and .latency_us == 40 and .n_duplicates == 0 and (.loop | not))' >/dev/null
}

@test "a capture with far more traces at once than fit" {
    # 100 known packets, 40000 within a fifth of a second, 100 known ones later.
    make_copies --packets 100 --first 1000000 --start 1795228200 "$BATS_TEST_TMPDIR/1.pcap"
    make_copies --packets 40000 --rate 1000000 --start 1795228210 "$BATS_TEST_TMPDIR/2.pcap"
    make_copies --packets 100 --first 2000000 --start 1795228220 "$BATS_TEST_TMPDIR/3.pcap"
    mergecap -a -F nsecpcap -w "$BATS_TEST_TMPDIR/all.pcap" "$BATS_TEST_TMPDIR"/[123].pcap
    start_analyzer "pcap:$BATS_TEST_TMPDIR/all.pcap"
    wait_until 30 received 201000
    wait_until 30 is_settled
    status | jq '{copies_received, copies_assembled, drops, traces_closed, traces_stored, resident_bytes}'
    status | jq -e '.copies_received == 201000 and .drops.table_full > 100000' >/dev/null
    # Whole traces are lost, never hops.
    status | jq -e '.copies_assembled == 5 * .traces_closed and .traces_closed == 200 + .traces_open_limit' >/dev/null
    traces >"$BATS_TEST_TMPDIR/traces"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/traces")" -gt 5000 ]
    all_whole <"$BATS_TEST_TMPDIR/traces"
    # Numbers 2000000 to 2000099 are 10.30.132.128 to 10.30.132.227.
    traces --data-urlencode 'filter=ip.src >= 10.30.132.128 && ip.src <= 10.30.132.227' >"$BATS_TEST_TMPDIR/known"
    [ "$(jq -r .packet.src "$BATS_TEST_TMPDIR/known" | sort -u | wc -l)" = 100 ]
    jq -es 'all(.[]; .copies_lost | not)' "$BATS_TEST_TMPDIR/known" >/dev/null
    check_memory
}

@test "a live flood, and right traces before and after it" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    ip netns add "$NS"
    ip -n "$NS" link add e0 mtu 9000 type veth peer name e1
    ip -n "$NS" link set e0 up
    ip -n "$NS" link set e1 up
    start_analyzer "afpacket:e1@$NS" --idle 300ms
    copies_from() { ip netns exec "$NS" "$EF_SOURCE/test/system/make_copies.py" --send "$@" e0; }
    copies_from --packets 100 --first 1000000
    wait_until 10 received 500
    wait_until 10 is_settled
    traces >"$BATS_TEST_TMPDIR/before"

    [ "$(wc -l <"$BATS_TEST_TMPDIR/before")" = 100 ]
    all_whole <"$BATS_TEST_TMPDIR/before"
    copies_from --packets 60000 --spread 20
    wait_until 20 is_settled
    status | jq '{copies_received, copies_assembled, drops, traces_closed, traces_stored, resident_bytes}'
    # It was too much: for the open traces, for a worker, or for the ring.
    status | jq -e '.drops.table_full + .drops.worker_busy + .drops.source_overflow > 0' >/dev/null
    # A trace lacks a hop only where the analyzer says that it lost copies.
    traces >"$BATS_TEST_TMPDIR/flood"
    jq -c 'select(.copies_lost | not)' "$BATS_TEST_TMPDIR/flood" | all_whole
    jq -es 'all(.[]; ([.hops[].ttl] | . == (sort | reverse)) and (.loop | not))' "$BATS_TEST_TMPDIR/flood" >/dev/null
    before=$(status | jq .copies_received)
    copies_from --packets 100 --first 2000000
    wait_until 10 received $((before + 500))
    wait_until 10 is_settled
    traces --data-urlencode 'filter=ip.src >= 10.30.132.128 && ip.src <= 10.30.132.227' >"$BATS_TEST_TMPDIR/after"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/after")" = 100 ]
    all_whole <"$BATS_TEST_TMPDIR/after"
    check_memory
}

# The most that was ever resident is between both shares of --memory, in percent.
is_resident_between() { # LEAST MOST OF_KB
    echo "peak $(peak_kb) kB of $3"
    [ $(($(peak_kb) * 100)) -ge $(($1 * $3)) ] && [ $(($(peak_kb) * 100)) -le $(($2 * $3)) ]
}

replayed_is_settled() { is_settled && received "$1"; } # COPIES

@test "with rings, open and closed traces full, memory is within 5 % of --memory, and the oldest leave" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    ip netns add "$NS"
    ip -n "$NS" link add in0 type veth peer name out0
    local i
    for i in in0 out0; do
        ip -n "$NS" link set "$i" up
    done
    ip -n "$NS" link set lo up
    ip -n "$NS" address add 10.97.0.2/24 dev out0
    ip -n "$NS" neighbor add 10.97.0.1 lladdr "$(ip -n "$NS" -j link show in0 | jq -r '.[0].address')" dev out0
    ip -n "$NS" route add 10.255.255.1 via 10.97.0.1
    start_analyzer "afpacket:in0@$NS" --memory 256M --workers 1 --idle 4s
    local first
    first=$(date -u +%Y-%m-%dT%H:%M:%S)
    # Of each packet two copies: some 120,000 can be open, 360,000 closed, for which a machine takes one or more rounds.
    local round evicted=0
    for ((round = 1; round <= 6; round++)); do
        timeout 120 "$EF_BUILD/utilities/replay/ef-replay" --packets 500000 --hops 2 --width 2 --rate 200000 --seed $round --sink "ip@$NS"
        wait_until 60 replayed_is_settled $((round * 1000000))
        evicted=$(status | jq .traces_evicted)
        [ "$evicted" = 0 ] || break
    done
    status | jq '{copies_received, drops, traces_closed, traces_stored, traces_evicted, memory, oldest}'
    is_resident_between 80 105 $((256 * 1024))
    status | jq -e --arg first "$first" --argjson round $round '.drops.table_full > 0 and .traces_evicted > 0 and .oldest > $first
        and .traces_closed == .traces_stored + .traces_evicted and .copies_received == 1000000 * $round' >/dev/null
    # What is left are the newest: all whole ones between the oldest of them and the end.
    [ "$(traces | jq -s 'length')" = "$(status | jq .traces_stored)" ]
}
