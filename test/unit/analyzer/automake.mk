if HAVE_CMOCKA
EF_ANALYZER_TEST_LDADD = analyzer/libanalyzer.a $(EF_TEST_LDADD)

check_PROGRAMS += test/unit/analyzer/test_assemble
TESTS += test/unit/analyzer/test_assemble
test_unit_analyzer_test_assemble_SOURCES = test/unit/analyzer/test_assemble.c test/unit/analyzer/copies.h
test_unit_analyzer_test_assemble_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_analyzer_test_assemble_LDADD = $(EF_ANALYZER_TEST_LDADD)
endif
