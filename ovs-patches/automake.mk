# ovs-patches: Open vSwitch with our patches, built and tested below $(builddir)/ovs.
# OVS_SOURCE is the tarball of Debian's package openvswitch-source.

OVS_SOURCE = /usr/src/openvswitch/openvswitch.tar.gz
OVS_JOBS =

EXTRA_DIST += \
	ovs-patches/README.md \
	ovs-patches/build \
	ovs-patches/check \
	ovs-patches/check-upstream \
	ovs-patches/series \
	ovs-patches/0001-everflow-Classify-packets-and-build-the-headers-of-c.patch \
	ovs-patches/0002-dpif-netdev-Copy-received-packets-for-Everflow.patch \
	ovs-patches/0003-vswitchd-Configure-Everflow-in-the-database.patch \
	ovs-patches/0004-vswitchd-Report-what-Everflow-does.patch \
	ovs-patches/0005-Documentation-Describe-Everflow.patch \
	ovs-patches/0006-everflow-Choose-BGP-RoCEv2-flow-control-and-sampled-.patch \
	ovs-patches/0007-everflow-Limit-the-rate-of-copies.patch \
	ovs-patches/0008-everflow-Decapsulate-guided-probes.patch \
	ovs-patches/0009-everflow-Copy-and-mark-packets-by-rules.patch \
	ovs-patches/0010-everflow-Clear-the-debug-bit-at-the-edge-of-the-netw.patch \
	ovs-patches/0011-everflow-Send-copies-over-IPv6.patch \
	ovs-patches/0012-everflow-Let-rules-expire-and-name-their-input-port.patch \
	ovs-patches/0013-everflow-Route-copies-as-native-tunnels-do.patch \
	ovs-patches/0014-everflow-Explain-what-happens-to-a-packet.patch \
	ovs-patches/0015-everflow-Look-at-whole-bursts-at-once.patch \
	ovs-patches/0016-tests-Add-fuzz-target-for-Everflow.patch \
	ovs-patches/0017-dpif-netdev-Hold-copies-to-process-many-at-once.patch \
	ovs-patches/0018-tests-Check-each-Everflow-class-in-each-encapsulatio.patch \
	ovs-patches/0019-tests-Keep-the-Everflow-fuzz-target-fast-and-small.patch \
	ovs-patches/0020-everflow-Copy-dropped-packets-with-the-reason.patch \
	ovs-patches/0021-tests-Wait-for-the-new-flow-before-a-copy-takes-it.patch \
	ovs-patches/0022-ofproto-dpif-xlate-Tell-neighbor-advertisements-from.patch \
	ovs-patches/0023-everflow-Send-ICMP-time-exceeded.patch \
	ovs-patches/0024-everflow-Keep-copies-of-dropped-packets-in-order.patch \
	ovs-patches/0025-everflow-Copy-packets-when-they-leave.patch \
	ovs-patches/0026-everflow-Route-ICMP-time-exceeded-as-native-tunnels-.patch \
	ovs-patches/0027-everflow-Take-copies-of-DPDK-packets-from-their-memo.patch \
	ovs-patches/0028-tests-Check-more-reasons-of-drops-and-their-budget.patch \
	ovs-patches/0029-everflow-Match-on-the-group-bit-only-for-ICMP-time-e.patch \
	ovs-patches/0030-tests-Give-NORMAL-a-priority-of-its-own-in-tests-of-.patch

# What it put on the wire: the contract with lib/packet.
EXTRA_DIST += \
	test/vectors/ovs/README.md \
	test/vectors/ovs/debug.pcap \
	test/vectors/ovs/erspan2.pcap \
	test/vectors/ovs/erspan3.pcap \
	test/vectors/ovs/gre.pcap \
	test/vectors/ovs/ipv6.pcap \
	test/vectors/ovs/outer6-erspan2.pcap \
	test/vectors/ovs/outer6-erspan3.pcap \
	test/vectors/ovs/outer6-gre.pcap \
	test/vectors/ovs/outer6-mtu.pcap \
	test/vectors/ovs/sampled.pcap \
	test/vectors/ovs/truncated-erspan2.pcap \
	test/vectors/ovs/truncated.pcap \
	test/vectors/ovs/tunnels.pcap \
	test/vectors/ovs/vlan-erspan2.pcap \
	test/vectors/ovs/vlan-erspan3.pcap \
	test/vectors/ovs/vlan-gre.pcap

# Up to date is decided by the script, from the contents of what goes in.
.PHONY: ovs ovs-check check-ovs ovs-dpdk check-ovs-dpdk ovs-stock-dpdk bench-ovs
ovs:
	$(srcdir)/ovs-patches/build --source $(OVS_SOURCE) --into $(builddir)/ovs $(if $(OVS_JOBS),--jobs $(OVS_JOBS))
ovs-check: ovs
	$(srcdir)/ovs-patches/check $(builddir)/ovs
# Open vSwitch's own tests, as before the patches; CHECK_OVS=all: every one.
check-ovs: ovs
	$(srcdir)/ovs-patches/check-upstream --source $(OVS_SOURCE) $(if $(filter all,$(CHECK_OVS)),--all) $(builddir)/ovs
# The same with DPDK, for what only it has.
ovs-dpdk:
	$(srcdir)/ovs-patches/build --dpdk --source $(OVS_SOURCE) --into $(builddir)/ovs-dpdk $(if $(OVS_JOBS),--jobs $(OVS_JOBS))
# Packets through all the datapaths that there are, DPDK among them; as root.
check-ovs-dpdk: ovs ovs-dpdk test-tools
	EF_SOURCE=$(abs_top_srcdir) EF_BUILD=$(abs_builddir) EF_OVS_PREFIX=$(abs_builddir)/ovs/install \
	  bats --tap $(srcdir)/test/system/datapaths.bats $(srcdir)/test/system/reconfigure.bats
# What Everflow costs there, next to the unpatched switch; as root. BENCH_OVS is
# given to test/bench/ovs/bench-ovs: BENCH_OVS="--rounds 3".
ovs-stock-dpdk:
	$(srcdir)/ovs-patches/build --stock --dpdk --source $(OVS_SOURCE) --into $(builddir)/ovs-stock-dpdk $(if $(OVS_JOBS),--jobs $(OVS_JOBS))
bench-ovs: ovs-dpdk ovs-stock-dpdk
	$(srcdir)/test/bench/ovs/bench-ovs --stock $(abs_builddir)/ovs-stock-dpdk/install \
	  --patched $(abs_builddir)/ovs-dpdk/install $(BENCH_OVS)
