if HAVE_CMOCKA
EF_NET_TESTS = \
	test/unit/net/test_http_client \
	test/unit/net/test_http_connections \
	test/unit/net/test_http_pool \
	test/unit/net/test_http_query \
	test/unit/net/test_http_response \
	test/unit/net/test_http_server \
	test/unit/net/test_jsonrpc \
	test/unit/net/test_ovsdb_client \
	test/unit/net/test_ovsdb_update \
	test/unit/net/test_tls
check_PROGRAMS += $(EF_NET_TESTS)
TESTS += $(EF_NET_TESTS)
test_unit_net_test_http_client_SOURCES = test/unit/net/test_http_client.c
test_unit_net_test_http_client_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_http_client_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_http_pool_SOURCES = test/unit/net/test_http_pool.c
test_unit_net_test_http_pool_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_http_pool_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_http_query_SOURCES = test/unit/net/test_http_query.c
test_unit_net_test_http_query_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_http_query_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_http_response_SOURCES = test/unit/net/test_http_response.c
test_unit_net_test_http_response_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_http_response_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_http_connections_SOURCES = test/unit/net/test_http_connections.c
test_unit_net_test_http_connections_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_http_connections_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_http_server_SOURCES = test/unit/net/test_http_server.c
test_unit_net_test_http_server_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_http_server_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_jsonrpc_SOURCES = test/unit/net/test_jsonrpc.c
test_unit_net_test_jsonrpc_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_jsonrpc_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_ovsdb_client_SOURCES = test/unit/net/test_ovsdb_client.c
test_unit_net_test_ovsdb_client_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_ovsdb_client_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_ovsdb_update_SOURCES = test/unit/net/test_ovsdb_update.c
test_unit_net_test_ovsdb_update_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_ovsdb_update_LDADD = $(EF_TEST_LDADD)
test_unit_net_test_tls_SOURCES = test/unit/net/test_tls.c
test_unit_net_test_tls_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_net_test_tls_LDADD = $(EF_TEST_LDADD)
endif
