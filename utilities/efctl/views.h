/* SPDX-License-Identifier: Apache-2.0 */
/* The views of the small commands: each draws one document of the controller's
 * REST interface and lives in its command's file. `ctx` is what its comment
 * says. Documents may be anything; see json_get.h. */
#ifndef EFCTL_VIEWS_H
#define EFCTL_VIEWS_H

#include "base/time.h"
#include "utilities/efctl/output.h"

efctl_view efctl_switch_view;   /* GET /v1/switches/NAME; ctx: the time now, struct ef_time * */
efctl_view efctl_switches_view; /* GET /v1/switches; ctx: the time now, struct ef_time * */
efctl_view efctl_probe_view;    /* GET /v1/probes/ID; ctx unused */
efctl_view efctl_probes_view;   /* GET /v1/probes; ctx: the time now, struct ef_time * */
efctl_view efctl_counters_view; /* GET /v1/counters; ctx: the time now, struct ef_time * */
efctl_view efctl_counter_view;  /* GET /v1/counters/NAME; ctx: whether with the values of groups, bool *; NULL: no */
efctl_view efctl_load_view;     /* GET /v1/load; ctx unused */
efctl_view efctl_latency_view;  /* GET /v1/latency; ctx unused */
efctl_view efctl_topology_view; /* GET /v1/topology; ctx unused */
efctl_view efctl_status_view;   /* GET /v1/status; ctx: the controller's URL, const char * */

efctl_view efctl_alerts_view;         /* GET /v1/alerts; ctx: the time now, struct ef_time * */
efctl_view efctl_tokens_view;         /* GET /v1/tokens; ctx unused */
efctl_view efctl_webhooks_view;       /* GET /v1/webhooks; ctx unused */
efctl_view efctl_new_token_view;      /* POST /v1/tokens; ctx unused */
efctl_view efctl_debug_sessions_view; /* GET /v1/debug; ctx unused */
efctl_view efctl_debug_session_view;  /* GET /v1/debug/ID; ctx unused */
efctl_view efctl_config_view;         /* GET /v1/config; ctx unused */
efctl_view efctl_audit_view;          /* GET /v1/audit; ctx unused */
efctl_view efctl_alert_view;          /* GET /v1/alerts/ID; ctx unused */
efctl_view efctl_diagnosis_view;      /* GET /v1/diagnoses/ID; ctx unused */
efctl_view efctl_diagnoses_view;      /* GET /v1/diagnoses; ctx: the time now, struct ef_time * */

/* The analyzers whose part is missing in any answer of the controller; ctx unused. */
efctl_view efctl_incomplete_view;

/* True if the status document says that something does not work. */
bool efctl_status_is_bad(const json_t *status);

/* Of an order for probes: whether it has ended; whether it, or a probe, failed. */
bool efctl_probe_is_over(const json_t *order);
bool efctl_probe_is_bad(const json_t *order);

/* Of a diagnosis: its progress from entry `first` on; its verdict and evidence;
 * whether it has ended; whether it says that something is wrong. */
void efctl_diagnosis_progress(struct efctl_output *out, const json_t *diagnosis, size_t first);
void efctl_diagnosis_end(struct efctl_output *out, const json_t *diagnosis);
bool efctl_diagnosis_is_over(const json_t *diagnosis);
bool efctl_diagnosis_found(const json_t *diagnosis);

#endif
