#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every column of the configuration is changed again and again while packets of
# all kinds flow, for each kind of datapath: nothing is lost, nothing crashes, and
# no packet is forwarded other than without Everflow.
#
# EF_RECONFIGURE_PACKETS is how many flow through each (default 100000).

load common
load line

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    export LINE=ef-re$$ LINE_DIR=$BATS_FILE_TMPDIR LINE_N=1 PACKETS=${EF_RECONFIGURE_PACKETS:-100000}
    make -C "$EF_BUILD" test/tools/cross_switches >/dev/null
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    line_begin
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    line_end
}

line_flows() {
    echo "in_port=1,actions=output:2"
    for port in LOCAL 2; do
        echo "in_port=$port,ip,nw_dst=10.255.255.0/24,actions=output:3"
        echo "in_port=$port,ipv6,ipv6_dst=fd00:255::/64,actions=output:3"
    done
}

cross() { # NOTES
    mkdir -p "$LINE_DIR/$1"
    "$EF_BUILD/test/tools/cross_switches" --count "$PACKETS" --notes "$LINE_DIR/$1" "in@$LINE-t" "out@$LINE-t" "c1@$LINE-t" >"$LINE_DIR/$1/result"
}

ALL=classes=tcp_syn,tcp_fin,tcp_rst,debug,bgp,pfc,rdma_nack,cnp

# One change a line: columns of Everflow; none of them changes what is forwarded.
changes() {
    cat <<END
encap=gre
encap=erspan2 truncate=64
encap=erspan3
truncate=0
targets=10.255.255.1,10.255.255.2,10.255.255.3
targets=10.255.255.2
classes=tcp_syn
classes=[]
sample_bits=2
sample_bits=5 sample_value=9
sample_key=77
$ALL
debug_dscp=3
debug_dscp=0
rate_kpps=1 burst=5
rate_kpps=5
rate_kpps=0 burst=0
inject_port=p2
inject_port=[]
routing=native
routing=openflow
decap=true probe_sources=10.0.0.0/8,192.0.2.0/24
decap=false probe_sources=[]
edge_ports=p3
edge_ports=[]
drop_copies=chosen
drop_copies=all
drop_copies=[]
egress=true
egress=false
ttl_exceeded=true ttl_exceeded_rate=7
ttl_exceeded=false ttl_exceeded_rate=[]
source_ip=10.255.0.9
source_ip="fd00:255:0:1::9" targets="fd00:255::1","fd00:255::2"
source_ip=10.255.0.1 targets=10.255.255.1
sample_bits=0 sample_key=0
END
}

rules_changed() {
    line_switch 1 ovs-vsctl -- --id=@a create Everflow_Rule 'match="udp,tp_dst=5201"' \
        -- --id=@b create Everflow_Rule 'match="tcp"' sample_bits=4 \
        -- --id=@c create Everflow_Rule action=mark 'match="udp,tp_dst=7"' \
        -- set Everflow . rules=@a,@b,@c >/dev/null
    line_switch 1 ovs-vsctl set Everflow . 'rules=[]'
}

off_and_on() {
    line_switch 1 ovs-vsctl clear Open_vSwitch . everflow
    line_everflow 1 $ALL
}

change_everything() {
    local line
    while read -r line; do
        # shellcheck disable=SC2086 # several columns
        line_switch 1 ovs-vsctl set Everflow . $line
        [ "$(line_switch 1 ovs-vsctl get Everflow . status:state)" = active ] || {
            line_switch 1 ovs-vsctl get Everflow . status
            echo "$line: not active" >&2
            return 1
        }
    done < <(changes)
    rules_changed
    off_and_on
}

# Every frame came as without changes; with DPDK, whose packet sockets lose some on a busy
# machine, every one that came both times, and nearly all did.
forwarded_as_before() { # KIND
    if [ "$1" != dpdk ]; then
        cmp "$LINE_DIR/constant/forwarded" "$LINE_DIR/changing/forwarded"
        return
    fi
    jq -e '.forwarded > 0.9 * .sent' "$LINE_DIR/changing/result"
    python3 - "$LINE_DIR"/{constant,changing}/forwarded <<'END'
import sys
before, after = (memoryview(open(name, "rb").read()).cast("Q") for name in sys.argv[1:])
assert len(before) == len(after)
differ = [i for i, (a, b) in enumerate(zip(before, after)) if a and b and a != b]
assert not differ, f"frames {differ[:10]} are not as before"
END
}

# Rounds of changes, at least 5, for as long as packets flow.
under_traffic() { # KIND
    local rounds=0 pid runs=0
    while [ $rounds -lt 5 ]; do
        cross changing 3>&- &
        pid=$!
        runs=$((runs + 1))
        until demo_gone $pid; do
            change_everything
            rounds=$((rounds + 1))
        done
        wait $pid || { cat "$LINE_DIR/changing/result"; return 1; }
        jq -e --argjson altered "$altered" '.forwarded_again == 0 and .foreign == 0 and .kernel_drops == 0
            and .switches[0].copies > 0 and (.switches[0].altered == 0 or $altered)' "$LINE_DIR/changing/result"
        forwarded_as_before "$1"
    done
    echo "$rounds rounds of changes, $((runs * PACKETS)) packets"
}

reconfigure() { # KIND
    local pid altered=false
    line_datapath "$1"
    line_start 1 "${LINE_DATAPATH[@]}"
    pid=$(cat "$LINE_DIR/s1/ovs-vswitchd.pid")
    cross constant
    if [ "$1" = dpdk ]; then
        altered=true
        jq -e '.forwarded > 0.9 * .sent' "$LINE_DIR/constant/result"
    else
        jq -e '.forwarded == .sent' "$LINE_DIR/constant/result"
    fi
    off_and_on
    under_traffic "$1"
    [ "$(cat "$LINE_DIR/s1/ovs-vswitchd.pid")" = "$pid" ]
    ! demo_gone "$pid"
    ! grep -E '\|(EMER|ERR)\|' "$LINE_DIR/s1/ovs-vswitchd.log" | grep -v setrlimit
}

@test "all columns are among those that change" {
    changes | tr ' ' '\n' | sed 's/=.*//' | sort -u >"$BATS_TEST_TMPDIR/changed"
    jq -r '.tables.Everflow.columns | keys[]' "$EF_OVS_PREFIX/share/openvswitch/vswitch.ovsschema" |
        grep -vxE 'rules|statistics|status|external_ids' | sort >"$BATS_TEST_TMPDIR/columns"
    diff "$BATS_TEST_TMPDIR/columns" "$BATS_TEST_TMPDIR/changed"
}

@test "packet sockets, main thread" {
    reconfigure packet
}

@test "AF_XDP, PMD threads" {
    grep -q afxdp-nonpmd "$EF_OVS_PREFIX/sbin/ovs-vswitchd" || skip "Open vSwitch was built without AF_XDP"
    reconfigure afxdp
}

@test "DPDK, PMD threads with two queues" {
    export LINE_OVS=${EF_OVS_DPDK_PREFIX:-$EF_BUILD/ovs-dpdk/install}
    [ -x "$LINE_OVS/sbin/ovs-vswitchd" ] || skip "no Open vSwitch with DPDK (make ovs-dpdk)"
    reconfigure dpdk
}
