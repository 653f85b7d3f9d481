if HAVE_CMOCKA
packet_tests = test/unit/packet/test_packet
check_PROGRAMS += $(packet_tests)
TESTS += $(packet_tests)
test_unit_packet_test_packet_SOURCES = test/unit/packet/test_packet.c
test_unit_packet_test_packet_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_packet_test_packet_LDADD = $(EF_TEST_LDADD)
endif
