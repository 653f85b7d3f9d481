if HAVE_CMOCKA
check_PROGRAMS += test/unit/filter/test_filter_text
TESTS += test/unit/filter/test_filter_text
test_unit_filter_test_filter_text_SOURCES = test/unit/filter/test_filter_text.c
test_unit_filter_test_filter_text_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_filter_test_filter_text_LDADD = $(EF_TEST_LDADD)
endif
