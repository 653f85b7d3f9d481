if HAVE_CMOCKA
EF_RESHUFFLER_TEST_LDADD = reshuffler/libreshuffler.a $(EF_TEST_LDADD)
EF_RESHUFFLER_TESTS = \
	test/unit/reshuffler/test_answer test/unit/reshuffler/test_conf test/unit/reshuffler/test_congestion test/unit/reshuffler/test_forward test/unit/reshuffler/test_health \
	test/unit/reshuffler/test_members test/unit/reshuffler/test_outer_ip test/unit/reshuffler/test_reach test/unit/reshuffler/test_steer test/unit/reshuffler/test_tally
check_PROGRAMS += $(EF_RESHUFFLER_TESTS)
TESTS += $(EF_RESHUFFLER_TESTS)

test_unit_reshuffler_test_conf_SOURCES = test/unit/reshuffler/test_conf.c
test_unit_reshuffler_test_conf_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_reshuffler_test_conf_LDADD = $(EF_RESHUFFLER_TEST_LDADD)

test_unit_reshuffler_test_forward_SOURCES = test/unit/reshuffler/test_forward.c
test_unit_reshuffler_test_forward_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_reshuffler_test_forward_LDADD = $(EF_RESHUFFLER_TEST_LDADD)

test_unit_reshuffler_test_outer_ip_SOURCES = test/unit/reshuffler/test_outer_ip.c
test_unit_reshuffler_test_outer_ip_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_reshuffler_test_outer_ip_LDADD = $(EF_RESHUFFLER_TEST_LDADD)

test_unit_reshuffler_test_reach_SOURCES = test/unit/reshuffler/test_reach.c
test_unit_reshuffler_test_reach_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_reshuffler_test_reach_LDADD = $(EF_RESHUFFLER_TEST_LDADD)

test_unit_reshuffler_test_steer_SOURCES = test/unit/reshuffler/test_steer.c
test_unit_reshuffler_test_steer_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_reshuffler_test_steer_LDADD = $(EF_RESHUFFLER_TEST_LDADD)

test_unit_reshuffler_test_tally_SOURCES = test/unit/reshuffler/test_tally.c
test_unit_reshuffler_test_tally_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_reshuffler_test_tally_LDADD = $(EF_RESHUFFLER_TEST_LDADD)
endif

test_unit_reshuffler_test_health_SOURCES = test/unit/reshuffler/test_health.c
test_unit_reshuffler_test_health_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_reshuffler_test_health_LDADD = $(EF_RESHUFFLER_TEST_LDADD)

test_unit_reshuffler_test_members_SOURCES = test/unit/reshuffler/test_members.c
test_unit_reshuffler_test_members_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
test_unit_reshuffler_test_members_LDADD = $(EF_RESHUFFLER_TEST_LDADD)

test_unit_reshuffler_test_answer_SOURCES = test/unit/reshuffler/test_answer.c
test_unit_reshuffler_test_answer_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_reshuffler_test_answer_LDADD = $(EF_RESHUFFLER_TEST_LDADD)

test_unit_reshuffler_test_congestion_SOURCES = test/unit/reshuffler/test_congestion.c
test_unit_reshuffler_test_congestion_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_reshuffler_test_congestion_LDADD = $(EF_RESHUFFLER_TEST_LDADD)
