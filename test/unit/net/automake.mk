if HAVE_CMOCKA
EF_NET_TESTS = \
	test/unit/net/test_http_query \
	test/unit/net/test_http_server
check_PROGRAMS += $(EF_NET_TESTS)
TESTS += $(EF_NET_TESTS)
test_unit_net_test_http_query_SOURCES = test/unit/net/test_http_query.c
test_unit_net_test_http_query_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_http_query_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_http_server_SOURCES = test/unit/net/test_http_server.c
test_unit_net_test_http_server_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_http_server_LDADD = $(EF_TEST_LDADD)
endif
