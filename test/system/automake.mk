# The system tests (bats): run by test/run, not by `make check`.
EXTRA_DIST += test/system/reshuffler.bats
EXTRA_DIST += test/system/efctl.bats test/system/canned_http.py test/system/openapi.jq
EXTRA_DIST += test/system/tshark_encap.bats
EXTRA_DIST += test/system/controller.bats test/system/fake_analyzer.py
EXTRA_DIST += test/system/filter_oracle.bats test/system/filter_oracle/filters.txt test/vectors/real.pcapng
EXTRA_DIST += test/system/analyzer.bats test/system/analyzer_flood.bats test/system/make_copies.py
EXTRA_DIST += test/system/loop.bats test/system/expired_syns.py test/system/fabric_traces.bats
EXTRA_DIST += test/system/common.bash test/system/bad_start.bats test/system/right_paths.bats test/system/tcp_traffic.py
EXTRA_DIST += test/system/replay.bats
EXTRA_DIST += test/system/accounting.bats
EXTRA_DIST += test/system/line.bash test/system/line.bats test/system/reconfigure.bats
EXTRA_DIST += test/system/drop.bats
EXTRA_DIST += test/system/egress.bats
EXTRA_DIST += test/system/traceroute.bats
EXTRA_DIST += test/system/budget.bats
EXTRA_DIST += test/system/parquet_oracle.bats test/system/parquet_oracle/compare.mjs \
	test/system/parquet_oracle/package.json test/system/parquet_oracle/package-lock.json
EXTRA_DIST += test/system/archive.bats
EXTRA_DIST += test/system/datapaths.bats
EXTRA_DIST += test/system/dpdk.bats
EXTRA_DIST += test/system/native_routing.bats
EXTRA_DIST += test/system/probe.bats test/system/listening.py
EXTRA_DIST += test/system/tls.bats
EXTRA_DIST += test/system/counting.bats
EXTRA_DIST += test/system/faults.bats
EXTRA_DIST += test/system/topology_push.bats
EXTRA_DIST += test/system/rule_sets.bats
