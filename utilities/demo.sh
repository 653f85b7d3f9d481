# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shell functions that start and stop the whole suite over an emulated fabric:
# the reshuffler, the analyzers, the controller. quickstart's demo and the
# system tests are the same code. Sourced, never run.
#
# Programs are taken from $EF_BUILD, the patched Open vSwitch from
# $EF_OVS_PREFIX. Each fabric NAME has its daemons' pidfiles, logs and control
# sockets in /run/everflow/NAME-suite.

# demo_programs: checks that everything was built.
demo_programs() {
    local program
    for program in utilities/fabric/ef-fabric reshuffler/ef-reshuffler analyzer/ef-analyzer controller/ef-controller utilities/efctl/efctl; do
        [ -x "$EF_BUILD/$program" ] || { echo "$EF_BUILD/$program is missing; build first (make)" >&2; return 1; }
    done
    [ -x "$EF_OVS_PREFIX/sbin/ovs-vswitchd" ] || { echo "$EF_OVS_PREFIX has no Open vSwitch; make ovs" >&2; return 1; }
}

demo_directory() { echo "/run/everflow/$1-suite"; }

demo_fabric() { # NAME ARGUMENT...
    local name=$1
    shift
    "$EF_BUILD/utilities/fabric/ef-fabric" --name "$name" "$@" 3>&-
}

demo_topology() { echo "$(demo_directory "$1")/topology.json"; }

# demo_hosts NAME ROLE: "name address netns interface", a line each.
demo_hosts() {
    jq -r --arg role "$2" '.hosts[] | select(.role == $role) | "\(.name) \(.address) \(.netns) \(.interface)"' "$(demo_topology "$1")"
}

# demo_daemon NAME DAEMON PROGRAM ARGUMENT...: starts it in the background
# unless it runs; returns when it is ready or has said why not.
demo_daemon() {
    local directory daemon=$2 program=$3
    directory=$(demo_directory "$1")
    shift 3
    ! demo_runs "$directory/$daemon.pid" || return 0
    "$EF_BUILD/$program" "$@" --detach --pidfile "$directory/$daemon.pid" \
        --log-file "$directory/$daemon.log" --control "$directory/$daemon.ctl" 3>&-
}

# True if a process holds the pidfile: daemons keep it locked while they live,
# and the number in one that nobody holds may be anybody's.
demo_runs() { # PIDFILE
    [ -e "$1" ] && ! flock -n "$1" true
}

# True if the process has ended, waited for by its parent or not.
demo_gone() { # PID
    local state
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
    [ -z "$state" ] || [ "$state" = Z ]
}

demo_kill() { # PIDFILE [SIGNAL]: ends the process and waits for that
    local pid i
    if demo_runs "$1" && pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ]; then
        kill "-${2-TERM}" "$pid" 2>/dev/null || :
        for ((i = 0; i < 100; i++)); do
            ! demo_gone "$pid" || break
            read -rt 0.05 <> <(:) || :
        done
        demo_gone "$pid" || kill -KILL "$pid" 2>/dev/null || :
    fi
    rm -f "$1"
}

demo_analyzer() { # NAME HOST ADDRESS NETNS INTERFACE PORT [ARGUMENT...]
    local name=$1 host=$2 netns=$4 interface=$5 port=$6
    shift 6
    demo_daemon "$name" "$host" analyzer/ef-analyzer --name "$host" \
        --source "afpacket:$interface@$netns" --http "127.0.0.1:$port" --topology "$(demo_topology "$name")" "$@"
}

# The controller's configuration: what the topology says, with a port each.
# DEMO_EVERFLOW, a JSON object, changes what switches are told; DEMO_PROBER is a
# host that sends guided probes, "prober1".
demo_configuration() { # NAME FIRST_PORT
    jq --argjson everflow "${DEMO_EVERFLOW:-{\}}" --arg prober "${DEMO_PROBER-}" --arg port "$2" --arg topology "$(demo_topology "$1")" \
        --arg state "$(demo_directory "$1")/state.sock" '
        def daemons(role; base): [.hosts[] | select(.role == role)] | to_entries
            | map({name: .value.name, url: "http://127.0.0.1:\(base + .key)"});
        ($port | tonumber) as $p
        | {listen: "127.0.0.1:\($p)", topology: $topology, database: "unix:\($state)",
           analyzers: daemons("analyzer"; $p + 1), reshufflers: daemons("reshuffler"; $p + 10),
           probers: (if $prober == "" then [] else [{name: "prober1", url: "http://127.0.0.1:\($p + 15)"}] end),
           everflow: ({targets: [.vip], encap: "erspan3", classes: ["tcp_syn", "tcp_fin", "tcp_rst", "debug"],
                      debug_dscp: 1, sample_bits: 0, sample_value: 1, truncate: 0} + $everflow)}' "$(demo_topology "$1")"
}

# demo_state NAME: the database in which the controller keeps its state, until
# demo_stop. It holds its pidfile locked as our own daemons do.
demo_state() {
    local directory i
    directory=$(demo_directory "$1")
    ! demo_runs "$directory/state.pid" || return 0
    [ -e "$directory/state.db" ] ||
        "$EF_OVS_PREFIX/bin/ovsdb-tool" create "$directory/state.db" "$EF_SOURCE/controller/everflow.ovsschema" || return
    rm -f "$directory/state.sock" "$directory/state.ctl" "$directory/.state.db.~lock~"
    (
        exec 8>>"$directory/state.pid"
        flock -n 8 || exit
        setsid "$EF_OVS_PREFIX/sbin/ovsdb-server" -vconsole:off -vsyslog:off --log-file="$directory/state.log" \
            --unixctl="$directory/state.ctl" --remote="punix:$directory/state.sock" "$directory/state.db" \
            </dev/null >/dev/null 2>&1 3>&- 9>&- &
        echo $! >"$directory/state.pid"
    )
    for ((i = 0; i < 100; i++)); do
        [ ! -S "$directory/state.sock" ] || return 0
        read -rt 0.1 <> <(:) || :
    done
    echo "the controller's database did not start within 10 s; see $directory/state.log" >&2
    return 1
}

# demo_start NAME FIRST_PORT [ANALYZER_ARGUMENT...]: the suite over a fabric
# that is up. The controller listens on FIRST_PORT, analyzers on the ports after
# it, reshufflers from FIRST_PORT + 10, a prober on FIRST_PORT + 15. What runs already is left as it is.
demo_start() {
    local name=$1 port=$2 directory host address netns interface targets=() i
    shift 2
    directory=$(demo_directory "$name")
    mkdir -p "$directory"
    demo_fabric "$name" topology --json >"$(demo_topology "$name")" || return
    i=0
    while read -r host address netns interface; do
        i=$((i + 1))
        demo_analyzer "$name" "$host" "$address" "$netns" "$interface" $((port + i)) "$@" || return
        targets+=(--analyzer "$host=$address,url=http://127.0.0.1:$((port + i))")
    done < <(demo_hosts "$name" analyzer)
    i=10
    while read -r host address netns interface; do
        demo_daemon "$name" "$host" reshuffler/ef-reshuffler --vip "$(jq -r .vip "$(demo_topology "$name")")" \
            --source "afpacket:$interface@$netns" --sink "ip@$netns" "${targets[@]}" \
            --http "127.0.0.1:$((port + i))" || return
        i=$((i + 1))
    done < <(demo_hosts "$name" reshuffler)
    [ -z "${DEMO_PROBER-}" ] || demo_daemon "$name" prober1 guided-prober/ef-prober --topology "$(demo_topology "$name")" \
        --sink "ip@ef-$name-$DEMO_PROBER" --http "127.0.0.1:$((port + 15))" || return
    demo_configuration "$name" "$port" >"$directory/controller.json" || return
    demo_state "$name" || return
    demo_daemon "$name" controller controller/ef-controller --config "$directory/controller.json" || return
    demo_wait_configured "$name" "$port"
}

# Waits until every switch has taken its configuration, at most 30 s.
demo_wait_configured() { # NAME PORT
    local state i
    for ((i = 0; i < 300; i++)); do
        state=$("$EF_BUILD/utilities/efctl/efctl" --controller "http://127.0.0.1:$2" status --json 2>/dev/null |
            jq -r 'select(.switches.total > 0 and .switches.total == .switches.configured) | "all"')
        [ "$state" != all ] || return 0
        read -rt 0.1 <> <(:) || :
    done
    echo "the switches did not take the configuration within 30 s; see $(demo_directory "$1")/controller.log" >&2
    return 1
}

# demo_stop NAME: ends the suite's daemons; the fabric stays.
demo_stop() {
    local directory pidfile
    directory=$(demo_directory "$1")
    for pidfile in "$directory"/*.pid; do
        [ ! -e "$pidfile" ] || demo_kill "$pidfile"
    done
    rm -rf "$directory"
}
