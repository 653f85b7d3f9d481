if HAVE_CMOCKA
EF_IO_TESTS = test/unit/io/test_afpacket test/unit/io/test_copy_filter test/unit/io/test_pcap test/unit/io/test_spec
check_PROGRAMS += $(EF_IO_TESTS)
TESTS += $(EF_IO_TESTS)

test_unit_io_test_afpacket_SOURCES = test/unit/io/test_afpacket.c
test_unit_io_test_afpacket_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_io_test_afpacket_LDADD = $(EF_TEST_LDADD)

test_unit_io_test_copy_filter_SOURCES = test/unit/io/test_copy_filter.c
test_unit_io_test_copy_filter_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_io_test_copy_filter_LDADD = $(EF_TEST_LDADD)

test_unit_io_test_pcap_SOURCES = test/unit/io/test_pcap.c
test_unit_io_test_pcap_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_io_test_pcap_LDADD = $(EF_TEST_LDADD)

test_unit_io_test_spec_SOURCES = test/unit/io/test_spec.c
test_unit_io_test_spec_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_io_test_spec_LDADD = $(EF_TEST_LDADD)
endif
