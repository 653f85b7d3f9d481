if HAVE_CMOCKA
check_PROGRAMS += test/unit/replay/test_stream
TESTS += test/unit/replay/test_stream
test_unit_replay_test_stream_SOURCES = test/unit/replay/test_stream.c
test_unit_replay_test_stream_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_replay_test_stream_LDADD = utilities/replay/libreplay.a $(EF_TEST_LDADD)
endif
