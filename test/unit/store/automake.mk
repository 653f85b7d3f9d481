if HAVE_CMOCKA
check_PROGRAMS += test/unit/store/test_multilog
TESTS += test/unit/store/test_multilog
test_unit_store_test_multilog_SOURCES = test/unit/store/test_multilog.c
test_unit_store_test_multilog_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_store_test_multilog_LDADD = $(EF_TEST_LDADD)

check_PROGRAMS += test/unit/store/test_index
TESTS += test/unit/store/test_index
test_unit_store_test_index_SOURCES = test/unit/store/test_index.c
test_unit_store_test_index_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_store_test_index_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_history
TESTS += test/unit/store/test_history
test_unit_store_test_history_SOURCES = test/unit/store/test_history.c
test_unit_store_test_history_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_store_test_history_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_capture
TESTS += test/unit/store/test_capture
test_unit_store_test_capture_SOURCES = test/unit/store/test_capture.c
test_unit_store_test_capture_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_store_test_capture_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_derived
TESTS += test/unit/store/test_derived
test_unit_store_test_derived_SOURCES = test/unit/store/test_derived.c
test_unit_store_test_derived_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_store_test_derived_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_filter_set
TESTS += test/unit/store/test_filter_set
test_unit_store_test_filter_set_SOURCES = test/unit/store/test_filter_set.c
test_unit_store_test_filter_set_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_store_test_filter_set_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_trigger
TESTS += test/unit/store/test_trigger
test_unit_store_test_trigger_SOURCES = test/unit/store/test_trigger.c
test_unit_store_test_trigger_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_store_test_trigger_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_predicate
TESTS += test/unit/store/test_predicate
test_unit_store_test_predicate_SOURCES = test/unit/store/test_predicate.c
test_unit_store_test_predicate_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_store_test_predicate_LDADD = $(EF_TEST_LDADD)

check_PROGRAMS += test/unit/store/test_query
TESTS += test/unit/store/test_query
test_unit_store_test_query_SOURCES = test/unit/store/test_query.c
test_unit_store_test_query_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_store_test_query_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_parquet
TESTS += test/unit/store/test_parquet
test_unit_store_test_parquet_SOURCES = test/unit/store/test_parquet.c \
	test/unit/store/random_rows.c test/unit/store/random_rows.h
test_unit_store_test_parquet_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_store_test_parquet_LDADD = $(EF_TEST_LDADD)

check_PROGRAMS += test/unit/store/test_query_cases
TESTS += test/unit/store/test_query_cases
test_unit_store_test_query_cases_SOURCES = test/unit/store/test_query_cases.c
test_unit_store_test_query_cases_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_store_test_query_cases_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_spool
TESTS += test/unit/store/test_spool
test_unit_store_test_spool_SOURCES = test/unit/store/test_spool.c test/unit/store/failing_ops.h \
	test/unit/store/random_rows.c test/unit/store/random_rows.h
test_unit_store_test_spool_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_store_test_spool_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_archive
TESTS += test/unit/store/test_archive
test_unit_store_test_archive_SOURCES = test/unit/store/test_archive.c test/unit/store/archive_rows.h \
	test/unit/store/failing_ops.h
test_unit_store_test_archive_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_store_test_archive_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/store/test_archive_crash
TESTS += test/unit/store/test_archive_crash
test_unit_store_test_archive_crash_SOURCES = test/unit/store/test_archive_crash.c test/unit/store/archive_rows.h \
	test/unit/store/failing_ops.h
test_unit_store_test_archive_crash_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_store_test_archive_crash_LDADD = $(EF_TEST_LDADD)
endif
TESTS += test/unit/store/snapshot_model.sh
EXTRA_DIST += test/unit/store/snapshot_model.sh test/unit/store/snapshot.pml test/unit/store/wake.pml
