# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Switches in a row, each a real ovs-vswitchd in its own namespace, and a tester
# at both ends:
#
#   tester in --- 1 s1 2 --- 1 s2 2 --- 1 s3 2 --- out tester
#                   3          3          3
#                   c1         c2         c3   (copies)  tester
#
# Namespaces are $LINE-t and $LINE-s1, ...; everything else is in $LINE_DIR.
# Sourced after common.bash, by tests that then set:
#
#   LINE      prefix of the namespaces' names
#   LINE_DIR  folder for the switches' databases, sockets and logs
#   LINE_N    how many switches

line_tester() { echo "$LINE-t"; }

# line_begin: the namespaces and links. MTU 4000, so that no copy is too large.
line_begin() {
    local i
    ip netns add "$LINE-t"
    line_quiet "$LINE-t"
    for ((i = 1; i <= LINE_N; i++)); do
        ip netns add "$LINE-s$i"
        line_quiet "$LINE-s$i"
    done
    line_link "$LINE-t" in "$LINE-s1" p1
    for ((i = 1; i < LINE_N; i++)); do
        line_link "$LINE-s$i" p2 "$LINE-s$((i + 1))" p1
    done
    line_link "$LINE-s$LINE_N" p2 "$LINE-t" out
    for ((i = 1; i <= LINE_N; i++)); do
        line_link "$LINE-s$i" p3 "$LINE-t" "c$i"
    done
}

line_end() {
    local i
    for ((i = 1; i <= LINE_N; i++)); do
        line_stop "$i"
        ip netns delete "$LINE-s$i" 2>/dev/null || :
    done
    ip netns delete "$LINE-t" 2>/dev/null || :
}

# The kernel itself says nothing on these links.
line_quiet() { # NETNS
    ip netns exec "$1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
}

line_link() { # NETNS NAME NETNS NAME
    ip -n "$1" link add "$2" mtu 4000 type veth peer name "$4" mtu 4000 netns "$3"
    ip -n "$1" link set "$2" up
    ip -n "$3" link set "$4" up
}

# line_switch NUMBER COMMAND...: runs an Open vSwitch command for that switch.
line_switch() {
    local i=$1
    shift
    OVS_RUNDIR=$LINE_DIR/s$i OVS_LOGDIR=$LINE_DIR/s$i OVS_DBDIR=$LINE_DIR/s$i OVS_SYSCONFDIR=$LINE_DIR/s$i \
        PATH=${LINE_OVS:-$EF_OVS_PREFIX}/bin:${LINE_OVS:-$EF_OVS_PREFIX}/sbin:$PATH "$@"
}

# line_start NUMBER [VSCTL_ARGUMENT...]: the daemons of one switch, of the Open
# vSwitch in $LINE_OVS (default: the patched one); what is forwarded is in
# the function that the test defines: line_flows NUMBER prints flows.
line_start() {
    local i=$1 dir=$LINE_DIR/s$1 p ports=()
    shift
    rm -rf "$dir" && mkdir -p "$dir"
    line_switch "$i" ovsdb-tool create "$dir/conf.db" "${LINE_OVS:-$EF_OVS_PREFIX}/share/openvswitch/vswitch.ovsschema"
    line_switch "$i" ovsdb-server "$dir/conf.db" --remote="punix:$dir/db.sock" --detach --pidfile --log-file -vconsole:off 3>&-
    for p in 1 2 3; do
        ports+=(-- add-port br0 "p$p" -- set Interface "p$p" "ofport_request=$p")
    done
    line_switch "$i" ovs-vsctl --no-wait -- init -- add-br br0 \
        -- set Bridge br0 datapath_type=netdev fail_mode=secure "other_config:hwaddr=02:00:00:00:0$i:00" "${ports[@]}" "$@"
    line_switch "$i" ip netns exec "$LINE-s$i" ovs-vswitchd "unix:$dir/db.sock" --detach --pidfile --log-file \
        --disable-system -vconsole:off 3>&-
    line_flows "$i" | line_switch "$i" ovs-ofctl -O OpenFlow13 add-flows br0 -
}

# line_datapath KIND: sets LINE_DATAPATH to what line_start needs after the number,
# for ports 1 and 2 that are
#
#   packet  packet sockets, served by the main thread
#   afxdp   AF_XDP sockets, each served by a PMD thread
#   dpdk    DPDK's packet sockets (no huge pages), two receive queues each, served
#           by two PMD threads; the driver takes no IPv4 fragments, and makes all
#           VLAN tags 0x8100
#
# PMD threads sleep when there is nothing to do.
line_datapath() {
    local p
    LINE_DATAPATH=()
    [ "$1" != packet ] || return 0
    LINE_DATAPATH+=(-- set Open_vSwitch . other_config:pmd-cpu-mask=0x3 other_config:pmd-maxsleep=50)
    for p in 1 2; do
        case $1 in
            afxdp) LINE_DATAPATH+=(-- set Interface "p$p" type=afxdp options:xdp-mode=generic) ;;
            dpdk) LINE_DATAPATH+=(-- set Interface "p$p" type=dpdk options:n_rxq=2
                "options:dpdk-devargs=\"net_af_packet$p,iface=p$p,qpairs=2,blocksz=32768,framesz=2048\"") ;;
        esac
    done
    [ "$1" != dpdk ] ||
        LINE_DATAPATH+=(-- set Open_vSwitch . other_config:dpdk-init=true
            "other_config:dpdk-extra=\"--no-huge --legacy-mem --no-pci -m 1024 --file-prefix=$LINE\"")
}

line_stop() { # NUMBER
    local daemon pid
    for daemon in ovs-vswitchd ovsdb-server; do
        pid=$(cat "$LINE_DIR/s$1/$daemon.pid" 2>/dev/null) || continue
        line_switch "$1" ovs-appctl -t "$daemon" exit || kill -KILL "$pid"
        wait_until 10 demo_gone "$pid"
    done
}

# line_everflow NUMBER COLUMN=VALUE...: turns Everflow on, with source_ip
# 10.255.0.NUMBER, and waits for nothing: ovs-vsctl returns when it is done.
line_everflow() {
    local i=$1
    shift
    line_switch "$i" ovs-vsctl -- --id=@e create Everflow "source_ip=10.255.0.$i" targets=10.255.255.1 "$@" \
        -- set Open_vSwitch . everflow=@e >/dev/null
    [ "$(line_switch "$i" ovs-vsctl get Everflow . status:state)" = active ]
}

# line_count NUMBER COUNTER: as everflow/show has it now.
line_count() { line_switch "$1" ovs-appctl everflow/show | sed -n "s/^$2: //p"; }
