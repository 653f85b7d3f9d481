EXTRA_DIST += test/unit/prober/topology.json test/unit/prober/probe.h
if HAVE_CMOCKA
PROBER_TESTS = test/unit/prober/test_craft test/unit/prober/test_format test/unit/prober/test_orders
check_PROGRAMS += $(PROBER_TESTS)
TESTS += $(PROBER_TESTS)
PROBER_TEST_CPPFLAGS = $(EF_TEST_CPPFLAGS) -I$(top_srcdir)/test
PROBER_TEST_LDADD = guided-prober/libprober.a $(EF_TEST_LDADD)
test_unit_prober_test_craft_SOURCES = test/unit/prober/test_craft.c
test_unit_prober_test_craft_CPPFLAGS = $(PROBER_TEST_CPPFLAGS)
test_unit_prober_test_craft_LDADD = $(PROBER_TEST_LDADD)
test_unit_prober_test_format_SOURCES = test/unit/prober/test_format.c
test_unit_prober_test_format_CPPFLAGS = $(PROBER_TEST_CPPFLAGS)
test_unit_prober_test_format_LDADD = $(PROBER_TEST_LDADD)
test_unit_prober_test_orders_SOURCES = test/unit/prober/test_orders.c
test_unit_prober_test_orders_CPPFLAGS = $(PROBER_TEST_CPPFLAGS)
test_unit_prober_test_orders_LDADD = $(PROBER_TEST_LDADD)
endif
