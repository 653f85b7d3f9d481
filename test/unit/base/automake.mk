if HAVE_CMOCKA
check_PROGRAMS += test/unit/base/test_base test/unit/base/test_daemon test/unit/base/test_histogram
TESTS += test/unit/base/test_base test/unit/base/test_daemon test/unit/base/test_histogram
test_unit_base_test_base_SOURCES = test/unit/base/test_base.c
test_unit_base_test_base_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_base_test_base_LDADD = $(EF_TEST_LDADD)
test_unit_base_test_daemon_SOURCES = test/unit/base/test_daemon.c
test_unit_base_test_daemon_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_base_test_daemon_LDADD = $(EF_TEST_LDADD)
test_unit_base_test_histogram_SOURCES = test/unit/base/test_histogram.c
test_unit_base_test_histogram_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_base_test_histogram_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/base/test_options_file
TESTS += test/unit/base/test_options_file
test_unit_base_test_options_file_SOURCES = test/unit/base/test_options_file.c
test_unit_base_test_options_file_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_base_test_options_file_LDADD = $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/base/test_privileges
TESTS += test/unit/base/test_privileges
test_unit_base_test_privileges_SOURCES = test/unit/base/test_privileges.c
test_unit_base_test_privileges_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_base_test_privileges_LDADD = $(EF_TEST_LDADD)
endif
