# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Controllers, their database, switches' databases and an analyzer in the current
# folder. Sourced by tests of the state and by the soak.

EF_BUILD=${EF_BUILD:-$EF_SOURCE/_build}
EF_OVS_PREFIX=${EF_OVS_PREFIX:-$EF_BUILD/ovs/install}
SWITCHES=()
# shellcheck source=test/system/jq.bash
. "$EF_SOURCE/test/system/jq.bash"
# shellcheck source=test/system/wait.bash
. "$EF_SOURCE/test/system/wait.bash"

gone() {
    local state
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
    [ -z "$state" ] || [ "$state" = Z ]
}

kill_daemon() { # NAME [SIGNAL]
    local pid
    pid=$(cat "$1.pid") || return 0
    kill "-${2-TERM}" "$pid" 2>/dev/null || :
    [ "${2-}" = STOP ] || { rm -f "$1.pid"; wait_until 10 gone "$pid"; }
}

kill_all() {
    local file
    for file in *.pid; do
        [ ! -f "$file" ] || kill_daemon "${file%.pid}" KILL
    done
}

ovsdb_server() { # NAME REMOTE DATABASE
    rm -f "$1.ctl" ".$3.~lock~"
    "$EF_OVS_PREFIX/sbin/ovsdb-server" -vconsole:off -vsyslog:off -vfile:off --detach --no-chdir \
        --pidfile="$PWD/$1.pid" --unixctl="$PWD/$1.ctl" --remote="$2" "$3" 3>&-
}

start_switch() { # NAME: an empty database and its server
    rm -f "$1.db" "$1.sock"
    "$EF_OVS_PREFIX/bin/ovsdb-tool" create "$1.db" "$EF_OVS_PREFIX/share/openvswitch/vswitch.ovsschema"
    "$EF_OVS_PREFIX/bin/ovsdb-tool" transact "$1.db" \
        '["Open_vSwitch",{"op":"insert","table":"Open_vSwitch","row":{}}]' >/dev/null
    ovsdb_server "$1" "punix:$PWD/$1.sock" "$1.db"
    SWITCHES+=("$1")
}

start_state() { # The controllers' database, with what it had.
    [ -e state.db ] || "$EF_OVS_PREFIX/bin/ovsdb-tool" create state.db "$EF_SOURCE/controller/everflow.ovsschema"
    rm -f state.sock
    ovsdb_server state "punix:$PWD/state.sock" state.db
}

start_analyzer() {
    [ -e empty.pcap ] || python3 "$EF_SOURCE/test/system/make_copies.py" --first 0 --packets 1 --hops 1 empty.pcap
    "$EF_BUILD/analyzer/ef-analyzer" --name a1 --source "pcap:$PWD/empty.pcap" --memory 64M --idle 100ms \
        --http "unix:$PWD/a1.sock" --detach --pidfile a1.pid --log-file a1.log 3>&-
}

# configure [DATABASE]: controllers c1, c2; DATABASE is a jq expression with $dir.
configure() {
    local name
    jq -n --arg dir "$PWD" '{name: "t", vip: "10.255.255.1", hosts: [],
        switches: ($ARGS.positional | to_entries | map({name: .value, role: "leaf", loopback: "10.255.0.\(.key + 1)",
            ovsdb: "unix:\($dir)/\(.value).sock"}))}' --args "${SWITCHES[@]}" >topology.json
    for name in c1 c2; do
        jq -n --arg dir "$PWD" --arg name "$name" '{listen: "unix:\($dir)/\($name).sock", topology: "topology.json",
            analyzers: [{name: "a1", url: "unix:\($dir)/a1.sock"}],
            probers: [{name: "p1", url: "unix:\($dir)/p1.sock"}],
            everflow: {targets: ["10.255.255.1"], encap: "erspan3", classes: ["tcp_syn", "debug"]}}
            '"${1+| .database = ($1)}" >"$name.json"
    done
}

address() { jq -r .listen "$1.json"; }

start_controller() { # NAME
    "$EF_BUILD/controller/ef-controller" --config "$1.json" --control "$PWD/$1.ctl" --detach \
        --pidfile "$1.pid" --log-file "$1.log" 3>&-
}

ask() { # CONTROLLER PATH [CURL ARGUMENT...]
    curl -sS -m 20 --unix-socket "$1.sock" "http://localhost$2" "${@:3}"
}

# is_reply STATUS CONTROLLER PATH [CURL ARGUMENT...]: the body is in "reply".
is_reply() {
    local status
    status=$(ask "$2" "$3" -o reply -w '%{http_code}' "${@:4}") || return
    [ "$status" = "$1" ] || { echo "$status, not $1: $(cat reply)" >&2; return 1; }
}

state_of() { ask "$1" /v1/status | jq -r ".state.$2"; }
is_role() { [ "$(state_of "$1" role)" = "$2" ]; }
is_state_connected() { [ "$(state_of "$1" connected)" = true ]; }
is_switch() { [ "$(ask "$1" /v1/switches | jq -r '[.switches[].state] | unique | join(" ")')" = "$2" ]; }

vsctl() { # SWITCH ARGUMENT...
    local name=$1
    shift
    "$EF_OVS_PREFIX/bin/ovs-vsctl" --no-wait --db="unix:$PWD/$name.sock" "$@"
}

has_row() { [ "$(vsctl "$1" get Open_vSwitch . everflow)" != "[]" ]; }

# --- A cluster of three: n1, n2, n3 ----------------------------------------------

# shellcheck disable=SC2016 # jq's text
cluster_remotes() { echo '["unix:\($dir)/n1.sock", "unix:\($dir)/n2.sock", "unix:\($dir)/n3.sock"]'; }

start_node() { # NAME: a server with the database that it had
    rm -f "$1.sock"
    ovsdb_server "$1" "punix:$PWD/$1.sock" "$1.db"
}

start_cluster() {
    # Not RANDOM, which deaths() seeds: two runs must not meet.
    local tool=$EF_OVS_PREFIX/bin/ovsdb-tool port=$((20000 + BASHPID * 3 % 12000)) cid
    local first=tcp:127.0.0.1:$port
    "$tool" --election-timer=500 create-cluster n1.db "$EF_SOURCE/controller/everflow.ovsschema" "$first"
    cid=$("$tool" db-cid n1.db)
    start_node n1
    "$tool" "--cid=$cid" join-cluster n2.db Everflow_State "tcp:127.0.0.1:$((port + 1))" "$first"
    "$tool" "--cid=$cid" join-cluster n3.db Everflow_State "tcp:127.0.0.1:$((port + 2))" "$first"
    start_node n2
    start_node n3
    wait_until 20 is_member n2
    wait_until 20 is_member n3
}

cluster_status() { timeout 5 "$EF_OVS_PREFIX/bin/ovs-appctl" -t "$PWD/$1.ctl" cluster/status Everflow_State; }
is_member() { cluster_status "$1" | grep -q '^Status: cluster member'; }
is_leader() { cluster_status "$1" 2>/dev/null | grep -q '^Role: leader'; }

leader() {
    local name
    for name in n1 n2 n3; do
        if [ -f "$name.pid" ] && is_leader "$name"; then
            echo "$name"
            return
        fi
    done
    return 1
}

# --- Deaths ----------------------------------------------------------------------

# One change, with an acknowledgement that is remembered: NAME in "acknowledged".
# Others may be there or not.
change() { # NAME
    local controller
    for controller in c1 c2; do
        [ -f "$controller.pid" ] || continue
        if is_reply 201 "$controller" /v1/switches \
            -d "{\"name\":\"$1\",\"ovsdb\":\"unix:/nowhere/$1\",\"source_ip\":\"fd00::${1#x}\"}" 2>/dev/null; then
            echo "$1" >>acknowledged
            return 0
        fi
    done
    return 1
}

# Changes without end, each with a name of its own, until "stop" is there.
change_on() {
    local i
    : >acknowledged
    for ((i = 1; ; i++)); do
        [ ! -e stop ] || return 0
        change "x$i" || read -rt 0.02 <> <(:) || :
    done
}

# What was acknowledged and is not there, a line each.
lost() { # CONTROLLER
    ask "$1" /v1/switches | jq -r '.switches[].name' | sort >there
    sort -u acknowledged | comm -23 - there
}

# deaths NUMBER SEED NAME...: kills one of these by chance and starts it again, that
# often, while changes go on. Nothing that was acknowledged may be missing.
deaths() {
    local number=$1 i victim changing
    RANDOM=$2
    shift 2
    rm -f stop
    change_on &
    changing=$!
    for ((i = 1; i <= number; i++)); do
        victim=${*:RANDOM % $# + 1:1}
        read -rt "0.$((RANDOM % 4 + 1))" <> <(:) || :
        kill_daemon "$victim" KILL
        case $victim in
        c*) start_controller "$victim" ;;
        n*) start_node "$victim" ;;
        state) start_state ;;
        esac || { echo "death $i: $victim does not start again" >&2; break; }
    done
    touch stop
    wait "$changing"
    [ "$i" -gt "$number" ] && wait_until 15 is_anyone_active || return
    sort -u acknowledged | wc -l >n_acknowledged
    wait_until 5 nothing_is_lost || { echo "lost:" "$(lost c1)" >&2; return 1; }
}

is_anyone_active() { is_role c1 active || { [ -f c2.pid ] && is_role c2 active; }; }
nothing_is_lost() { is_state_connected c1 && [ -z "$(lost c1)" ]; }
