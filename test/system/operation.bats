#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What an operator relies on, of each daemon: no rights beyond its work, plain HTTP
# on loopback only, logs that can be moved away, files where the configuration says,
# an end when it is asked for.
# shellcheck disable=SC2154 # run sets stderr.

bats_require_minimum_version 1.5.0
load common

NETNS=ef-op-$$
DAEMONS=(analyzer reshuffler prober controller)

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    ip netns add "$NETNS"
    ip -n "$NETNS" link set lo up
    echo '{"name": "operation", "switches": [], "hosts": []}' >topology.json
    controller_json >controller.json
}

teardown() {
    local file
    for file in "$BATS_TEST_TMPDIR"/*.pid; do
        [ ! -e "$file" ] || demo_kill "$file"
    done
    ip netns delete "$NETNS"
}

controller_json() { # [MEMBER...]
    echo '{"listen": "127.0.0.1:0", "topology": "topology.json", '"$*"'
           "everflow": {"targets": ["10.255.255.1"], "classes": ["tcp_syn"]}}'
}

# The command line of a daemon, "${words[@]}", which listens at ADDRESS; with
# INSIDE="ip netns exec $NETNS" it needs no right to go there.
command_of() { # DAEMON ADDRESS
    local at=@$NETNS
    [ -z "${INSIDE-}" ] || at=
    case $1 in
    analyzer) words=(analyzer/ef-analyzer --name a --source "afpacket:lo$at" --memory 32M --http "$2") ;;
    reshuffler) words=(reshuffler/ef-reshuffler --vip 10.0.0.9 --source "afpacket:lo$at" --sink "ip$at" --analyzer a=10.0.0.1 --http "$2") ;;
    prober) words=(guided-prober/ef-prober --topology topology.json --sink "ip$at" --http "$2") ;;
    controller)
        jq --arg listen "$2" '.listen = $listen' controller.json >listen.json
        words=(controller/ef-controller --config listen.json)
        ;;
    esac
}

start() { # DAEMON ADDRESS ARGUMENT...
    local words
    command_of "$1" "$2"
    ${INSIDE-} timeout 30 "$EF_BUILD/${words[0]}" "${words[@]:1}" --detach --pidfile "$PWD/$1.pid" --log-file "$PWD/$1.log" "${@:3}" 3>&-
}

# --- Rights ---------------------------------------------------------------------

value_of() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; } # PID LINE

# has_rights PID CAPABILITIES: this set, to which nothing can add.
has_rights() {
    local none=0000000000000000 text
    text=$(grep '^Cap' "/proc/$1/status" | tr '\n\t' '  ')
    [ "$text" = "CapInh: $none CapPrm: $2 CapEff: $2 CapBnd: $none CapAmb: $none " ] || { echo "$text"; return 1; }
}

@test "with --user each daemon keeps the capabilities of its work, and no other" {
    local daemon pid task rights INSIDE="ip netns exec $NETNS"
    for daemon in "${DAEMONS[@]}"; do
        start "$daemon" 127.0.0.1:0 --user nobody
        pid=$(cat "$daemon.pid")
        rights=0000000000003000 # CAP_NET_ADMIN, CAP_NET_RAW
        [ "$daemon" != controller ] || rights=0000000000000000
        for task in /proc/"$pid"/task/*; do
            has_rights "$pid/task/${task##*/}" $rights
            [ "$(stat -c %U "$task")" = nobody ]
        done
        [ "$(value_of "$pid" Groups | xargs)" = "$(id -G nobody)" ]
    done
}

# --- HTTP -----------------------------------------------------------------------

@test "plain HTTP is served on loopback and Unix sockets, and refused elsewhere" {
    local daemon words address
    for daemon in "${DAEMONS[@]}"; do
        for address in 0.0.0.0:0 '[::]:0' 192.0.2.1:80; do
            command_of "$daemon" "$address"
            run -1 --separate-stderr timeout 20 "$EF_BUILD/${words[0]}" "${words[@]:1}"
            echo "$daemon $address: $stderr"
            [[ $stderr == *"only served on loopback"* ]]
        done
        start "$daemon" "unix:$PWD/$daemon.sock"
        curl -sf -m 10 --unix-socket "$daemon.sock" http://localhost/v1/status | jq -e '.version'
    done
}

@test "nobody listens who was not asked to" {
    local daemon words
    for daemon in analyzer reshuffler; do
        command_of $daemon unused
        "$EF_BUILD/${words[0]}" "${words[@]:1:${#words[@]}-3}" --detach --pidfile "$PWD/$daemon.pid" --log-file "$PWD/$daemon.log" 3>&-
        run -0 ss -Hltnxp
        [[ $output != *"pid=$(cat $daemon.pid),"* ]]
    done
}

# --- Files ----------------------------------------------------------------------

has_line() { grep -q "$2" "$1"; } # FILE TEXT

@test "a log that was moved away begins anew at SIGHUP" {
    local daemon
    for daemon in "${DAEMONS[@]}"; do
        start "$daemon" 127.0.0.1:0
        mv "$daemon.log" "$daemon.old"
        kill -HUP "$(cat "$daemon.pid")"
        wait_until 20 test -e "$daemon.log"
        wait_until 20 has_line "$daemon.log" "SIGHUP: the log file was opened anew"
        kill "$(cat "$daemon.pid")"
        wait_until 20 has_line "$daemon.log" "ending on signal 15"
        run -1 grep -q "ending on signal" "$daemon.old"
    done
}

listens_at() { ss -Hltnp | sed -n "s/^LISTEN .* 127\.0\.0\.1:\([0-9]*\) .*pid=$(cat "$1.pid"),.*/\1/p" | head -n 1; }

@test "files count from the configuration's folder, from wherever the controller is started" {
    mkdir etc elsewhere
    mv topology.json etc
    controller_json '"access": {"audit": "audit.ndjson"},' >etc/controller.json
    (cd elsewhere && "$EF_BUILD/controller/ef-controller" --config ../etc/controller.json --detach \
        --pidfile "$BATS_TEST_TMPDIR/controller.pid" --log-file "$BATS_TEST_TMPDIR/controller.log" 3>&-)
    change() {
        curl -s -m 10 -o /dev/null -d '{"name":"'"$1"'","role":"viewer"}' "127.0.0.1:$(listens_at controller)/v1/tokens"
    }
    change first
    [ "$(jq -r .path etc/audit.ndjson)" = /v1/tokens ]
    mv etc/audit.ndjson etc/audit.1 # As logrotate does; nobody has to be told.
    change second
    [ "$(jq -r .body etc/audit.ndjson)" = '{"name":"second","role":"viewer"}' ]
    [ "$(wc -l <etc/audit.1)" = 1 ]
    run -0 ls -A elsewhere
    [ -z "$output" ]
}

# --- The end ----------------------------------------------------------------------

@test "a capture from a pipe that is silent does not hold up SIGTERM" {
    local pid writer
    "$EF_SOURCE/test/system/make_copies.py" --packets 10 copies.pcap
    mkfifo capture
    exec {writer}<>capture
    # The last bytes of a frame are missing.
    head -c -5 copies.pcap >&"$writer"
    "$EF_BUILD/analyzer/ef-analyzer" --name a --source pcap:- --memory 32M --http "unix:$PWD/a.sock" <capture >log 2>&1 3>&- &
    pid=$!
    all_but_one() { [ "$(curl -sf -m 10 --unix-socket a.sock http://localhost/v1/status | jq .copies_received)" = 49 ]; }
    wait_until 30 all_but_one
    kill "$pid"
    wait_until 30 demo_gone "$pid"
    wait "$pid"
    exec {writer}>&-
}
