# All but main.c, so that the unit tests can link it.
noinst_LIBRARIES += controller/libcontroller.a
controller_libcontroller_a_SOURCES = \
	controller/added_switches.c controller/added_switches.h \
	controller/access.c controller/access.h controller/access_private.h \
	controller/admin_token.c controller/admin_token.h \
	controller/alerts.c controller/alerts.h \
	controller/alerts_kept.c controller/alerts_kept.h controller/alerts_private.h \
	controller/api_access.c \
	controller/api_alerts.c \
	controller/audit.c controller/audit.h \
	controller/api_counters.c \
	controller/api_debug.c controller/api_debug.h \
	controller/api_diagnoses.c \
	controller/api_config.c \
	controller/api_load.c \
	controller/api_probes.c \
	controller/api_rules.c \
	controller/api_status.c \
	controller/api_switches.c \
	controller/api_traces.c \
	controller/api_webhooks.c \
	controller/ask_analyzers.c controller/ask_analyzers.h \
	controller/collection.c controller/collection.h \
	controller/configuration.c controller/configuration.h \
	controller/control_commands.c \
	controller/controller.h \
	controller/diagnoses.c controller/diagnoses.h \
	controller/diagnoses_kept.c controller/diagnoses_kept.h controller/diagnoses_private.h \
	controller/diagnosis_apps.c \
	controller/corrupt_links.c controller/corrupt_links.h \
	controller/corrupt_watch.c controller/corrupt_watch.h \
	controller/counter_keeper.c controller/counter_keeper.h \
	controller/counter_sums.c controller/counter_sums.h \
	controller/debug_capacity.c controller/debug_capacity.h \
	controller/debug_match.c controller/debug_match.h \
	controller/debug_measure.c controller/debug_measure.h \
	controller/debug_place.c controller/debug_place.h \
	controller/debug_rates.c controller/debug_rates.h \
	controller/debug_sessions.c controller/debug_sessions.h \
	controller/debug_settings.c controller/debug_settings.h \
	controller/debug_watch.c controller/debug_watch.h \
	controller/document.c controller/document.h \
	controller/drift_watch.c controller/drift_watch.h \
	controller/drop_app.c controller/drop_app.h controller/drop_run.c controller/drop_run.h \
	controller/drop_place.c controller/drop_place.h controller/drop_persistence.c controller/drop_persistence.h \
	controller/drop_rate.c controller/drop_rate.h controller/drop_class.c controller/drop_class.h \
	controller/copy_delays.c controller/copy_delays.h \
	controller/copy_shadow.c controller/copy_shadow.h controller/copy_watch.c controller/copy_watch.h \
	controller/copy_ways.c controller/copy_ways.h \
	controller/drop_witnesses.c controller/drop_witnesses.h \
	controller/drop_lengths.c controller/drop_lengths.h controller/drop_verdict.c controller/drop_verdict.h \
	controller/drop_pattern.c controller/drop_pattern.h controller/drop_prefix.c controller/drop_prefix.h \
	controller/chi_square.h \
	controller/ecmp_app.c controller/ecmp_app.h \
	controller/ecmp_counters.c controller/ecmp_counters.h \
	controller/ecmp_watch.c controller/ecmp_watch.h \
	controller/ecmp_finding.c controller/ecmp_finding.h \
	controller/ecmp_flows.c controller/ecmp_flows.h \
	controller/ecmp_sequence.c controller/ecmp_sequence.h \
	controller/event_stream.c controller/event_stream.h \
	controller/events.c controller/events.h \
	controller/everflow_row.c controller/everflow_row.h \
	controller/everflow_rules.c controller/everflow_rules.h \
	controller/fabric_map.c controller/fabric_map.h \
	controller/fan_out.c controller/fan_out.h \
	controller/hop.h controller/hop_frame.c controller/hop_frame.h \
	controller/latency_app.c controller/latency_app.h \
	controller/latency_circle.c controller/latency_circle.h \
	controller/latency_links.c controller/latency_links.h \
	controller/link_watch.c controller/link_watch.h \
	controller/link_probes.c controller/link_probes.h \
	controller/link_ranks.c controller/link_ranks.h \
	controller/loop_app.c controller/loop_app.h \
	controller/managed_switch.c controller/managed_switch.h controller/managed_switch_private.h \
	controller/managed_switch_life.c \
	controller/managed_switch_show.c \
	controller/peer_poll.c controller/peer_poll.h \
	controller/probe_budget.c controller/probe_budget.h \
	controller/probe_flow.c controller/probe_flow.h \
	controller/probe_orders.c controller/probe_orders.h \
	controller/probe_orders_kept.c \
	controller/probe_orders_private.h \
	controller/probe_results.c controller/probe_results.h \
	controller/probe_round.c controller/probe_round.h \
	controller/replay_guard.c controller/replay_guard.h \
	controller/request_budget.c controller/request_budget.h \
	controller/role.c controller/role.h \
	controller/rdma_app.c controller/rdma_app.h \
	controller/rdma_events.c controller/rdma_events.h \
	controller/rdma_losses.c controller/rdma_losses.h \
	controller/rdma_watch.c controller/rdma_watch.h \
	controller/round_trips.c controller/round_trips.h \
	controller/rule_sets.c controller/rule_sets.h \
	controller/rule_sets_kept.c controller/rule_sets_kept.h \
	controller/shedding.c controller/shedding.h \
	controller/state.c controller/state.h \
	controller/state_copy.c controller/state_copy.h \
	controller/state_operations.c controller/state_operations.h \
	controller/state_tables.c controller/state_tables.h \
	controller/statistics.h \
	controller/steering.c controller/steering.h \
	controller/switch_names.c controller/switch_names.h \
	controller/text.h \
	controller/tokens.c controller/tokens.h \
	controller/topology.c controller/topology.h \
	controller/topology_links.c controller/topology_links.h \
	controller/topology_push.c controller/topology_push.h \
	controller/trace_search.c controller/trace_search.h \
	controller/trace_export.c controller/trace_export.h \
	controller/trace_poll.c controller/trace_poll.h \
	controller/trace_query.c controller/trace_query.h \
	controller/traces_parquet.c controller/traces_parquet.h \
	controller/trace_line.c controller/trace_line.h \
	controller/trace_record.c controller/trace_record.h \
	controller/watch_case.c controller/watch_case.h \
	controller/watch_causes.c controller/watch_causes.h \
	controller/watch_faults.c controller/watch_faults.h \
	controller/watch_switches.c controller/watch_switches.h \
	controller/webhooks.c controller/webhooks.h controller/webhooks_read.c \
	controller/write_behind.c controller/write_behind.h \
	controller/watchers.c controller/watchers.h

sbin_PROGRAMS += controller/ef-controller
controller_ef_controller_SOURCES = controller/main.c
controller_ef_controller_LDADD = controller/libopenapi.a controller/libcontroller.a $(EF_LIBS) -lm
EXTRA_DIST += controller/README.md
dist_pkgdata_DATA += controller/everflow.ovsschema
dist_man_MANS += doc/man/ef-controller.8

# Has the description of the API in it, whose path the compiler is told.
noinst_LIBRARIES += controller/libopenapi.a
controller_libopenapi_a_SOURCES = controller/openapi.c
controller_libopenapi_a_CPPFLAGS = $(AM_CPPFLAGS) -DOPENAPI_FILE='"$(abs_srcdir)/doc/openapi.json"'
controller/libopenapi_a-openapi.$(OBJEXT): $(srcdir)/doc/openapi.json
