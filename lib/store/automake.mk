lib_libeverflow_a_SOURCES += \
	lib/store/aggregate.c lib/store/aggregate.h \
	lib/store/append.c \
	lib/store/backlog.c \
	lib/store/bucket_index.c lib/store/bucket_index.h lib/store/indexes.h \
	lib/store/bucket_pool.c lib/store/bucket_pool.h \
	lib/store/cursor.h lib/store/cursor_order.c \
	lib/store/explain.c lib/store/explain.h \
	lib/store/index.c lib/store/index.h \
	lib/store/capture.c lib/store/capture.h \
	lib/store/derived.c lib/store/derived.h \
	lib/store/index_memory.c lib/store/index_memory.h \
	lib/store/keys.c lib/store/keys.h \
	lib/store/filter_set.c lib/store/filter_set.h lib/store/filter_set_private.h \
	lib/store/matches.c \
	lib/store/meter.c \
	lib/store/monitor.c \
	lib/store/multilog.c lib/store/multilog.h lib/store/multilog_private.h \
	lib/store/plan_rows.c lib/store/plan_rows.h \
	lib/store/planner.c lib/store/planner.h \
	lib/store/predicate.c lib/store/predicate.h lib/store/predicate_private.h \
	lib/store/predicate_dnf.c \
	lib/store/predicate_eval.c \
	lib/store/predicate_kernels.c lib/store/predicate_kernels.h \
	lib/store/query.c \
	lib/store/query_aggregate.c \
	lib/store/schema.c lib/store/schema.h \
	lib/store/settle.c \
	lib/store/snapshot.c \
	lib/store/tally.c \
	lib/store/trigger.c lib/store/trigger.h lib/store/trigger_private.h
EXTRA_DIST += lib/store/README.md
