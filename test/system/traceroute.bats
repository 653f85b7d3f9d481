#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Everflow's ttl_exceeded with the real traceroute, over three real switches
# whose flow tables route and decrement the TTL.
# shellcheck disable=SC2030,SC2031,SC2154 # run sets output.

load common
bats_require_minimum_version 1.5.0

FABRIC=tracert

setup_file() {
    demo_programs
    demo_fabric "$FABRIC" down >&2 || :
    demo_fabric "$FABRIC" up --spines 1 --leaves 2 --hosts-per-leaf 1 >&2
    demo_fabric "$FABRIC" topology --json >"$BATS_FILE_TMPDIR/topology.json"
    local name
    for name in $(switches); do
        # The fabric's own flows for them give expired packets to the kernel.
        at "$name" ovs-ofctl -O OpenFlow15 --strict del-flows br0 table=0,priority=200,ip,nw_ttl=0
        at "$name" ovs-ofctl -O OpenFlow15 --strict del-flows br0 table=0,priority=200,ip,nw_ttl=1
        at "$name" ovs-ofctl -O OpenFlow15 --strict del-flows br0 table=0,priority=200,ipv6,nw_ttl=0
        at "$name" ovs-ofctl -O OpenFlow15 --strict del-flows br0 table=0,priority=200,ipv6,nw_ttl=1
        at "$name" ovs-vsctl -- --id=@e create Everflow targets=10.255.255.1 \
            "source_ip=$(loopback "$name"),\"$(loopback6 "$name")\"" \
            -- set Open_vSwitch . everflow=@e >/dev/null
    done
}

teardown_file() {
    demo_fabric "$FABRIC" down >&2
}

topology() { jq -r "$@" "$BATS_FILE_TMPDIR/topology.json"; }
switches() { topology '.switches[].name'; }
loopback() { topology --arg n "$1" '.switches[] | select(.name == $n).loopback'; }
loopback6() { topology --arg n "$1" '.switches[] | select(.name == $n).loopback6'; }
at() { demo_fabric "$FABRIC" exec "$1" -- "${@:2}"; }
host() { topology --arg n "$1" ".hosts[] | select(.name == \$n).$2"; }

# set_everflow COLUMN=VALUE...: on all switches.
set_everflow() {
    local name
    for name in $(switches); do
        at "$name" ovs-vsctl set Everflow . "$@"
    done
}

statistic() { # SWITCH KEY
    at "$1" ovs-appctl everflow/show | awk -F': ' -v key="$2" '$1 == key { print $2 }'
}

# path ARGUMENT...: what traceroute sees from h1, one address or * for each hop.
path() {
    at h1 timeout 60 traceroute -n -q 1 -w 2 "$@" | awk 'NR > 1 { print $2 }' | paste -sd' '
}

# The addresses from h1 to h2, of the given fields.
expected() { # OF_SWITCH OF_HOST
    echo "$($1 leaf1) $($1 spine1) $($1 leaf2) $(host h2 "$2")"
}

@test "without ttl_exceeded the switches are silent" {
    [ "$(path "$(host h2 address)")" = "* * * $(host h2 address)" ]
    [ "$(path -6 "$(host h2 address6)")" = "* * * $(host h2 address6)" ]
    [ -z "$(statistic leaf1 ttl_exceeded_sent)" ]
}

@test "with it, traceroute shows every switch by its loopback address" {
    set_everflow ttl_exceeded=true
    [ "$(path "$(host h2 address)")" = "$(expected loopback address)" ]
    [ "$(path -6 "$(host h2 address6)")" = "$(expected loopback6 address6)" ]
    [ "$(statistic leaf1 ttl_exceeded_sent)" = 2 ]
    [ "$(statistic spine1 ttl_exceeded_sent)" = 2 ]
    [ "$(statistic leaf2 ttl_exceeded_sent)" = 2 ]
}

@test "the same with probes of ICMP and TCP, and several for each hop" {
    set_everflow ttl_exceeded=true
    [ "$(path -I "$(host h2 address)")" = "$(expected loopback address)" ]
    [ "$(path -6 -I "$(host h2 address6)")" = "$(expected loopback6 address6)" ]
    [ "$(path -T -p 80 "$(host h2 address)")" = "$(expected loopback address)" ]
    [ "$(path -6 -T -p 80 "$(host h2 address6)")" = "$(expected loopback6 address6)" ]
    # All of the switches' answers; a host's kernel has a rate of its own.
    run -0 at h1 timeout 60 traceroute -n -q 3 -w 2 -m 3 "$(host h2 address)"
    echo "$output"
    [[ ${#lines[@]} = 4 && $output != *'*'* ]]
}

@test "more than the rate is not answered, and counted" {
    set_everflow ttl_exceeded=true ttl_exceeded_rate=1
    local i
    for i in 1 2 3; do
        at h1 timeout 60 traceroute -n -q 10 -N 10 -f 1 -m 1 -w 1 "$(host h2 address)" >/dev/null
    done
    [ "$(statistic leaf1 ttl_exceeded_limited)" -ge 10 ]
    [ "$(statistic leaf1 ttl_exceeded_sent)" -ge 10 ]
    set_everflow ttl_exceeded=false ttl_exceeded_rate=100
    [ "$(path "$(host h2 address)")" = "* * * $(host h2 address)" ]
}
