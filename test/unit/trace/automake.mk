if HAVE_CMOCKA
check_PROGRAMS += test/unit/trace/test_packet_trace test/unit/trace/test_trace_json
TESTS += test/unit/trace/test_packet_trace test/unit/trace/test_trace_json
test_unit_trace_test_packet_trace_SOURCES = test/unit/trace/test_packet_trace.c
test_unit_trace_test_packet_trace_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_trace_test_packet_trace_LDADD = $(EF_TEST_LDADD)
test_unit_trace_test_trace_json_SOURCES = test/unit/trace/test_trace_json.c
test_unit_trace_test_trace_json_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_trace_test_trace_json_LDADD = $(EF_TEST_LDADD)
endif
