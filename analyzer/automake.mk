# All but main.c is a library, which tests and benchmarks link too.
noinst_LIBRARIES += analyzer/libanalyzer.a
analyzer_libanalyzer_a_SOURCES = \
	analyzer/analyzer.c analyzer/analyzer.h \
	analyzer/archiver.c analyzer/archiver.h \
	analyzer/assemble.c analyzer/assemble.h \
	analyzer/conf.c analyzer/conf.h \
	analyzer/control.c analyzer/control.h \
	analyzer/copy_record.c analyzer/copy_record.h \
	analyzer/counter_groups.c analyzer/counter_groups.h \
	analyzer/counter_series.c analyzer/counter_series.h \
	analyzer/current_topology.c analyzer/current_topology.h \
	analyzer/explain.c analyzer/explain.h \
	analyzer/feed.c analyzer/feed.h \
	analyzer/filter_counters.c analyzer/filter_counters.h \
	analyzer/http.c analyzer/http.h \
	analyzer/http_counters.c \
	analyzer/http_load.c \
	analyzer/http_topology.c \
	analyzer/http_traces.c \
	analyzer/ingest.c analyzer/ingest.h \
	analyzer/judge.c analyzer/judge.h \
	analyzer/keep.c analyzer/keep.h \
	analyzer/last_hops.c analyzer/last_hops.h \
	analyzer/load.c analyzer/load.h \
	analyzer/load_history.c analyzer/load_history.h \
	analyzer/load_table.c analyzer/load_table.h \
	analyzer/loss_table.c analyzer/loss_table.h \
	analyzer/report_senders.c analyzer/report_senders.h \
	analyzer/memory_plan.c analyzer/memory_plan.h \
	analyzer/open_table.c analyzer/open_table.h \
	analyzer/refused_set.c analyzer/refused_set.h \
	analyzer/region.h \
	analyzer/status.c analyzer/status.h \
	analyzer/switch_table.c analyzer/switch_table.h \
	analyzer/trace_columns.c analyzer/trace_columns.h \
	analyzer/trace_cursor.c \
	analyzer/trace_follower.c \
	analyzer/trace_question.c analyzer/trace_question.h \
	analyzer/trace_record.c analyzer/trace_record.h \
	analyzer/trace_bounds.c analyzer/trace_bounds.h \
	analyzer/trace_history.c analyzer/trace_history.h \
	analyzer/trace_sieve.c analyzer/trace_sieve.h \
	analyzer/trace_search.c analyzer/trace_search.h \
	analyzer/trace_row.c analyzer/trace_row.h analyzer/trace_row_schema.c \
	analyzer/trace_store.c analyzer/trace_store.h analyzer/trace_store_private.h \
	analyzer/transit_table.c analyzer/transit_table.h \
	analyzer/worker.c analyzer/worker.h

sbin_PROGRAMS += analyzer/ef-analyzer
analyzer_ef_analyzer_SOURCES = analyzer/main.c
analyzer_ef_analyzer_LDADD = analyzer/libanalyzer.a $(EF_LIBS)

dist_man_MANS += doc/man/ef-analyzer.8
EXTRA_DIST += analyzer/README.md
