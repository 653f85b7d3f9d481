if HAVE_CMOCKA
check_PROGRAMS += test/unit/fabric/test_topology test/unit/fabric/test_forwarding test/unit/fabric/test_run test/unit/fabric/test_fault
TESTS += test/unit/fabric/test_topology test/unit/fabric/test_forwarding test/unit/fabric/test_run test/unit/fabric/test_fault
EF_FABRIC_TEST_LDADD = utilities/fabric/libfabric.a $(EF_TEST_LDADD) $(LIBBPF_LIBS) -lm
test_unit_fabric_test_topology_SOURCES = test/unit/fabric/test_topology.c
test_unit_fabric_test_topology_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_fabric_test_topology_LDADD = $(EF_FABRIC_TEST_LDADD)
test_unit_fabric_test_forwarding_SOURCES = test/unit/fabric/test_forwarding.c
test_unit_fabric_test_forwarding_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_fabric_test_forwarding_LDADD = $(EF_FABRIC_TEST_LDADD)
test_unit_fabric_test_run_SOURCES = test/unit/fabric/test_run.c
test_unit_fabric_test_run_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_fabric_test_run_LDADD = $(EF_FABRIC_TEST_LDADD)
test_unit_fabric_test_fault_SOURCES = test/unit/fabric/test_fault.c
test_unit_fabric_test_fault_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_fabric_test_fault_LDADD = $(EF_FABRIC_TEST_LDADD)
endif
