lib_libeverflow_a_SOURCES += \
	lib/net/address.c lib/net/address.h \
	lib/net/http_client.c lib/net/http_client.h \
	lib/net/http_connections.c lib/net/http_connections.h \
	lib/net/http_fetch.c \
	lib/net/http_pool.c lib/net/http_pool.h \
	lib/net/http_query.c lib/net/http_query.h \
	lib/net/http_response.c lib/net/http_response.h \
	lib/net/http_server.c lib/net/http_server.h \
	lib/net/http_server_private.h \
	lib/net/http_stream.c \
	lib/net/json_digest.c lib/net/json_digest.h \
	lib/net/json_framer.c lib/net/json_framer.h \
	lib/net/jsonrpc.c lib/net/jsonrpc.h \
	lib/net/metrics.c lib/net/metrics.h \
	lib/net/ovsdb_client.c lib/net/ovsdb_client.h \
	lib/net/ovsdb_remotes.c lib/net/ovsdb_remotes.h \
	lib/net/ovsdb_update.c lib/net/ovsdb_update.h \
	lib/net/ovsdb_value.c lib/net/ovsdb_value.h \
	lib/net/pki.c lib/net/pki.h \
	lib/net/tls.c lib/net/tls.h
EXTRA_DIST += lib/net/README.md
