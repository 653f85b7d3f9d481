#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The same packets of all kinds through a switch on packet sockets, on AF_XDP and
# on DPDK: it copies the same ones, whatever brings them.

load common
load line

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    export LINE=ef-dp$$ LINE_DIR=$BATS_FILE_TMPDIR LINE_N=1 PACKETS=50000
    make -C "$EF_BUILD" test/tools/cross_switches >/dev/null
    copy_on packet
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

line_flows() {
    echo "in_port=1,actions=output:2"
    echo "in_port=LOCAL,ip,nw_dst=10.255.255.1,actions=output:3"
}

# Sends packets through a switch of that kind; its notes are in the folder $1.
copy_on() { # KIND
    line_begin
    line_datapath "$1"
    line_start 1 "${LINE_DATAPATH[@]}"
    line_everflow 1 classes=tcp_syn,tcp_fin,tcp_rst,debug,bgp,pfc,rdma_nack,cnp sample_bits=4 sample_value=9
    mkdir -p "$LINE_DIR/$1"
    "$EF_BUILD/test/tools/cross_switches" --count "$PACKETS" --notes "$LINE_DIR/$1" \
        "in@$LINE-t" "out@$LINE-t" "c1@$LINE-t" >"$LINE_DIR/$1/result" || :
    line_switch 1 ovs-appctl dpif-netdev/pmd-rxq-show >"$LINE_DIR/$1/queues"
    line_end
}

# Each frame that came out was copied, or not, as on packet sockets.
copied_alike() { # KIND
    python3 - "$LINE_DIR/packet" "$LINE_DIR/$1" <<END
import sys
def read(folder, name):
    with open(f"{folder}/{name}", "rb") as f:
        return f.read()
here, there = sys.argv[1:]
out = memoryview(read(there, "forwarded")).cast("Q")
a, b = read(here, "copies.1"), read(there, "copies.1")
alike = [a[i] == b[i] for i in range(len(a)) if out[i]]
print(f"{len(alike)} came out, {sum(alike)} of them alike")
sys.exit(len(alike) < 0.9 * len(a) or not all(alike))
END
}

@test "packet sockets: everything comes out, copies are whole and without a gap" {
    jq -e '.sent == .forwarded and (.switches[0] | .copies > 10000 and .altered + .foreign + .sequence_missing + .copied_twice == 0)' \
        "$LINE_DIR/packet/result"
}

@test "AF_XDP, two PMD threads: the same" {
    grep -q afxdp-nonpmd "$EF_OVS_PREFIX/sbin/ovs-vswitchd" || skip "Open vSwitch was built without AF_XDP"
    copy_on afxdp
    jq -e '.sent == .forwarded and (.switches[0] | .copies > 10000 and .altered + .foreign + .sequence_missing + .copied_twice == 0)' \
        "$LINE_DIR/afxdp/result"
    [ "$(grep -c queue-id "$LINE_DIR/afxdp/queues")" = 2 ]
    cmp "$LINE_DIR/packet/copies.1" "$LINE_DIR/afxdp/copies.1"
}

@test "DPDK, two PMD threads, two queues a port: the same of what its driver takes" {
    export LINE_OVS=${EF_OVS_DPDK_PREFIX:-$EF_BUILD/ovs-dpdk/install}
    [ -x "$LINE_OVS/sbin/ovs-vswitchd" ] || skip "no Open vSwitch with DPDK (make ovs-dpdk)"
    copy_on dpdk
    jq -e '.switches[0] | .copies > 10000 and .foreign + .sequence_missing + .copied_twice == 0' "$LINE_DIR/dpdk/result"
    [ "$(grep -c queue-id "$LINE_DIR/dpdk/queues")" = 4 ]
    copied_alike dpdk
}
