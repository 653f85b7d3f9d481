#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Faults under live traffic: a sender that stands for the switches, a reshuffler,
# three analyzers, each in a namespace of its own. Whatever is killed, hangs or
# loses its link: nobody else crashes, copies flow again soon, and what was lost
# is counted by somebody. Each test prints how long it took.
#
#   switches s0 --- r0 reshuffler r1 --- a0 analyzer 1
#                                 r2, r3 ... analyzers 2, 3
#
# shellcheck disable=SC2030,SC2031

load jq

VIP=10.255.255.1
MAC=02:00:00:00:00:10

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    : "${EF_BUILD:?the build directory}" "${EF_SOURCE:?the source directory}"
    export D NS=ef-fl$$
    D=$(mktemp -d)
    local i
    for i in s r a1 a2 a3; do
        ip netns add "$NS-$i"
        ip -n "$NS-$i" link set lo up
    done
    ip -n "$NS-r" link add r0 address "$MAC" type veth peer name s0 netns "$NS-s"
    ip -n "$NS-s" link set s0 up
    ip -n "$NS-r" address add "$VIP/32" dev r0
    ip -n "$NS-r" link set r0 up
    for i in 1 2 3; do
        ip -n "$NS-r" link add "r$i" type veth peer name a0 netns "$NS-a$i"
        ip -n "$NS-r" address add "10.99.$i.1/24" dev "r$i"
        ip -n "$NS-r" link set "r$i" up
        ip -n "$NS-a$i" address add "10.99.$i.2/24" dev a0
        ip -n "$NS-a$i" link set a0 up
        until_true ip netns exec "$NS-r" ping -nqc 1 -W 1 "10.99.$i.2"
    done
    "$EF_BUILD/test/tools/make_copies" "$D/in.pcap" "$VIP" 300 2 2 >"$D/n"
}

teardown_file() {
    local i
    for i in s r a1 a2 a3; do
        ip netns delete "$NS-$i" 2>/dev/null || :
    done
    rm -rf "$D"
}

setup() {
    BACKGROUND=()
    [ "$(id -u)" = 0 ] || skip "needs root"
    local i
    for i in 1 2 3; do
        start_analyzer "$i"
    done
    start_reshuffler
}

teardown() {
    local pid
    [ -z "${D:-}" ] || tail -n 30 "$D"/*.log 2>/dev/null || :
    for pid in "${BACKGROUND[@]}"; do
        kill -CONT "$pid" 2>/dev/null || :
        kill -KILL "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
}

# --- Helpers -----------------------------------------------------------------

# Waits until the command succeeds, at most 20 s.
until_true() {
    local end=$((SECONDS + 20))
    until "$@" >/dev/null; do
        [ $SECONDS -lt $end ] || { echo "waited in vain for: $*"; return 1; }
        read -rt 0.02 <> <(:) || :
    done
}

# within_10_s NAME COMMAND...: waits for the command, tells how long it took.
# 2 s are meant; on a busy machine 10 s may pass.
within_10_s() {
    local name=$1 start
    shift
    start=$(date +%s%N)
    until_true "$@"
    local ms=$((($(date +%s%N) - start) / 1000000))
    echo "# $name: $ms ms" >&3
    [ "$ms" -lt 10000 ]
}

start_analyzer() { # NUMBER
    "$EF_BUILD/analyzer/ef-analyzer" --name "a$1" --source "afpacket:a0@$NS-a$1" --memory 64M \
        --http "unix:$D/a$1" >>"$D/a$1.log" 2>&1 3>&- 4>&- &
    ANALYZERS[$1]=$!
    BACKGROUND+=("$!")
    until_true get "a$1" health
}

start_reshuffler() { # ARGUMENT...
    local i analyzers=()
    for i in 1 2 3; do
        analyzers+=(--analyzer "a$i=10.99.$i.2,url=unix:$D/a$i")
    done
    "$EF_BUILD/reshuffler/ef-reshuffler" --vip "$VIP" --source "afpacket:r0@$NS-r" --sink "ip@$NS-r" \
        --http "unix:$D/r" "${analyzers[@]}" "$@" >>"$D/r.log" 2>&1 3>&- 4>&- &
    RESHUFFLER=$!
    BACKGROUND+=("$!")
    until_true get r status
    until_true is '[.analyzers[].health.answered] == [true, true, true]'
}

get() { # DAEMON WHAT
    curl -sf -m 2 --unix-socket "$D/$1" "http://localhost/v1/$2"
}

is() { # JQ_CONDITION, of the reshuffler
    get r status | jq -e "$1"
}

state_is() { # ANALYZER STATE
    is ".analyzers[$1 - 1].state == \"$2\""
}

copies_at() { # ANALYZER
    get "a$1" status | jq .copies_received
}

# More copies than before reach the analyzer.
gets_more() { # ANALYZER THAN
    [ "$(copies_at "$1")" -gt "$2" ]
}

ADDS_UP='.copies_received == .copies_sent + ([.drops[]] | add)'

# Live traffic, some thousand copies a second, until end_traffic.
start_traffic() {
    "$EF_BUILD/test/tools/send_frames" --to "$MAC" --rate 3000 --loop 1000000 "$D/in.pcap" "s0@$NS-s" \
        >"$D/sent" 3>&- 4>&- &
    TRAFFIC=$!
    BACKGROUND+=("$!")
    local i
    for i in 1 2 3; do
        until_true gets_more "$i" 100
    done
}

end_traffic() {
    kill "$TRAFFIC"
    wait "$TRAFFIC" 2>/dev/null || :
}

is_settled() {
    local before after
    before=$(get r status | jq .copies_received)
    read -rt 0.2 <> <(:) || :
    after=$(get r status | jq .copies_received)
    [ "$before" = "$after" ]
}

received_by() { # ANALYZER...
    local i sum=0
    for i; do
        sum=$((sum + $(get "a$i" status | jq .copies_received)))
    done
    echo "$sum"
}

# --- Analyzers ----------------------------------------------------------------

@test "an analyzer that is killed loses its share to the others, and takes it back" {
    start_traffic
    kill -KILL "${ANALYZERS[2]}"
    within_10_s "killed analyzer noticed" state_is 2 down
    local before
    before=$(copies_at 1)
    within_10_s "its copies are elsewhere" is '.redirected.down > 100'
    gets_more 1 "$before"
    grep -q 'analyzer a2 is down: ' "$D/r.log"
    start_analyzer 2
    within_10_s "restarted analyzer is back" state_is 2 up
    within_10_s "and gets copies" gets_more 2 100
    end_traffic
    until_true is_settled
    is "$ADDS_UP and .drops.send_failed == 0 and .copies_sent == ([.analyzers[].copies] | add)"
    # The others have got all that was meant for them, to the last.
    for i in 1 3; do
        until_true eval "[ \$(received_by $i) -eq \$(get r status | jq '.analyzers[$i - 1].copies') ]"
    done
    # Of the killed one's, what came while it was away is the difference.
    echo "# sent to the dead: $(($(get r status | jq '.analyzers[1].copies') - $(received_by 2))), what it had received died with it" >&3
    kill -0 "$RESHUFFLER"
}

@test "an analyzer that hangs is left out until it answers again" {
    start_traffic
    kill -STOP "${ANALYZERS[1]}"
    within_10_s "hung analyzer noticed" state_is 1 down
    within_10_s "its copies are elsewhere" is '.redirected.down > 100'
    local before
    before=$(get r status | jq '.analyzers[0].copies')
    until_true is ".copies_sent > $(get r status | jq .copies_sent) + 1000"
    is ".analyzers[0].copies == $before"
    kill -CONT "${ANALYZERS[1]}"
    within_10_s "it is back" state_is 1 up
    within_10_s "and gets copies" is ".analyzers[0].copies > $before"
    end_traffic
    until_true is_settled
    is "$ADDS_UP"
    # What its ring could not hold it counts; among that may be reports of losses,
    # ten a second, which are no copies. So none is unaccounted for.
    local surplus
    until_true eval '[ "$(received_by 1 2 3)" -ge "$(get r status | jq .copies_sent)" ]'
    surplus=$(($(received_by 1 2 3) - $(get r status | jq .copies_sent)))
    [ "$surplus" -le "$(get a1 status | jq '[.drops.source_overflow, 200] | min')" ]
}

@test "all analyzers down: copies are discarded under that reason, with an alarm, until one is back" {
    start_traffic
    kill -KILL "${ANALYZERS[@]}"
    within_10_s "all noticed" is '[.analyzers[].state] == ["down", "down", "down"]'
    within_10_s "copies are discarded" is '.drops.analyzers_down > 100'
    until_true grep -q 'ALL analyzers are down' "$D/r.log"
    start_analyzer 3
    within_10_s "one is back" state_is 3 up
    within_10_s "and gets all" gets_more 3 1000
    end_traffic
    is "$ADDS_UP"
}

@test "analyzers are added, drained and removed under traffic without a copy lost" {
    start_traffic
    local i
    for i in {1..10}; do
        change POST '{"name": "a3", "draining": true}'
        state_is 3 draining
        change POST '{"name": "a2", "weight": 300}'
        change DELETE '' '?name=a1'
        change POST "{\"name\": \"a1\", \"address\": \"10.99.1.2\", \"url\": \"unix:$D/a1\"}"
        change POST '{"name": "a3", "draining": false}'
        change POST '{"name": "a2", "weight": 100}'
    done
    end_traffic
    until_true is_settled
    is "$ADDS_UP and ([.drops[]] | add) == 0 and .redirected.draining > 0"
    until_true eval '[ "$(received_by 1 2 3)" -eq "$(get r status | jq .copies_sent)" ]'
    [ "$(curl -s -o "$D/answer" -w '%{http_code}' --unix-socket "$D/r" -X DELETE 'http://localhost/v1/analyzers?name=x')" = 404 ]
    [ "$(curl -s -o "$D/answer" -w '%{http_code}' --unix-socket "$D/r" -X POST -d '{"name": "a9"}' http://localhost/v1/analyzers)" = 400 ]
    jq -e '.error.message | test("\"address\" is missing")' "$D/answer"
}

change() { # METHOD BODY [QUERY]
    curl -sf -m 5 --unix-socket "$D/r" -X "$1" -d "$2" "http://localhost/v1/analyzers${3-}" >"$D/answer"
}

# --- The reshuffler and its links ------------------------------------------------

@test "a reshuffler that is killed and started again goes on, and the gap is counted" {
    start_traffic
    kill -KILL "$RESHUFFLER"
    wait "$RESHUFFLER" || :
    local start
    start=$(date +%s%N)
    start_reshuffler
    within_10_s "copies flow again" is '.copies_sent > 100'
    echo "# from its start to that: $((($(date +%s%N) - start) / 1000000)) ms" >&3
    end_traffic
    until_true is_settled
    is "$ADDS_UP and ([.switches[] | .made == .received + .lost] | all)"
    local i
    for i in 1 2 3; do
        kill -0 "${ANALYZERS[$i]}"
    done
}

@test "a link to the analyzer goes down and up: what was lost meanwhile is counted" {
    start_traffic
    ip -n "$NS-r" link set r2 down
    within_10_s "failures counted" is '.drops.send_failed > 100'
    local before
    before=$(copies_at 2)
    ip -n "$NS-r" link set r2 up
    within_10_s "copies flow again" gets_more 2 $((before + 100))
    end_traffic
    until_true is_settled
    is "$ADDS_UP"
    echo "# lost: $(get r status | jq .drops.send_failed)" >&3
}

@test "an analyzer that answers but whose data link is down is left out, and taken back" {
    local healthy before
    start_traffic
    healthy=$(get r status | jq '[.analyzers[0].copies, .analyzers[2].copies]')
    ip -n "$NS-a2" link set a0 down
    within_10_s "data link noticed" state_is 2 down
    get a2 health | jq -e .ready
    grep -q 'analyzer a2 is down: it answers, but nothing that we send it arrives' "$D/r.log"
    before=$(get r status | jq '.analyzers[1].copies')
    within_10_s "its copies are elsewhere" is '.redirected.down > 100'
    is ".analyzers[1].copies == $before and .analyzers[0].copies > $healthy[0] and .analyzers[2].copies > $healthy[1]"
    is '[.analyzers[].state] == ["up", "down", "up"]'
    ip -n "$NS-a2" link set a0 up
    ip -n "$NS-a2" address replace 10.99.2.2/24 dev a0
    before=$(copies_at 2)
    within_10_s "it is back" state_is 2 up
    within_10_s "and gets copies" gets_more 2 "$before"
    end_traffic
    until_true is_settled
    is "$ADDS_UP"
}

@test "an analyzer to which only the way is lost, all links being up, is left out" {
    start_traffic
    ip -n "$NS-r" route add blackhole 10.99.3.2/32
    within_10_s "lost way noticed" state_is 3 down
    ip -n "$NS-r" route delete blackhole 10.99.3.2/32
    within_10_s "it is back" state_is 3 up
    within_10_s "and gets copies" gets_more 3 "$(copies_at 3)"
    end_traffic
    until_true is_settled
    is "$ADDS_UP"
}

# --- Again and again -------------------------------------------------------------

# How long something is killed again and again; the full test takes 600.
KILL_SECONDS=${EF_KILL_SECONDS:-12}

fds_of() { # PID
    local list=("/proc/$1/fd"/*)
    echo "${#list[@]}"
}

rss_of() { # PID, in kB
    awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"
}

has_fds() { # PID NUMBER
    [ "$(fds_of "$1")" -eq "$2" ]
}

# killed_in_a_loop RESTART MOST PID...: RESTART is a command that kills something with -9 and starts it anew. After some
# rounds for everything to be in place, the processes PID have as many file descriptors at the end as at the start,
# and no more than a tenth and 2 MB more memory, or than MOST kB.
killed_in_a_loop() {
    local again=$1 most=$2 pid end n=0
    declare -A fds rss
    shift 2
    for ((n = 0; n < 5; n++)); do
        "$again"
    done
    for pid; do
        fds[$pid]=$(fds_of "$pid")
        rss[$pid]=$(rss_of "$pid")
    done
    end=$((SECONDS + KILL_SECONDS))
    while [ $SECONDS -lt $end ]; do
        "$again"
        n=$((n + 1))
    done
    for pid; do
        until_true has_fds "$pid" "${fds[$pid]}"
        echo "# process $pid: ${fds[$pid]} file descriptors, ${rss[$pid]} kB at first, $(rss_of "$pid") kB after $n times" >&3
        [ "$(rss_of "$pid")" -le $((rss[$pid] * 11 / 10 + 2048)) ] || [ "$(rss_of "$pid")" -le "$most" ]
    done
}

again_analyzer() {
    kill -KILL "${ANALYZERS[2]}"
    wait "${ANALYZERS[2]}" || :
    start_analyzer 2
    is '.analyzers | length == 3' # It answers meanwhile.
}

again_reshuffler() {
    kill -KILL "$RESHUFFLER"
    wait "$RESHUFFLER" || :
    start_reshuffler
}

@test "an analyzer is killed again and again: memory and file descriptors of the reshuffler stay flat" {
    start_traffic
    killed_in_a_loop again_analyzer 0 "$RESHUFFLER"
    end_traffic
    # It failed so often that it stays away for longer and longer, then is trusted again (health.h).
    until_true state_is 2 up
    until_true is_settled
    is "$ADDS_UP"
}

@test "a reshuffler is killed again and again: memory and file descriptors of the analyzers stay flat" {
    start_traffic
    # Theirs grows while they fill their stores of traces, up to --memory.
    killed_in_a_loop again_reshuffler $((64 << 10)) "${ANALYZERS[1]}" "${ANALYZERS[3]}"
    end_traffic
    until_true is_settled
    is "$ADDS_UP"
}

@test "the link of the switches goes down and up: the source waits for it" {
    start_traffic
    ip -n "$NS-r" link set r0 down
    until_true is_settled
    local before
    before=$(get r status | jq .copies_sent)
    ip -n "$NS-r" link set r0 up
    within_10_s "copies flow again" is ".copies_sent > $before + 100"
    end_traffic
    until_true is_settled
    is "$ADDS_UP"
}
