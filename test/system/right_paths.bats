#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The claim of the whole suite: 500 real TCP connections over a fabric of 2
# spines, 4 leaves and 8 hosts; every SYN has one trace, and its hops are
# exactly the switches that the fabric's own forwarding gives (ofproto/trace at
# every switch, which knows nothing of Everflow).

load common

N=${EF_TEST_CONNECTIONS:-500}
FABRIC=paths
PORT=18780

setup_file() {
    suite_begin "$FABRIC" "$PORT" --spines 2 --leaves 4 --hosts-per-leaf 2
    start_servers
}

teardown_file() {
    stop_servers
    suite_end "$FABRIC"
}

# Real servers on every host, four ports each.
start_servers() {
    local host
    : >"$BATS_FILE_TMPDIR/servers"
    for host in $(hosts "$FABRIC"); do
        ip netns exec "ef-$FABRIC-$host" "$EF_SOURCE/test/system/tcp_traffic.py" server 80 443 3306 8080 \
            >"$BATS_FILE_TMPDIR/server-$host" 2>&1 3>&- &
        echo $! >>"$BATS_FILE_TMPDIR/servers"
    done
    for host in $(hosts "$FABRIC"); do
        wait_until 10 grep -q ready "$BATS_FILE_TMPDIR/server-$host"
    done
}

stop_servers() {
    local pid
    while read -r pid; do
        kill "$pid" 2>/dev/null || :
    done <"$BATS_FILE_TMPDIR/servers"
}

# make_connections N SEED FILE: random pairs of hosts and ports, every 5-tuple
# once: "SOURCE_HOST SRC DST SRCPORT DPORT" a line.
make_connections() {
    jq -r '.hosts[] | select(.role == "host") | "\(.name) \(.address)"' "$(demo_topology "$FABRIC")" |
        awk -v n="$1" -v seed="$2" '
            { name[NR] = $1; address[NR] = $2 }
            END {
                srand(seed)
                split("80 443 3306 8080", ports)
                while (made < n) {
                    a = 1 + int(rand() * NR); b = 1 + int(rand() * NR)
                    port = 20000 + int(rand() * 40000)
                    if (a == b || (a, port) in used) continue
                    used[a, port] = 1; made++
                    print name[a], address[a], address[b], port, ports[1 + int(rand() * 4)]
                }
            }' >"$3"
}

# connect_all FILE RATE: makes all connections, each from its host's kernel.
connect_all() {
    local host pids=() sources
    mapfile -t sources < <(cut -d' ' -f1 "$1" | sort -u)
    for host in "${sources[@]}"; do
        awk -v h="$host" '$1 == h { print $4, $3, $5 }' "$1" |
            ip netns exec "ef-$FABRIC-$host" "$EF_SOURCE/test/system/tcp_traffic.py" client "$2" \
                >"$BATS_TEST_TMPDIR/client-$host" 2>&1 3>&- &
        pids+=($!)
    done
    wait "${pids[@]}"
    cat "$BATS_TEST_TMPDIR"/client-* | sort | uniq -c
    [ "$(cat "$BATS_TEST_TMPDIR"/client-* | grep -cx ok)" = "$(wc -l <"$1")" ]
}

# What the switches themselves say: "SRC SRCPORT DST DPORT leaf1,spine2,leaf4".
expected_paths() { # FILE
    awk '{ print $2, $3, $4, $5 }' "$1" | demo_fabric "$FABRIC" path --batch - --json |
        jq -r '"\(.src) \(.srcport) \(.dst) \(.dstport) \([.hops[].name] | join(","))"' | sort
}

# What Everflow saw, in the same form. $1: a jq filter over traces.
seen_paths() {
    efctl trace 'tcp.flags.syn == 1 && tcp.flags.ack == 0' --limit 0 --start "$START" --ndjson |
        jq -r 'select(.hops) | .packet as $p
            | "\($p.src) \($p.srcport) \($p.dst) \($p.dstport) \([.hops[].name] | join(","))"' | sort
}

n_seen() {
    efctl trace 'tcp.flags.syn == 1 && tcp.flags.ack == 0' --limit 0 --start "$START" --ndjson | grep -c '"hops"'
}

at_least() { # N COMMAND...
    local n=$1
    shift
    [ "$("$@")" -ge "$n" ]
}

@test "every SYN of $N connections is traced over exactly the switches that forwarded it" {
    START=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
    make_connections "$N" 1 "$BATS_TEST_TMPDIR/connections"
    connect_all "$BATS_TEST_TMPDIR/connections" 20
    expected_paths "$BATS_TEST_TMPDIR/connections" >"$BATS_TEST_TMPDIR/expected"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/expected")" = "$N" ]
    wait_until 20 at_least "$N" n_seen
    seen_paths >"$BATS_TEST_TMPDIR/seen"
    diff "$BATS_TEST_TMPDIR/expected" "$BATS_TEST_TMPDIR/seen"
}

@test "both spines and both analyzers had a part in it" {
    status=$(efctl status --json)
    [ "$(jq '[.analyzers[] | select(.traces_stored > 0)] | length' <<<"$status")" = 2 ]
    paths=$(START=-10m seen_paths)
    grep -q spine1 <<<"$paths"
    grep -q spine2 <<<"$paths"
}

@test "no copy was lost or discarded on the way" {
    status=$(efctl status --json)
    [ "$(jq '[.analyzers[].drops[], .reshufflers[].drops[]] | add // 0' <<<"$status")" = 0 ]
    sent=$(efctl switches --json | jq '[.switches[].statistics.copies | tonumber] | add')
    received=$(jq '[.analyzers[].copies_received] | add' <<<"$status")
    echo "sent $sent received $received"
    wait_until 15 copies_balance
}

copies_balance() {
    [ "$(efctl switches --json | jq '[.switches[].statistics.copies | tonumber] | add')" = \
      "$(efctl status --json | jq '[.analyzers[].copies_received] | add')" ]
}

@test "an analyzer killed and started again loses its own traces of that time, and nothing else is wrong" {
    START=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
    make_connections "$N" 2 "$BATS_TEST_TMPDIR/connections"
    connect_all "$BATS_TEST_TMPDIR/connections" 20 3>&- &
    traffic=$!
    wait_until 20 at_least $((N / 10)) n_seen || { cat "$BATS_TEST_TMPDIR"/client-*; efctl status; efctl trace; echo "since $START"; false; }
    demo_kill "$(demo_directory "$FABRIC")/analyzer1.pid" KILL
    before=$(n_seen)
    wait_until 20 at_least $((before + N / 20)) n_seen
    suite_restart_analyzer "$FABRIC" "$PORT" analyzer1
    wait "$traffic"
    expected_paths "$BATS_TEST_TMPDIR/connections" >"$BATS_TEST_TMPDIR/expected"
    wait_until 20 no_open_traces
    seen_paths >"$BATS_TEST_TMPDIR/seen"
    # Of what was seen, all that were whole are right. A trace that was open
    # when the analyzer came back has only its last hops: a suffix of the path.
    while read -r src srcport dst dport path; do
        is_right "$src $srcport $dst $dport" "$path" || { echo "wrong: $src:$srcport > $dst:$dport saw $path"; false; }
    done <"$BATS_TEST_TMPDIR/seen"
    # The other analyzer lost nothing: what it has is complete, but for packets in the middle of which the killed one's
    # share was given to it, or taken back.
    efctl trace 'tcp.flags.syn == 1 && tcp.flags.ack == 0' --limit 0 --start "$START" --ndjson |
        jq -r 'select(.analyzer == "analyzer2") | .packet as $p
            | "\($p.src) \($p.srcport) \($p.dst) \($p.dstport) \([.hops[].name] | join(","))"' | sort >"$BATS_TEST_TMPDIR/seen2"
    [ -s "$BATS_TEST_TMPDIR/seen2" ]
    comm -13 "$BATS_TEST_TMPDIR/expected" "$BATS_TEST_TMPDIR/seen2" | tee "$BATS_TEST_TMPDIR/cut"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/cut")" -le 2 ]
}

# is_right FLOW PATH: it is the whole path, its last hops, or its first ones if the others are with the other analyzer.
is_right() {
    local expected
    expected=$(grep -F "$1 " "$BATS_TEST_TMPDIR/expected" | cut -d' ' -f5)
    [[ ",$expected" == *",$2" ]] ||
        { [[ $expected == "$2,"* ]] && grep -qxF "$1 ${expected#"$2,"}" "$BATS_TEST_TMPDIR/seen"; }
}

no_open_traces() {
    [ "$(efctl status --json | jq '[.analyzers[].traces_open] | add')" = 0 ]
}
