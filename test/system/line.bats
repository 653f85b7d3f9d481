#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Packets of all kinds through three switches in a row: all three copy the same
# ones, number their copies without a gap, and forward every packet as they do
# without Everflow.
#
# EF_LINE_PACKETS is how many (default 1000000: about a minute). "Without
# Everflow" is an unpatched Open vSwitch if there is one, in EF_STOCK_OVS_PREFIX
# (default: where ovs-patches/check-upstream makes it), else the patched one, off.

load common
load line

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    export LINE=ef-li$$ LINE_DIR=$BATS_FILE_TMPDIR LINE_N=3
    export STOCK=${EF_STOCK_OVS_PREFIX:-$EF_BUILD/ovs-stock/install}
    [ -x "$STOCK/sbin/ovs-vswitchd" ] || STOCK=$EF_OVS_PREFIX
    export CROSS=$EF_BUILD/test/tools/cross_switches PACKETS=${EF_LINE_PACKETS:-1000000}
    make -C "$EF_BUILD" test/tools/cross_switches >/dev/null
    line_begin
}

teardown_file() {
    [ "$(id -u)" = 0 ] || return 0
    line_end
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

# Routers, but that none drops what is about to expire: every packet crosses all.
line_flows() {
    local ip ttl
    for ip in ip ipv6; do
        for ttl in 0 1; do
            echo "priority=20,in_port=1,$ip,nw_ttl=$ttl,actions=output:2"
        done
        echo "priority=10,in_port=1,$ip,actions=dec_ttl,mod_dl_src:02:00:00:00:0$1:00,mod_dl_dst:02:00:00:00:0$(($1 + 1)):00,output:2"
    done
    echo "priority=0,in_port=1,actions=output:2"
    echo "in_port=LOCAL,ip,nw_dst=10.255.255.1,actions=output:3"
}

cross() { # NOTES
    mkdir -p "$BATS_FILE_TMPDIR/$1"
    "$CROSS" --count "$PACKETS" --seed 20261121 --notes "$BATS_FILE_TMPDIR/$1" \
        "in@$LINE-t" "out@$LINE-t" "c1@$LINE-t" "c2@$LINE-t" "c3@$LINE-t" >"$BATS_FILE_TMPDIR/$1/result"
    cat "$BATS_FILE_TMPDIR/$1/result"
}

result() { jq "$2" "$BATS_FILE_TMPDIR/$1/result"; }

# Every class, a sample, and a hundred rules, three of which match something.
everflow_on() { # SWITCH
    local rules=() ids= n
    rules+=(-- --id=@a create Everflow_Rule 'match="udp,tp_dst=5201"')
    rules+=(-- --id=@b create Everflow_Rule 'match="arp"')
    rules+=(-- --id=@c create Everflow_Rule 'match="in_port=1,icmp6"')
    ids=@a,@b,@c
    for ((n = 0; n < 97; n++)); do
        rules+=(-- "--id=@r$n" create Everflow_Rule "match=\"tcp,tp_dst=$((20000 + n))\"")
        ids+=,@r$n
    done
    line_everflow "$1" classes=tcp_syn,tcp_fin,tcp_rst,debug,bgp,pfc,rdma_nack,cnp sample_bits=4 sample_value=9
    line_switch "$1" ovs-vsctl "${rules[@]}" -- set Everflow . "rules=$ids" >/dev/null
}

@test "without Everflow: no packet is lost on the way, none is copied" {
    local i
    for i in 1 2 3; do
        LINE_OVS=$STOCK line_start "$i"
    done
    echo "Open vSwitch of $STOCK"
    cross without
    [ "$(result without '.sent == .forwarded and .kernel_drops == 0 and .forwarded_again == 0 and .foreign == 0')" = true ]
    [ "$(result without '[.switches[].copies] | add')" = 0 ]
}

@test "with every class, a sample and 100 rules: no packet is lost on the way" {
    local i
    for i in 1 2 3; do
        line_stop "$i"
        line_start "$i"
        everflow_on "$i"
    done
    cross with
    [ "$(result with '.sent == .forwarded and .kernel_drops == 0 and .forwarded_again == 0 and .foreign == 0')" = true ]
    for i in 1 2 3; do
        line_switch "$i" ovs-appctl everflow/show >"$BATS_FILE_TMPDIR/with/show.$i"
    done
}

@test "every packet is forwarded, to the byte, as without Everflow" {
    cmp "$BATS_FILE_TMPDIR/without/forwarded" "$BATS_FILE_TMPDIR/with/forwarded"
}

@test "the three switches copied the same packets, each once" {
    local n
    cmp "$BATS_FILE_TMPDIR/with/copies.1" "$BATS_FILE_TMPDIR/with/copies.2"
    cmp "$BATS_FILE_TMPDIR/with/copies.1" "$BATS_FILE_TMPDIR/with/copies.3"
    [ "$(result with '[.switches[] | .copied_twice + .foreign] | add')" = 0 ]
    n=$(result with '.switches[0].copies')
    [ "$n" -gt $((PACKETS / 10)) ]
    [ "$n" -lt $((PACKETS * 9 / 10)) ]
}

@test "copies hold what came in; only a router's work differs" {
    [ "$(result with '[.switches[].altered] | add')" = 0 ]
}

@test "sequence numbers begin at 0 and have neither gap nor repetition" {
    [ "$(result with '[.switches[] | .first_sequence + .sequence_missing + .sequence_repeated] | add')" = 0 ]
}

@test "every class, the sample and the rules took part, equally on all switches" {
    local i key
    for key in tcp_syn tcp_fin tcp_rst debug bgp pfc rdma_nack cnp; do
        grep -E "^class_$key: [1-9]" "$BATS_FILE_TMPDIR/with/show.1"
    done
    for key in sampled rules skipped_copy_of_copy parse_short; do
        grep -E "^$key: [1-9]" "$BATS_FILE_TMPDIR/with/show.1"
    done
    for i in 1 2 3; do
        grep -E '^(class_|sampled|rules|skipped|parse|rx_packets|copies|copy_bytes|suppressed)' "$BATS_FILE_TMPDIR/with/show.$i" \
            >"$BATS_TEST_TMPDIR/counters.$i"
    done
    diff "$BATS_TEST_TMPDIR/counters.1" "$BATS_TEST_TMPDIR/counters.2"
    diff "$BATS_TEST_TMPDIR/counters.1" "$BATS_TEST_TMPDIR/counters.3"
    [ "$(sed -n 's/^copies: //p' "$BATS_FILE_TMPDIR/with/show.1")" = "$(result with '.switches[0].copies')" ]
}
