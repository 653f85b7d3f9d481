if HAVE_CMOCKA
PACKET_TESTS = test/unit/packet/test_packet \
	test/unit/packet/test_identity \
	test/unit/packet/test_integrity \
	test/unit/packet/test_copy \
	test/unit/packet/test_copy_sequence \
	test/unit/packet/test_loss_report \
	test/unit/packet/test_build \
	test/unit/packet/test_probe_signature \
	test/unit/packet/test_summary \
	test/unit/packet/test_mutations \
	test/unit/packet/test_pcapng \
	test/unit/packet/test_vectors
check_PROGRAMS += $(PACKET_TESTS)
TESTS += $(PACKET_TESTS)
PACKET_TEST_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
PACKET_SAMPLES = test/unit/packet/samples.c test/unit/packet/samples.h
PACKET_CHECK = test/unit/packet/check_frame.c test/unit/packet/check_frame.h
test_unit_packet_test_packet_SOURCES = test/unit/packet/test_packet.c $(PACKET_SAMPLES)
test_unit_packet_test_packet_CPPFLAGS = $(PACKET_TEST_CPPFLAGS)
test_unit_packet_test_packet_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_identity_SOURCES = test/unit/packet/test_identity.c $(PACKET_SAMPLES)
test_unit_packet_test_identity_CPPFLAGS = $(PACKET_TEST_CPPFLAGS)
test_unit_packet_test_identity_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_integrity_SOURCES = test/unit/packet/test_integrity.c
test_unit_packet_test_integrity_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_packet_test_integrity_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_copy_SOURCES = test/unit/packet/test_copy.c $(PACKET_SAMPLES)
test_unit_packet_test_copy_CPPFLAGS = $(PACKET_TEST_CPPFLAGS)
test_unit_packet_test_copy_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_loss_report_SOURCES = test/unit/packet/test_loss_report.c
test_unit_packet_test_loss_report_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_packet_test_loss_report_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_copy_sequence_SOURCES = test/unit/packet/test_copy_sequence.c
test_unit_packet_test_copy_sequence_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_packet_test_copy_sequence_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_build_SOURCES = test/unit/packet/test_build.c $(PACKET_SAMPLES)
test_unit_packet_test_build_CPPFLAGS = $(PACKET_TEST_CPPFLAGS)
test_unit_packet_test_build_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_probe_signature_SOURCES = test/unit/packet/test_probe_signature.c
test_unit_packet_test_probe_signature_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_packet_test_probe_signature_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_summary_SOURCES = test/unit/packet/test_summary.c $(PACKET_SAMPLES)
test_unit_packet_test_summary_CPPFLAGS = $(PACKET_TEST_CPPFLAGS)
test_unit_packet_test_summary_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_mutations_SOURCES = test/unit/packet/test_mutations.c $(PACKET_SAMPLES) $(PACKET_CHECK)
test_unit_packet_test_mutations_CPPFLAGS = $(PACKET_TEST_CPPFLAGS)
test_unit_packet_test_mutations_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_vectors_SOURCES = test/unit/packet/test_vectors.c
test_unit_packet_test_vectors_CPPFLAGS = $(PACKET_TEST_CPPFLAGS)
test_unit_packet_test_vectors_LDADD = $(EF_TEST_LDADD)
test_unit_packet_test_pcapng_SOURCES = test/unit/packet/test_pcapng.c
test_unit_packet_test_pcapng_CPPFLAGS = $(PACKET_TEST_CPPFLAGS)
test_unit_packet_test_pcapng_LDADD = $(EF_TEST_LDADD)
endif
EXTRA_DIST += test/vectors/README.md test/vectors/real.pcap test/vectors/made.pcapng test/vectors/fields \
	test/tools/tshark_fields
