#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The accounts of all copies close, to the last one: what the switches made, the
# reshuffler received and lost, and the analyzers assembled, against the truth
# that ef-replay writes.
#
#   switches s0 --- r0 reshuffler r1 --- a0 analyzer 1
#                                 r2 --- a0 analyzer 2

load common
bats_require_minimum_version 1.5.0

VIP=10.255.255.1
RESHUFFLER=http://127.0.0.1:18861

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    export NS=ef-ac$$
    local i
    for i in s r a1 a2; do
        ip netns add "$NS-$i"
        ip -n "$NS-$i" link set lo up
    done
    ip -n "$NS-r" link add r0 type veth peer name s0 netns "$NS-s"
    ip -n "$NS-s" address add 10.99.0.2/24 dev s0
    ip -n "$NS-s" link set s0 up
    ip -n "$NS-r" address add 10.99.0.1/24 dev r0
    ip -n "$NS-r" link set r0 up
    ip -n "$NS-s" route add $VIP via 10.99.0.1
    for i in 1 2; do
        ip -n "$NS-r" link add "r$i" type veth peer name a0 netns "$NS-a$i"
        ip -n "$NS-r" address add "10.99.$i.1/24" dev "r$i"
        ip -n "$NS-r" link set "r$i" up
        ip -n "$NS-a$i" address add "10.99.$i.2/24" dev a0
        ip -n "$NS-a$i" link set a0 up
    done
    cd "$BATS_FILE_TMPDIR" || return
    for i in 1 2; do
        "$EF_BUILD/analyzer/ef-analyzer" --name "analyzer$i" --source "afpacket:a0@$NS-a$i" --memory 64M \
            --http "127.0.0.1:1886$((i + 1))" >"analyzer$i.log" 2>&1 3>&- &
        echo $! >>pids
    done
    "$EF_BUILD/reshuffler/ef-reshuffler" --vip $VIP --source "afpacket:r0@$NS-r" --sink "ip@$NS-r" \
        --analyzer analyzer1=10.99.1.2 --analyzer analyzer2=10.99.2.2 --http 127.0.0.1:18861 >reshuffler.log 2>&1 3>&- &
    echo $! >>pids
    for i in 1 2 3; do
        wait_until 10 curl -sf -o /dev/null "http://127.0.0.1:1886$i/v1/status"
    done
    "$EF_BUILD/utilities/replay/ef-replay" --packets 20000 --rate 20000 --width 2 --reorder 10ms --lost 1% \
        --duplicated 1% --loops 0.1% --drops 0.1% --sink "ip@$NS-s" --truth truth
    wait_until 20 all_there
}

teardown_file() {
    local i
    while read -r i; do
        kill "$i"
    done <"$BATS_FILE_TMPDIR/pids"
    for i in s r a1 a2; do
        ip netns delete "$NS-$i" 2>/dev/null || :
    done
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    cd "$BATS_TEST_TMPDIR" || return
    CONTROLLER=
}

teardown() {
    [ -z "$CONTROLLER" ] || kill "$CONTROLLER" || :
}

# Nothing is on its way any more, and no trace is open.
all_there() {
    local arrived
    arrived=$(jq 'select(.end).copies.arrived' "$BATS_FILE_TMPDIR/truth")
    {
        curl -sf $RESHUFFLER/v1/status
        curl -sf http://127.0.0.1:18862/v1/status
        curl -sf http://127.0.0.1:18863/v1/status
    } >"$BATS_FILE_TMPDIR/statuses"
    jq -se --argjson arrived "$arrived" '.[0].copies_received == $arrived
        and .[1].copies_received + .[2].copies_received == .[0].copies_sent
        and .[1].traces_open + .[2].traces_open == 0' "$BATS_FILE_TMPDIR/statuses" >/dev/null
}

@test "of each switch: copies made = received + lost, as the truth says" {
    jq -c 'select(.role == "reshuffler").switches | to_entries[] | {key} + .value | select(.made != .received + .lost)' \
        "$BATS_FILE_TMPDIR/statuses" >"$BATS_TEST_TMPDIR/unbalanced"
    [ ! -s "$BATS_TEST_TMPDIR/unbalanced" ]
    # A copy that is lost behind the last that came, no sequence number shows.
    jq -s -c --slurpfile truth "$BATS_FILE_TMPDIR/truth" '$truth[-1].switches as $is | .[0].switches as $said
        | ($is | keys[]) as $k | {k: $k, is: $is[$k], said: $said[$k]}
        | select(.said.received != .is.made - .is.lost or .said.duplicates != .is.duplicated or .said.late != 0
                 or .said.copies != .is.arrived or .said.made > .is.made or .said.made < .is.made - 2)' \
        "$BATS_FILE_TMPDIR/statuses" >"$BATS_TEST_TMPDIR/wrong"
    cat "$BATS_TEST_TMPDIR/wrong"
    [ ! -s "$BATS_TEST_TMPDIR/wrong" ]
    jq -se '.[0].switches | length == 10 and ([.[].lost] | add) > 500' "$BATS_FILE_TMPDIR/statuses"
}

@test "of each daemon: received = passed on + discarded by reason" {
    jq -se '.[0] | .copies_received == .copies_sent + ([.drops[]] | add)' "$BATS_FILE_TMPDIR/statuses"
    jq -se '.[1:][] | .copies_received == .copies_assembled + ([.drops[]] | add)' "$BATS_FILE_TMPDIR/statuses"
}

@test "every packet of which a copy arrived has a trace" {
    local n
    n=$(jq -n '[inputs | select(.packet and (.path | length) == (.lost | length))] | length' "$BATS_FILE_TMPDIR/truth")
    jq -se --argjson n "$n" '([.[1:][].traces_closed] | add) == 20000 - $n' "$BATS_FILE_TMPDIR/statuses"
}

@test "metrics say the same" {
    curl -sf $RESHUFFLER/metrics >"$BATS_TEST_TMPDIR/metrics"
    local key metric
    for key in made lost duplicates; do
        case $key in
            made) metric=everflow_switch_copies_made_total ;;
            lost) metric=everflow_switch_copies_lost ;;
            *) metric=everflow_switch_copies_duplicate_total ;;
        esac
        [ "$(awk -v m=$metric 'index($1, m "{") == 1 {n += $2} END {print n}' "$BATS_TEST_TMPDIR/metrics")" = \
            "$(jq -s "[.[0].switches[].$key] | add" "$BATS_FILE_TMPDIR/statuses")" ]
    done
}

# metric FILE NAME: the sum of all its values.
metric() { awk -v m="$2" '$1 == m || index($1, m "{") == 1 {n += $2} END {print n + 0}' "$1"; }

@test "of each analyzer, metrics say the same, and each name once" {
    local i
    for i in 1 2; do
        curl -sf http://127.0.0.1:1886$((i + 1))/metrics >metrics
        jq -s ".[$i]" "$BATS_FILE_TMPDIR/statuses" >status
        [ "$(metric metrics everflow_copies_received_total)" = "$(jq .copies_received status)" ]
        [ "$(metric metrics everflow_copies_assembled_total)" = "$(jq .copies_assembled status)" ]
        [ "$(metric metrics everflow_drops_total)" = "$(jq '[.drops[]] | add' status)" ]
        [ "$(metric metrics everflow_switch_copies_total)" = "$(jq '[.switches[].copies] | add' status)" ]
        [ "$(metric metrics everflow_switch_copies_total)" = "$(jq '.copies_received - ([.drops
            | .not_a_copy, .outer_fragment, .outer_truncated, .outer_checksum, .bad_gre, .bad_erspan, .inner_malformed, .source_overflow]
            | add)' status)" ]
        [ -z "$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' metrics | sort | uniq -d)" ]
    done
}

@test "efctl status says it of all daemons, to the last copy" {
    jq -n '{listen: "127.0.0.1:18864", topology: "topology.json",
        reshufflers: [{name: "reshuffler", url: "http://127.0.0.1:18861"}],
        analyzers: [{name: "analyzer1", url: "http://127.0.0.1:18862"}, {name: "analyzer2", url: "http://127.0.0.1:18863"}],
        everflow: {targets: ["10.255.255.1"], encap: "erspan3", classes: ["tcp_syn"]}}' >controller.json
    echo '{"name": "none", "vip": "10.255.255.1", "switches": [], "hosts": []}' >topology.json
    "$EF_BUILD/controller/ef-controller" --config controller.json >controller.log 2>&1 3>&- &
    CONTROLLER=$!
    asks_all() {
        "$EF_BUILD/utilities/efctl/efctl" --controller http://127.0.0.1:18864 status --json >all &&
            jq -e '[.analyzers[], .reshufflers[] | .state] == ["up", "up", "up"]' all >/dev/null
    }
    wait_until 10 asks_all
    jq -e --argjson arrived "$(jq 'select(.end).copies.arrived' "$BATS_FILE_TMPDIR/truth")" '
        .reshufflers[0].copies_received == $arrived
        and .reshufflers[0].copies_received == .reshufflers[0].copies_sent + ([.reshufflers[0].drops[]] | add)
        and ([.analyzers[].copies_received] | add) == .reshufflers[0].copies_sent
        and ([.analyzers[].copies_assembled] | add) + ([.analyzers[].drops[]] | add) == .reshufflers[0].copies_sent' all
    run -0 "$EF_BUILD/utilities/efctl/efctl" --controller http://127.0.0.1:18864 status
    local copies
    for copies in $(jq '.analyzers[].copies_received, .reshufflers[0].copies_received' all); do
        [[ "$output" == *" $(sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta' <<<"$copies") "* ]]
    done
}

@test "the status fits the schema" {
    jq -s '.[0]' "$BATS_FILE_TMPDIR/statuses" >"$BATS_TEST_TMPDIR/status"
    fits ReshufflerStatus "$BATS_TEST_TMPDIR/status"
}

@test "a switch that restarts begins a new account" {
    "$EF_BUILD/utilities/replay/ef-replay" --packets 2000 --rate 20000 --width 2 --sink "ip@$NS-s"
    restarted() {
        curl -sf $RESHUFFLER/v1/status |
            jq -e '[.switches[].restarts] | add == 10' >/dev/null
    }
    wait_until 10 restarted
}
