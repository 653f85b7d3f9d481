if HAVE_CMOCKA
FILTER_TESTS = test/unit/filter/test_filter_match test/unit/filter/test_filter_text
check_PROGRAMS += $(FILTER_TESTS)
TESTS += $(FILTER_TESTS)
test_unit_filter_test_filter_text_SOURCES = test/unit/filter/test_filter_text.c
test_unit_filter_test_filter_text_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_filter_test_filter_text_LDADD = $(EF_TEST_LDADD)
test_unit_filter_test_filter_match_SOURCES = test/unit/filter/test_filter_match.c
test_unit_filter_test_filter_match_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_filter_test_filter_match_LDADD = $(EF_TEST_LDADD)
endif
