# A benchmark of group GROUP is test/bench/bench_GROUP, prints with bench.h, and
# is added so:
#   BENCHES += test/bench/bench_GROUP
#   test_bench_bench_GROUP_SOURCES = test/bench/bench_GROUP.c test/bench/bench.h
#   test_bench_bench_GROUP_LDADD = $(EF_LIBS)
EXTRA_DIST += test/bench/bench.h
BENCHES += test/bench/bench_parse
test_bench_bench_parse_SOURCES = test/bench/bench_parse.c test/bench/bench.h
test_bench_bench_parse_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_parse_LDADD = $(EF_LIBS)

BENCHES += test/bench/bench_collect
test_bench_bench_collect_SOURCES = test/bench/bench_collect.c test/bench/bench.h test/bench/erspan_copy.h \
	test/bench/packet_ring.h
test_bench_bench_collect_LDADD = reshuffler/libreshuffler.a $(EF_LIBS)
EXTRA_DIST += test/bench/bench_dpdk.c test/bench/erspan_copy.h test/bench/testpmd.h
if HAVE_DPDK
BENCHES += test/bench/bench_dpdk
test_bench_bench_dpdk_SOURCES = test/bench/bench_dpdk.c test/bench/bench.h test/bench/erspan_copy.h \
	test/bench/testpmd.h
test_bench_bench_dpdk_CPPFLAGS = $(AM_CPPFLAGS) $(DPDK_CFLAGS)
test_bench_bench_dpdk_LDADD = reshuffler/libreshuffler.a $(EF_LIBS)
endif
BENCHES += test/bench/bench_assemble
test_bench_bench_assemble_SOURCES = test/bench/bench_assemble.c test/bench/bench.h test/bench/copy_stream.h
test_bench_bench_assemble_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_assemble_LDADD = analyzer/libanalyzer.a $(EF_LIBS)
BENCHES += test/bench/bench_analyze
test_bench_bench_analyze_SOURCES = test/bench/bench_analyze.c test/bench/bench.h test/bench/copy_stream.h
test_bench_bench_analyze_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_analyze_LDADD = analyzer/libanalyzer.a $(EF_LIBS)
BENCHES += test/bench/bench_filter
test_bench_bench_filter_SOURCES = test/bench/bench_filter.c test/bench/bench.h
test_bench_bench_filter_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_filter_LDADD = $(EF_LIBS)
BENCHES += test/bench/bench_store
EXTRA_DIST += test/bench/store_records.h
test_bench_bench_store_SOURCES = test/bench/bench_store.c test/bench/bench.h
test_bench_bench_store_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_store_LDADD = $(EF_LIBS)
BENCHES += test/bench/bench_store_query
test_bench_bench_store_query_SOURCES = test/bench/bench_store_query.c test/bench/bench.h
test_bench_bench_store_query_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_store_query_LDADD = $(EF_LIBS)
BENCHES += test/bench/bench_store_trigger
test_bench_bench_store_trigger_SOURCES = test/bench/bench_store_trigger.c test/bench/bench.h
test_bench_bench_store_trigger_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_store_trigger_LDADD = $(EF_LIBS)
BENCHES += test/bench/bench_store_wall
test_bench_bench_store_wall_SOURCES = test/bench/bench_store_wall.c test/bench/bench.h
test_bench_bench_store_wall_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_store_wall_LDADD = $(EF_LIBS)
BENCHES += test/bench/bench_archive
test_bench_bench_archive_SOURCES = test/bench/bench_archive.c test/bench/bench.h test/bench/fabric_traces.h
test_bench_bench_archive_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_archive_LDADD = analyzer/libanalyzer.a $(EF_LIBS)
BENCHES += test/bench/bench_archive_query
test_bench_bench_archive_query_SOURCES = test/bench/bench_archive_query.c test/bench/bench.h test/bench/fabric_traces.h
test_bench_bench_archive_query_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_archive_query_LDADD = analyzer/libanalyzer.a $(EF_LIBS)
BENCHES += test/bench/bench_probe
test_bench_bench_probe_SOURCES = test/bench/bench_probe.c test/bench/bench.h
test_bench_bench_probe_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test -DEF_TEST_SRCDIR='"$(abs_top_srcdir)/test"'
test_bench_bench_probe_LDADD = guided-prober/libprober.a $(EF_LIBS)
EXTRA_DIST += test/bench/ovs/bench-ovs test/bench/ovs/packets.py
EXTRA_DIST += test/bench/many_switches
BENCHES += test/bench/bench_api
test_bench_bench_api_SOURCES = test/bench/bench_api.c test/bench/api_daemons.h test/bench/api_load.h test/bench/bench.h
test_bench_bench_api_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_bench_bench_api_LDADD = $(EF_LIBS)
