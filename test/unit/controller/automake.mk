if HAVE_CMOCKA
EF_CONTROLLER_TESTS = \
	test/unit/controller/test_documents \
	test/unit/controller/test_rules \
	test/unit/controller/test_shedding \
	test/unit/controller/test_traces
check_PROGRAMS += $(EF_CONTROLLER_TESTS)
TESTS += $(EF_CONTROLLER_TESTS)
test_unit_controller_test_documents_SOURCES = test/unit/controller/test_documents.c
test_unit_controller_test_documents_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_documents_LDADD = controller/libcontroller.a $(EF_TEST_LDADD)
test_unit_controller_test_rules_SOURCES = test/unit/controller/test_rules.c
test_unit_controller_test_rules_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_rules_LDADD = controller/libcontroller.a $(EF_TEST_LDADD)
test_unit_controller_test_traces_SOURCES = test/unit/controller/test_traces.c
test_unit_controller_test_traces_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_traces_LDADD = controller/libcontroller.a $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/controller/test_probe_results
TESTS += test/unit/controller/test_probe_results
test_unit_controller_test_probe_results_SOURCES = test/unit/controller/test_probe_results.c
test_unit_controller_test_probe_results_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_probe_results_LDADD = controller/libcontroller.a $(EF_TEST_LDADD)
test_unit_controller_test_shedding_SOURCES = test/unit/controller/test_shedding.c
test_unit_controller_test_shedding_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_shedding_LDADD = controller/libcontroller.a $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/controller/test_rule_sets
TESTS += test/unit/controller/test_rule_sets
test_unit_controller_test_rule_sets_SOURCES = test/unit/controller/test_rule_sets.c
test_unit_controller_test_rule_sets_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_rule_sets_LDADD = controller/libcontroller.a $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/controller/test_round_trips
TESTS += test/unit/controller/test_round_trips
test_unit_controller_test_round_trips_SOURCES = test/unit/controller/test_round_trips.c
test_unit_controller_test_round_trips_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_round_trips_LDADD = controller/libcontroller.a $(EF_TEST_LDADD) -lm
check_PROGRAMS += test/unit/controller/test_state
TESTS += test/unit/controller/test_state
test_unit_controller_test_state_SOURCES = test/unit/controller/test_state.c
test_unit_controller_test_state_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_state_LDADD = controller/libcontroller.a $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/controller/test_access
TESTS += test/unit/controller/test_access
test_unit_controller_test_access_SOURCES = test/unit/controller/test_access.c
test_unit_controller_test_access_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_access_LDADD = controller/libcontroller.a $(EF_TEST_LDADD)
check_PROGRAMS += test/unit/controller/test_alerts
TESTS += test/unit/controller/test_alerts
test_unit_controller_test_alerts_SOURCES = test/unit/controller/test_alerts.c
test_unit_controller_test_alerts_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_alerts_LDADD = controller/libcontroller.a $(EF_TEST_LDADD) -lm
check_PROGRAMS += test/unit/controller/test_drop_pattern
TESTS += test/unit/controller/test_drop_pattern
test_unit_controller_test_drop_pattern_SOURCES = test/unit/controller/test_drop_pattern.c
test_unit_controller_test_drop_pattern_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_drop_pattern_LDADD = controller/libcontroller.a $(EF_TEST_LDADD) -lm
check_PROGRAMS += test/unit/controller/test_watching
TESTS += test/unit/controller/test_watching
test_unit_controller_test_watching_SOURCES = test/unit/controller/test_watching.c
test_unit_controller_test_watching_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_watching_LDADD = controller/libcontroller.a $(EF_TEST_LDADD) -lm
check_PROGRAMS += test/unit/controller/test_link_ranks
TESTS += test/unit/controller/test_link_ranks
test_unit_controller_test_link_ranks_SOURCES = test/unit/controller/test_link_ranks.c
test_unit_controller_test_link_ranks_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_controller_test_link_ranks_LDADD = controller/libcontroller.a $(EF_TEST_LDADD) -lm
endif
