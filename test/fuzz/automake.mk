# A fuzz target X is test/fuzz/fuzz_X.c with a small corpus in corpus/X/. With
# --enable-fuzzers it is a libFuzzer program; otherwise `make check` replays the
# corpus through it. It is added so:
#   FUZZ_TARGETS += test/fuzz/fuzz_X
#   test_fuzz_fuzz_X_SOURCES = test/fuzz/fuzz_X.c $(FUZZ_DRIVER)
#   test_fuzz_fuzz_X_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/X"'
#   test_fuzz_fuzz_X_LDADD = $(EF_LIBS)
#   test_fuzz_fuzz_X_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
#   EXTRA_DIST += test/fuzz/corpus/X
FUZZ_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
FUZZ_CORPUS = $(abs_top_srcdir)/test/fuzz/corpus
FUZZ_DRIVER = test/fuzz/fuzz.h
if !FUZZERS
FUZZ_DRIVER += test/fuzz/replay_main.c
TESTS += $(FUZZ_TARGETS)
endif
EXTRA_DIST += test/fuzz/fuzz.h test/fuzz/replay_main.c

FUZZ_TARGETS += test/fuzz/fuzz_forward
test_fuzz_fuzz_forward_SOURCES = test/fuzz/fuzz_forward.c $(FUZZ_DRIVER)
test_fuzz_fuzz_forward_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/forward"'
test_fuzz_fuzz_forward_LDADD = reshuffler/libreshuffler.a $(EF_LIBS)
test_fuzz_fuzz_forward_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/forward

FUZZ_TARGETS += test/fuzz/fuzz_answer
test_fuzz_fuzz_answer_SOURCES = test/fuzz/fuzz_answer.c $(FUZZ_DRIVER)
test_fuzz_fuzz_answer_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/answer"'
test_fuzz_fuzz_answer_LDADD = reshuffler/libreshuffler.a $(EF_LIBS)
test_fuzz_fuzz_answer_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/answer

FUZZ_TARGETS += test/fuzz/fuzz_packet
test_fuzz_fuzz_packet_SOURCES = test/fuzz/fuzz_packet.c $(FUZZ_DRIVER) \
	test/unit/packet/check_frame.c test/unit/packet/check_frame.h
test_fuzz_fuzz_packet_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/packet"'
test_fuzz_fuzz_packet_LDADD = $(EF_LIBS)
test_fuzz_fuzz_packet_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/packet

FUZZ_TARGETS += test/fuzz/fuzz_copy
test_fuzz_fuzz_copy_SOURCES = test/fuzz/fuzz_copy.c $(FUZZ_DRIVER) \
	test/unit/packet/check_frame.c test/unit/packet/check_frame.h
test_fuzz_fuzz_copy_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/copy"'
test_fuzz_fuzz_copy_LDADD = $(EF_LIBS)
test_fuzz_fuzz_copy_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/copy

FUZZ_TARGETS += test/fuzz/fuzz_filter
test_fuzz_fuzz_filter_SOURCES = test/fuzz/fuzz_filter.c $(FUZZ_DRIVER)
test_fuzz_fuzz_filter_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/filter"'
test_fuzz_fuzz_filter_LDADD = $(EF_LIBS)
test_fuzz_fuzz_filter_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/filter

FUZZ_TARGETS += test/fuzz/fuzz_jsonrpc
test_fuzz_fuzz_jsonrpc_SOURCES = test/fuzz/fuzz_jsonrpc.c $(FUZZ_DRIVER)
test_fuzz_fuzz_jsonrpc_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/jsonrpc"'
test_fuzz_fuzz_jsonrpc_LDADD = controller/libcontroller.a $(EF_LIBS)
test_fuzz_fuzz_jsonrpc_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/jsonrpc

FUZZ_TARGETS += test/fuzz/fuzz_http
test_fuzz_fuzz_http_SOURCES = test/fuzz/fuzz_http.c $(FUZZ_DRIVER)
test_fuzz_fuzz_http_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/http"'
test_fuzz_fuzz_http_LDADD = $(EF_LIBS)
test_fuzz_fuzz_http_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/http

FUZZ_TARGETS += test/fuzz/fuzz_trace_record
test_fuzz_fuzz_trace_record_SOURCES = test/fuzz/fuzz_trace_record.c $(FUZZ_DRIVER)
test_fuzz_fuzz_trace_record_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/trace_record"'
test_fuzz_fuzz_trace_record_LDADD = controller/libcontroller.a $(EF_LIBS)
test_fuzz_fuzz_trace_record_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/trace_record

FUZZ_TARGETS += test/fuzz/fuzz_efctl_views
test_fuzz_fuzz_efctl_views_SOURCES = test/fuzz/fuzz_efctl_views.c $(FUZZ_DRIVER)
test_fuzz_fuzz_efctl_views_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/efctl_views"'
test_fuzz_fuzz_efctl_views_LDADD = utilities/efctl/libefctl.a $(EF_LIBS) -lm
test_fuzz_fuzz_efctl_views_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/efctl_views

FUZZ_TARGETS += test/fuzz/fuzz_loss_report
test_fuzz_fuzz_loss_report_SOURCES = test/fuzz/fuzz_loss_report.c $(FUZZ_DRIVER)
test_fuzz_fuzz_loss_report_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/loss_report"'
test_fuzz_fuzz_loss_report_LDADD = analyzer/libanalyzer.a $(EF_LIBS)
test_fuzz_fuzz_loss_report_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/loss_report
FUZZ_TARGETS += test/fuzz/fuzz_parquet
test_fuzz_fuzz_parquet_SOURCES = test/fuzz/fuzz_parquet.c $(FUZZ_DRIVER) \
	test/unit/store/random_rows.c test/unit/store/random_rows.h
test_fuzz_fuzz_parquet_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/parquet"'
test_fuzz_fuzz_parquet_LDADD = $(EF_LIBS)
test_fuzz_fuzz_parquet_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/parquet

FUZZ_TARGETS += test/fuzz/fuzz_spool
test_fuzz_fuzz_spool_SOURCES = test/fuzz/fuzz_spool.c $(FUZZ_DRIVER) \
	test/unit/store/random_rows.c test/unit/store/random_rows.h
test_fuzz_fuzz_spool_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/spool"'
test_fuzz_fuzz_spool_LDADD = $(EF_LIBS)
test_fuzz_fuzz_spool_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/spool

FUZZ_TARGETS += test/fuzz/fuzz_probe
test_fuzz_fuzz_probe_SOURCES = test/fuzz/fuzz_probe.c $(FUZZ_DRIVER)
test_fuzz_fuzz_probe_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/probe"' \
	-DEF_TEST_SRCDIR='"$(abs_top_srcdir)/test"'
test_fuzz_fuzz_probe_LDADD = guided-prober/libprober.a $(EF_LIBS)
test_fuzz_fuzz_probe_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/probe

FUZZ_TARGETS += test/fuzz/fuzz_ovsdb_update
test_fuzz_fuzz_ovsdb_update_SOURCES = test/fuzz/fuzz_ovsdb_update.c $(FUZZ_DRIVER)
test_fuzz_fuzz_ovsdb_update_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/ovsdb_update"'
test_fuzz_fuzz_ovsdb_update_LDADD = controller/libcontroller.a $(EF_LIBS) -lm
test_fuzz_fuzz_ovsdb_update_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/ovsdb_update

FUZZ_TARGETS += test/fuzz/fuzz_requests
test_fuzz_fuzz_requests_SOURCES = test/fuzz/fuzz_requests.c $(FUZZ_DRIVER)
test_fuzz_fuzz_requests_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/requests"'
test_fuzz_fuzz_requests_LDADD = controller/libcontroller.a reshuffler/libreshuffler.a analyzer/libanalyzer.a \
	$(EF_LIBS) -lm
test_fuzz_fuzz_requests_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/requests

FUZZ_TARGETS += test/fuzz/fuzz_bodies
test_fuzz_fuzz_bodies_SOURCES = test/fuzz/fuzz_bodies.c $(FUZZ_DRIVER)
test_fuzz_fuzz_bodies_CPPFLAGS = $(FUZZ_CPPFLAGS) -DEF_FUZZ_CORPUS='"$(FUZZ_CORPUS)/bodies"'
test_fuzz_fuzz_bodies_LDADD = controller/libcontroller.a $(EF_LIBS) -lm
test_fuzz_fuzz_bodies_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += test/fuzz/corpus/bodies
