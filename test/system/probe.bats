#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # run sets stderr.
# Guided probes over a real fabric: each goes the way that it was given and no
# other, nobody at the end notices, and who may not send any is refused.

bats_require_minimum_version 1.5.0
load common

FABRIC=probed
PORT=18960
SERVER=7777

setup_file() {
    export DEMO_EVERFLOW='{"decap": true, "probe_sources": ["10.1.0.11", "fd00::a01:b"]}'
    export DEMO_PROBER=h1
    suite_begin "$FABRIC" "$PORT" --spines 2 --leaves 2 --hosts-per-leaf 2
    ip netns exec "ef-$FABRIC-h3" "$EF_SOURCE/test/system/listening.py" server $SERVER \
        >"$BATS_FILE_TMPDIR/server" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/server.pid"
    wait_until 10 grep -q ready "$BATS_FILE_TMPDIR/server"
}

teardown_file() {
    [ ! -e "$BATS_FILE_TMPDIR/server.pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/server.pid")" || :
    suite_end "$FABRIC"
}

prober() { # HOST ARGUMENT...
    local host=$1
    shift
    "$EF_BUILD/guided-prober/ef-prober" --topology "$(demo_topology "$FABRIC")" --sink "ip@ef-$FABRIC-$host" "$@"
}

# A statistic of a switch's Everflow row.
statistic() { # SWITCH KEY
    efctl switches --json | jq --arg s "$1" --arg k "$2" '.switches | map(select(.name == $s))[0].statistics[$k] // 0 | tonumber'
}

# A line of /proc/net/snmp of a host: "Udp InCsumErrors".
host_counter() { # HOST PROTOCOL NAME
    ip netns exec "ef-$FABRIC-$1" cat /proc/net/snmp |
        awk -v p="$2:" -v n="$3" '$1 == p { if (!c) { for (i = 2; i <= NF; i++) if ($i == n) c = i } else print $c }'
}

traces() { efctl trace --ndjson --limit 0 "$1" | jq -c 'select(.hops)'; }
n_traces() { [ "$(traces "$1" | wc -l)" -ge "$2" ]; }

# follows WAY PORT ARGUMENT...: three probes to destination port PORT, which must
# cross exactly the switches of WAY.
follows() {
    local way=$1 port=$2 filter
    shift 2
    prober h1 --dst-port "$port" --src-port 5000 --count 3 --interval 5ms "$@"
    filter="udp.dstport == $port || tcp.dstport == $port"
    wait_until 10 n_traces "$filter" 3
    traces "$filter" | jq -r '"\([.hops[].name] | join(",")) \(.n_duplicates) \(.loop) \(.debug) \(.fate)"' |
        sort | uniq -c >"$BATS_TEST_TMPDIR/seen"
    cat "$BATS_TEST_TMPDIR/seen"
    [ "$(awk '{ $1 = $1; print }' "$BATS_TEST_TMPDIR/seen")" = "3 $way 0 false true delivered" ]
}

@test "a probe crosses exactly the switches of its way" {
    follows leaf1,spine1,leaf2 2001 --dst h3 --via spine1
    follows leaf1,spine2,leaf2 2002 --dst h3 --via spine2
    follows leaf1,spine1,leaf1 2003 --dst h2 --via leaf1,spine1,leaf1
    follows leaf1,spine1,leaf2,spine1,leaf1 2004 --dst h2 --via spine1,leaf2,spine1
    follows leaf1,spine2,leaf2,spine1,leaf1 2005 --dst h2 --via leaf1,spine2,leaf2,spine1,leaf1
}

@test "whatever it is wrapped in, and whatever it is" {
    follows leaf1,spine2,leaf2,spine1,leaf1 2011 --dst h2 --via leaf1,spine2,leaf2,spine1,leaf1 --wrap ipip
    follows leaf1,spine2,leaf2 2012 --dst h3 --via leaf1,spine2 --proto tcp --tcp-flags A
    follows leaf1,spine1,leaf2 2013 --dst h3 --via leaf1,spine1 --length 1200
    [ -e /proc/sys/net/ipv6 ] || skip "this kernel has no IPv6"
    follows leaf1,spine2,leaf2 2014 --dst h3 --src fd00::a01:b --via leaf1,spine2 --wrap ipip
    follows leaf1,spine1,leaf1 2015 --dst h2 --src fd00::a01:b --via leaf1,spine1,leaf1
}

@test "a probe to a switch itself ends there" {
    prober h1 --dst spine2 --via spine2 --dst-port 2021
    wait_until 10 n_traces 'udp.dstport == 2021' 1
    [ "$(traces 'udp.dstport == 2021' | jq -r '[.hops[].name] | join(",")')" = leaf1,spine2 ]
}

@test "no application notices, though each probe arrives" {
    local udp tcp icmp n
    udp=$(host_counter h3 Udp InCsumErrors) tcp=$(host_counter h3 Tcp InCsumErrors)
    icmp=$(host_counter h3 Icmp InCsumErrors)
    prober h1 --dst h3 --dst-port $SERVER --count 20 --interval 1ms
    prober h1 --dst h3 --dst-port $SERVER --proto tcp --tcp-flags S --count 20 --interval 1ms
    prober h1 --dst h3 --proto icmp --count 20 --interval 1ms --via spine1
    all_arrived() {
        [ $(($(host_counter h3 Udp InCsumErrors) - udp)) = 20 ] && [ $(($(host_counter h3 Tcp InCsumErrors) - tcp)) = 20 ] &&
            [ $(($(host_counter h3 Icmp InCsumErrors) - icmp)) = 20 ]
    }
    wait_until 10 all_arrived
    [ "$(cat "$BATS_FILE_TMPDIR/server")" = ready ]
    # Would it be seen? With the right checksum it is.
    prober h1 --dst h3 --dst-port $SERVER --checksum right
    wait_until 10 grep -qx 'udp 32' "$BATS_FILE_TMPDIR/server"
    n=$(wc -l <"$BATS_FILE_TMPDIR/server")
    [ "$n" = 2 ]
}

@test "nor over IPv6" {
    [ -e /proc/sys/net/ipv6 ] || skip "this kernel has no IPv6"
    local udp tcp icmp before
    udp6_errors() { ip netns exec "ef-$FABRIC-h3" awk '$1 == "Udp6InCsumErrors" { print $2 }' /proc/net/snmp6; }
    icmp6_errors() { ip netns exec "ef-$FABRIC-h3" awk '$1 == "Icmp6InCsumErrors" { print $2 }' /proc/net/snmp6; }
    before=$(wc -l <"$BATS_FILE_TMPDIR/server")
    udp=$(udp6_errors) icmp=$(icmp6_errors) tcp=$(host_counter h3 Tcp InCsumErrors)
    prober h1 --dst h3 --src fd00::a01:b --via spine2 --dst-port $SERVER --count 20 --interval 1ms
    prober h1 --dst h3 --src fd00::a01:b --via spine2 --dst-port $SERVER --proto tcp --tcp-flags S --count 20 --interval 1ms
    prober h1 --dst h3 --src fd00::a01:b --via spine2 --proto icmp --count 20 --interval 1ms
    all_arrived() {
        [ $(($(udp6_errors) - udp)) = 20 ] && [ $(($(icmp6_errors) - icmp)) = 20 ] &&
            [ $(($(host_counter h3 Tcp InCsumErrors) - tcp)) = 20 ]
    }
    wait_until 20 all_arrived
    [ "$(wc -l <"$BATS_FILE_TMPDIR/server")" = "$before" ]
    prober h1 --dst h3 --src fd00::a01:b --via spine2 --dst-port $SERVER --checksum right
    one_more() { [ "$(wc -l <"$BATS_FILE_TMPDIR/server")" = $((before + 1)) ]; }
    wait_until 20 one_more
}

@test "a connection with the same addresses and ports goes on" {
    local client=$BATS_TEST_TMPDIR/client flags pid
    mkfifo "$BATS_TEST_TMPDIR/lines"
    ip netns exec "ef-$FABRIC-h1" "$EF_SOURCE/test/system/listening.py" client 45001 10.2.0.11 $SERVER \
        <"$BATS_TEST_TMPDIR/lines" >"$client" 2>&1 3>&- &
    pid=$!
    exec 4>"$BATS_TEST_TMPDIR/lines"
    wait_until 10 grep -q ready "$client"
    echo before >&4
    wait_until 10 grep -qx 'back before' "$client"
    for flags in S R F SA FPU A; do
        prober h1 --dst h3 --proto tcp --src-port 45001 --dst-port $SERVER --tcp-flags $flags --count 10 --interval 1ms
    done
    wait_until 10 n_traces "tcp.srcport == 45001 && tcp.len > 0" 60
    echo after >&4
    wait_until 10 grep -qx 'back after' "$client"
    exec 4>&-
    wait $pid
    [ "$(grep -c error "$BATS_FILE_TMPDIR/server")" = 0 ]
    [ "$(tail -n 4 "$BATS_FILE_TMPDIR/server" | tr '\n' ' ')" = "connected 45001 got before got after closed 45001 " ]
}

@test "a host that may not send probes is refused at the switch and counted" {
    local before
    before=$(statistic spine1 decap_refused)
    prober h2 --dst h3 --via spine1 --dst-port 2031 --count 7 --interval 1ms
    refused() { [ $(($(statistic spine1 decap_refused) - before)) = 7 ]; }
    wait_until 20 refused
    # The switch's CPU answers that it knows no GRE: that, too, is traced.
    wait_until 10 n_traces 'udp.dstport == 2031 && !icmp' 7
    [ "$(traces 'udp.dstport == 2031 && !icmp' | jq -r '.hops[-1] | "\(.name) \(.encapsulated)"' | sort -u)" = "spine1 true" ]
}

api() { curl -s "http://127.0.0.1:$PORT/v1/$1" "${@:2}"; }
order() { api probes -d "$1" | jq -r .id; }
state_is() { [ "$(api "probes/$1" | jq -r .state)" = "$2" ]; }
all_traced() { api "probes/$1" | jq -e '.state == "done" and .results.traced == .sent' >/dev/null; }

@test "probes that are ordered: their ways, fates, and the link's round trip" {
    local id
    id=$(order '{"packet": {"dst": "h2", "via": ["leaf1", "spine1", "leaf1"]}, "count": 40, "interval_ms": 5}')
    wait_until 20 all_traced "$id"
    api "probes/$id" >"$BATS_TEST_TMPDIR/result"
    cat "$BATS_TEST_TMPDIR/result"
    fits ProbeOrder "$BATS_TEST_TMPDIR/result"
    jq -e '.sent == 40 and .failed == 0 and .results.untraced == 0 and .results.loss == 0
           and .results.ways == [{switches: ["leaf1", "spine1", "leaf1"], probes: 40}]
           and (.results.traces | length) == 40' "$BATS_TEST_TMPDIR/result"
    # The round trip is what the two copies of leaf1 say, probe by probe.
    efctl trace --ndjson --limit 0 --condition trace.probe |
        jq -s --arg id "$id" 'def ns: split(".")[1] | rtrimstr("Z") | tonumber;
            [.[] | select(.probe.id == $id).hops | ((.[2].switch_time | ns) - (.[0].switch_time | ns) + 1000000000) % 1000000000]
            | sort | {n: length, min: (.[0] / 1000), max: (.[-1] / 1000)}' >"$BATS_TEST_TMPDIR/expected"
    jq -e --slurpfile e "$BATS_TEST_TMPDIR/expected" '.results.round_trips | length == 1 and .[0].from == "leaf1" and .[0].to == "spine1"
        and .[0].n == $e[0].n and (.[0].min_us - $e[0].min | fabs) < 0.001 and (.[0].max_us - $e[0].max | fabs) < 0.001
        and .[0].min_us <= .[0].floor_us and .[0].floor_us <= .[0].p50_us and .[0].noise_us >= 0 and .[0].p50_us <= .[0].p99_us' "$BATS_TEST_TMPDIR/result"
}

@test "efctl probe orders, waits and shows; list, show and stop" {
    local id
    run -0 efctl probe dst=h2 via=leaf1,spine2,leaf1 proto=tcp dst-port=443 --count 20 --interval 2ms
    [[ ${lines[0]} =~ ^probes\ ([0-9a-f]{16})\ by\ prober1:\ done,\ 20\ of\ 20\ sent$ ]]
    id=${BASH_REMATCH[1]}
    [ "${lines[1]}" = "20 traced, 20 delivered; loss 0 %" ]
    [[ $output == *"    20  leaf1 > spine2 > leaf1"* ]]
    [[ $output =~ leaf1\ \>\ spine2\ +20\ .*us ]]
    # The noise floor stands beside the floor, then the percentiles.
    [[ $output =~ LINK\ AND\ BACK\ +PROBES\ +FLOOR\ +\+-\ +LEAST\ +HALF\ +90\ %\ +99\ %\ +MOST ]]
    run -0 efctl probe show "$id" --json
    jq -e '.results.round_trips[0] | .noise_us >= 0 and .p50_us <= .p90_us and .p90_us <= .p99_us' <<<"$output"
    jq -e '.results.traced == 20 and .packet == {dst: "h2", via: "leaf1,spine2,leaf1", proto: "tcp", "dst-port": "443"}' <<<"$output"
    run -0 efctl probe list
    [[ $output == *"$id"*done* ]]
    run -1 efctl probe dst=192.0.2.1
    [[ $output == *refused*"neither a switch nor a host"* ]]
    run -0 efctl probe dst=h3 --count 1000 --no-wait
    [[ ${lines[0]} =~ ^probes\ ([0-9a-f]{16})\ by ]]
    run -0 efctl probe stop "${BASH_REMATCH[1]}"
    [[ ${lines[0]} == *": stopped, "* ]]
    run -1 --separate-stderr efctl probe show 12
    [ "$stderr" = "efctl: there are no probes '12'" ]
    run -2 --separate-stderr efctl probe
    [[ $stderr == *"what should be sent"* ]]
    run -2 --separate-stderr efctl probe =5
    [[ $stderr == *"is not a field like dst=h3"* ]]
}

@test "probes that do not arrive are counted as dropped" {
    local id
    # Nothing leads to a host of leaf2 from spine2 any more.
    demo_fabric "$FABRIC" exec spine2 -- ovs-ofctl -O OpenFlow15 add-flow br0 'table=1,priority=30000,ip,nw_dst=10.2.0.12,actions=drop'
    id=$(order '{"packet": {"dst": "h4", "via": "spine2"}, "count": 10, "interval_ms": 5}')
    wait_until 20 all_traced "$id"
    api "probes/$id" | jq -c .results
    api "probes/$id" | jq -e '.results.fates == {dropped: 10} and .results.loss == 1 and .results.ways[0].switches[-1] == "spine2"'
    demo_fabric "$FABRIC" exec spine2 -- ovs-ofctl -O OpenFlow15 --strict del-flows br0 'table=1,priority=30000,ip,nw_dst=10.2.0.12'
}

@test "orders are refused, stopped, expire, or wait for their prober" {
    local id pid directory
    directory=$(demo_directory "$FABRIC")
    id=$(order '{"packet": {"dst": "192.0.2.1"}}')
    wait_until 10 state_is "$id" refused
    api "probes/$id" | jq -e '.error | startswith("packet: dst: ")'
    id=$(order '{"packet": {"dst": "h3"}, "count": 5000, "interval_ms": 10}')
    wait_until 10 state_is "$id" running
    api "probes/$id" -X DELETE | jq -e '.state == "stopped"'
    stopped_there() { curl -s "http://127.0.0.1:$((PORT + 15))/v1/probes/$id" | jq -e '.state == "stopped" and .sent < 5000'; }
    wait_until 10 stopped_there
    [ "$(api probes -d '{"packet": {"dst": "h3"}, "prober": "other"}' | jq -r .error.code)" = no_prober ]
    [ "$(api probes -d '{"packet": {"dst": "h3"}, "cont": 1}' | jq -r .error.message)" = "cont: unknown; did you mean count?" ]
    [ "$(api probes/12 | jq -r .error.code)" = no_probes ]
    demo_kill "$directory/prober1.pid"
    id=$(order '{"packet": {"dst": "h3"}, "expires_s": 1}')
    wait_until 10 state_is "$id" expired
    api "probes/$id" | jq -e '.error | contains("is ef-prober running?")'
    id=$(order '{"packet": {"dst": "h3"}}')
    state_is "$id" queued
    demo_daemon "$FABRIC" prober1 guided-prober/ef-prober --topology "$(demo_topology "$FABRIC")" --sink "ip@ef-$FABRIC-h1" \
        --http "127.0.0.1:$((PORT + 15))"
    wait_until 10 all_traced "$id"
}

@test "a frame of one's own is sent as it is" {
    local mac
    mac=$(jq -r '.switches[] | select(.name == "leaf1").mac' "$(demo_topology "$FABRIC")")
    prober h1 --sink "packet:eth0@ef-$FABRIC-h1" --eth-src 02:00:00:00:00:99 --eth-dst "$mac" --dst h3 --dst-port 2041
    wait_until 10 n_traces 'udp.dstport == 2041' 1
    traces 'udp.dstport == 2041' | jq -e '.hops[0].src_mac == "02:00:00:00:00:99" and .hops[-1].name == "leaf2"'
}

@test "tshark reads the same in a capture as was asked for" {
    cd "$BATS_TEST_TMPDIR"
    prober h1 --dst h4 --via leaf1,spine1 --proto tcp --tcp-flags SE --ttl 9 --dscp 8 --ip-id 100 --count 3 --pcap out.pcap
    run -0 --separate-stderr tshark -r out.pcap -o tcp.check_checksum:TRUE -T fields -E occurrence=a -E separator=\; \
        -e ip.dst -e ip.ttl -e ip.dsfield.dscp -e tcp.flags -e ip.id -e tcp.seq_raw -e tcp.checksum.status
    [ "${#lines[@]}" = 3 ]
    [ "${lines[0]}" = "10.255.0.1,10.255.1.1,10.2.0.12;41,25,9;10,10,10;0x0042;0x0001,0x0001,0x0064;1;0" ]
    [ "${lines[2]}" = "10.255.0.1,10.255.1.1,10.2.0.12;41,25,9;10,10,10;0x0042;0x0001,0x0001,0x0066;3;0" ]
    [ -z "$(tshark -r out.pcap -Y '_ws.malformed || ip.checksum.status == Bad' -o ip.check_checksum:TRUE 2>/dev/null)" ]
    prober h1 --dst h4 --vlan 0x88a8:7.5 --vlan 8 --src fd00::a01:b --proto icmp --pcap vlan.pcap
    run -0 --separate-stderr tshark -r vlan.pcap -T fields -e ieee8021ad.id -e vlan.id -e icmpv6.type -e ipv6.dst
    [ "${lines[0]}" = $'7\t8\t128\tfd00::a02:c' ]
}

@test "explain shows every byte once" {
    prober h1 --dst h3 --via leaf1,spine1 --payload c0ffee --explain >"$BATS_TEST_TMPDIR/shown"
    [ "$(grep '^  ' "$BATS_TEST_TMPDIR/shown" | cut -c8-31 | tr -s ' ' '\n' | grep -cx '[0-9a-f][0-9a-f]')" = 111 ]
    grep -q 'probe id' "$BATS_TEST_TMPDIR/shown"
    grep -qx 'The checksum is wrong: no server gets this packet.' "$BATS_TEST_TMPDIR/shown"
}

@test "what is outside of the topology or the limits is refused" {
    run -2 --separate-stderr prober h1 --dst 192.0.2.1
    [[ $stderr == "ef-prober: dst: '192.0.2.1' is neither a switch nor a host of the topology"* ]]
    run -2 --separate-stderr prober h1 --dst h3 --via leaf3
    [[ $stderr == *"did you mean leaf"* ]]
    run -2 --separate-stderr prober h1 --dst h3 --count 10001
    [ "$stderr" = "ef-prober: 10001 probes are more than the 10000 of --total-limit" ]
    run -2 --separate-stderr prober h1 --dst h3 --interval 100us
    [[ $stderr == *"shorter than --rate-limit 1000 a second allows"* ]]
    run -2 --separate-stderr prober h1
    [ "$stderr" = "ef-prober: dst is required: a switch or host of the topology" ]
    run -2 --separate-stderr "$EF_BUILD/guided-prober/ef-prober" --dst h3
    [[ $stderr == *"--topology is required"* ]]
    run -1 --separate-stderr prober h1 --dst h3 --length 9500
    [[ $stderr == *"1 probes were not sent (larger than the link's MTU)"* ]]
}
