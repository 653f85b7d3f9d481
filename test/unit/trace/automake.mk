if HAVE_CMOCKA
check_PROGRAMS += test/unit/trace/test_packet_trace test/unit/trace/test_trace_json test/unit/trace/test_trace_page
TESTS += test/unit/trace/test_packet_trace test/unit/trace/test_trace_json test/unit/trace/test_trace_page
test_unit_trace_test_packet_trace_SOURCES = test/unit/trace/test_packet_trace.c
test_unit_trace_test_packet_trace_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_trace_test_packet_trace_LDADD = $(EF_TEST_LDADD)
test_unit_trace_test_trace_json_SOURCES = test/unit/trace/test_trace_json.c
test_unit_trace_test_trace_json_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_trace_test_trace_json_LDADD = $(EF_TEST_LDADD)
test_unit_trace_test_trace_page_SOURCES = test/unit/trace/test_trace_page.c
test_unit_trace_test_trace_page_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_trace_test_trace_page_LDADD = $(EF_TEST_LDADD)
endif
