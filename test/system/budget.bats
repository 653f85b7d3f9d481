#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A switch that is to copy ten times as much as its budget allows: it forwards
# everything, and copies exactly what the budget allows.

load common
load line

RATE_KPPS=2
BURST=1000
PACKETS=250000 # Nine in ten of them are IP.

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    export LINE=ef-bu$$ LINE_DIR=$BATS_FILE_TMPDIR LINE_N=1
    make -C "$EF_BUILD" test/tools/cross_switches >/dev/null
    line_begin
    line_start 1
    line_everflow 1 rate_kpps=$RATE_KPPS burst=$BURST
    line_switch 1 ovs-vsctl -- --id=@a create Everflow_Rule match=ip -- --id=@b create Everflow_Rule match=ipv6 \
        -- set Everflow . rules=@a,@b >/dev/null
    "$EF_BUILD/test/tools/cross_switches" --count $PACKETS --rate $((RATE_KPPS * 12500)) --notes "$LINE_DIR" \
        "in@$LINE-t" "out@$LINE-t" "c1@$LINE-t" >"$LINE_DIR/result"
    line_switch 1 ovs-appctl everflow/show >"$LINE_DIR/show"
}

teardown_file() {
    [ "$(id -u)" = 0 ] || return 0
    line_end
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    cat "$BATS_FILE_TMPDIR/result"
}

line_flows() {
    echo "in_port=1,actions=output:2"
    echo "in_port=LOCAL,ip,nw_dst=10.255.255.1,actions=output:3"
}

count() { sed -n "s/^$1: //p" "$BATS_FILE_TMPDIR/show"; }

@test "everything is forwarded, once" {
    jq -e ".sent == $PACKETS and .forwarded == .sent and .forwarded_again == 0 and .foreign == 0 and .kernel_drops == 0" \
        "$BATS_FILE_TMPDIR/result"
}

@test "far more was to be copied than the budget allows" {
    [ "$(count rules)" -gt $((PACKETS / 2)) ]
    [ $(($(count copies) + $(count suppressed))) -eq "$(count rules)" ]
    [ "$(count suppressed)" -gt $((3 * $(count copies))) ]
    [ "$(count suppressed_rules)" = "$(count suppressed)" ]
}

# The bucket was full when the first copy was made, and never again: then the
# copies are the burst and what came up until the last one, by the clock in them.
@test "the budget is kept within 2 %, by the switch's own clock" {
    jq -e --argjson rate $((RATE_KPPS * 1000)) --argjson burst $BURST '.switches[0]
        | (.copies - $burst) / (.switch_seconds * $rate) | debug | . > 0.98 and . < 1.02' "$BATS_FILE_TMPDIR/result"
}

@test "what arrived is what the switch says it sent, without a gap" {
    jq -e --argjson copies "$(count copies)" \
        '.switches[0] | .copies == $copies and .sequence_missing == 0 and .sequence_repeated == 0 and .altered == 0' \
        "$BATS_FILE_TMPDIR/result"
}
