if HAVE_CMOCKA
EF_ANALYZER_TESTS = \
	test/unit/analyzer/test_analyzer \
	test/unit/analyzer/test_archiver \
	test/unit/analyzer/test_assemble \
	test/unit/analyzer/test_clock \
	test/unit/analyzer/test_counting \
	test/unit/analyzer/test_judge \
	test/unit/analyzer/test_last_hops \
	test/unit/analyzer/test_load_history \
	test/unit/analyzer/test_loss_table \
	test/unit/analyzer/test_trace_query \
	test/unit/analyzer/test_overload \
	test/unit/analyzer/test_storm \
	test/unit/analyzer/test_trace_row \
	test/unit/analyzer/test_trace_search \
	test/unit/analyzer/test_trace_sieve \
	test/unit/analyzer/test_trace_store \
	test/unit/analyzer/test_truth \
	test/unit/analyzer/test_worker
EF_ANALYZER_TEST_LDADD = analyzer/libanalyzer.a $(EF_TEST_LDADD)
check_PROGRAMS += $(EF_ANALYZER_TESTS)
TESTS += $(EF_ANALYZER_TESTS)

test_unit_analyzer_test_analyzer_SOURCES = test/unit/analyzer/test_analyzer.c
test_unit_analyzer_test_analyzer_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_analyzer_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_assemble_SOURCES = test/unit/analyzer/test_assemble.c test/unit/analyzer/copies.h
test_unit_analyzer_test_assemble_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_assemble_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_trace_store_SOURCES = test/unit/analyzer/test_trace_store.c
test_unit_analyzer_test_trace_store_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_trace_store_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_trace_query_SOURCES = test/unit/analyzer/test_trace_query.c test/unit/analyzer/random_traces.h
test_unit_analyzer_test_trace_query_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_analyzer_test_trace_query_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_trace_row_SOURCES = test/unit/analyzer/test_trace_row.c
test_unit_analyzer_test_trace_row_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_trace_row_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_trace_search_SOURCES = test/unit/analyzer/test_trace_search.c
test_unit_analyzer_test_trace_search_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_trace_search_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_trace_sieve_SOURCES = test/unit/analyzer/test_trace_sieve.c test/unit/analyzer/random_traces.h
test_unit_analyzer_test_trace_sieve_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_analyzer_test_trace_sieve_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_archiver_SOURCES = test/unit/analyzer/test_archiver.c
test_unit_analyzer_test_archiver_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_archiver_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_counting_SOURCES = test/unit/analyzer/test_counting.c
test_unit_analyzer_test_counting_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_counting_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_judge_SOURCES = test/unit/analyzer/test_judge.c
test_unit_analyzer_test_judge_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_judge_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_last_hops_SOURCES = test/unit/analyzer/test_last_hops.c
test_unit_analyzer_test_last_hops_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_last_hops_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_clock_SOURCES = test/unit/analyzer/test_clock.c test/unit/analyzer/lane.h test/bench/copy_stream.h
test_unit_analyzer_test_clock_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_analyzer_test_clock_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_loss_table_SOURCES = test/unit/analyzer/test_loss_table.c
test_unit_analyzer_test_loss_table_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_loss_table_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_load_history_SOURCES = test/unit/analyzer/test_load_history.c
test_unit_analyzer_test_load_history_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_load_history_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_overload_SOURCES = test/unit/analyzer/test_overload.c test/unit/analyzer/lane.h test/bench/copy_stream.h
test_unit_analyzer_test_overload_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_analyzer_test_overload_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_storm_SOURCES = test/unit/analyzer/test_storm.c test/unit/analyzer/lane.h
test_unit_analyzer_test_storm_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_storm_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_worker_SOURCES = test/unit/analyzer/test_worker.c test/unit/analyzer/lane.h test/bench/copy_stream.h
test_unit_analyzer_test_worker_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_analyzer_test_worker_LDADD = $(EF_ANALYZER_TEST_LDADD)

test_unit_analyzer_test_truth_SOURCES = test/unit/analyzer/test_truth.c
test_unit_analyzer_test_truth_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_truth_LDADD = utilities/replay/libreplay.a reshuffler/libreshuffler.a $(EF_ANALYZER_TEST_LDADD)
endif
