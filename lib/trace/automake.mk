lib_libeverflow_a_SOURCES += \
	lib/trace/json_text.c lib/trace/json_text.h \
	lib/trace/packet_trace.c lib/trace/packet_trace.h \
	lib/trace/trace_id.c lib/trace/trace_id.h \
	lib/trace/trace_page.c lib/trace/trace_page.h \
	lib/trace/trace_json.c lib/trace/trace_json.h \
	lib/trace/trace_match.c lib/trace/trace_match.h
EXTRA_DIST += lib/trace/README.md
