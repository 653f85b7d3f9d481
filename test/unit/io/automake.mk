if HAVE_CMOCKA
EF_IO_TESTS = test/unit/io/test_afpacket test/unit/io/test_copy_filter test/unit/io/test_pcap test/unit/io/test_spec \
	test/unit/io/test_tick_line
check_PROGRAMS += $(EF_IO_TESTS)
TESTS += $(EF_IO_TESTS)

EXTRA_DIST += test/unit/io/test_dpdk.c
if HAVE_DPDK
check_PROGRAMS += test/unit/io/test_dpdk
TESTS += test/unit/io/test_dpdk
test_unit_io_test_dpdk_SOURCES = test/unit/io/test_dpdk.c
test_unit_io_test_dpdk_CPPFLAGS = $(EF_TEST_CPPFLAGS) $(DPDK_CFLAGS)
test_unit_io_test_dpdk_LDADD = $(EF_TEST_LDADD)
endif

test_unit_io_test_afpacket_SOURCES = test/unit/io/test_afpacket.c
test_unit_io_test_afpacket_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_io_test_afpacket_LDADD = $(EF_TEST_LDADD)

test_unit_io_test_copy_filter_SOURCES = test/unit/io/test_copy_filter.c
test_unit_io_test_copy_filter_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_io_test_copy_filter_LDADD = $(EF_TEST_LDADD)

test_unit_io_test_pcap_SOURCES = test/unit/io/test_pcap.c
test_unit_io_test_pcap_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_io_test_pcap_LDADD = $(EF_TEST_LDADD)

test_unit_io_test_tick_line_SOURCES = test/unit/io/test_tick_line.c
test_unit_io_test_tick_line_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_io_test_tick_line_LDADD = $(EF_TEST_LDADD)

test_unit_io_test_spec_SOURCES = test/unit/io/test_spec.c
test_unit_io_test_spec_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_io_test_spec_LDADD = $(EF_TEST_LDADD)
endif
