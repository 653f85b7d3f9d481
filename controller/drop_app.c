/* SPDX-License-Identifier: Apache-2.0 */
/* The application "drop": why does this packet not arrive? (Everflow, section 5,
 * "packet drop debugger".)
 *
 * It begins with a trace whose last hop is not the expected one, or with the
 * packet's fields, for which it finds that last hop by probes. Then it sends
 * probes like that packet from that switch on, and the same with other source
 * ports:
 *
 *     all dropped   -> persistent: other fields are varied (drop_pattern.h), the
 *                      length at last bisected
 *     some dropped  -> random: more probes, the rate with its confidence interval
 *     none dropped  -> more probes; then transient
 *
 * Each phase is a file of its own; drop_run.h says which.
 *
 * The verdict names the switch, the link behind it, and the class of packets. */
#include <config.h>

#include "controller/drop_app.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

#include "controller/document.h"
#include "controller/drop_place.h"
#include "controller/drop_run.h"

static void
end(void *state)
{
    struct drop *a = state;
    if (a->timer) {
        event_free(a->timer);
    }
    probe_round_destroy(a->round);
    trace_search_cancel(a->search);
    fabric_map_destroy(a->map);
    free(a);
}

static int
begin(struct drop *a, const json_t *options, struct ef_error *err)
{
    static const char *const known[] = {"trace", "filter",   "last_s",   "src",    "dst",
                                        "proto", "src_port", "dst_port", "length", NULL};
    struct doc_place root = {.value = (json_t *) options};
    if (doc_check_keys(&root, known, err)) {
        return -EINVAL;
    }
    if (json_object_get(options, "src") || json_object_get(options, "dst")) {
        return drop_place_packet(a, options, err);
    }
    return trace_search_start(a->c, options, "trace.drop && !trace.probe", drop_place_trace, a, &a->search, err);
}

static int
start(struct diagnosis *d, const json_t *options, void **state, struct ef_error *err)
{
    struct drop *a = calloc(1, sizeof *a);
    if (!a) {
        abort(); /* Control path. */
    }
    a->d = d;
    a->c = diagnosis_controller(d);
    a->map = fabric_map_create(a->c->topology.document);
    int rc = begin(a, options, err);
    if (rc) {
        end(a);
        return rc;
    }
    *state = a;
    return 0;
}

const struct diagnosis_app drop_app = {"drop", "where a packet is dropped, and which packets are", start, end};
