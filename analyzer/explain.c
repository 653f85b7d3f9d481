/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a frame; see explain.h. */
#include <config.h>

#include "analyzer/explain.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <event2/buffer.h>
#include <string.h>

#include "analyzer/ingest.h"
#include "packet/switch_drop.h"

enum { MAX_FRAME_BYTES = 32768 }; /* A line of the control socket holds twice as many digits. */

/* Returns the number of bytes, or -EINVAL. */
static int
parse_hex(int n_words, char *const words[], uint8_t *bytes, struct ef_error *err)
{
    static const char digits[] = "0123456789abcdef";
    int n = 0; /* Digits so far. */
    for (int i = 0; i < n_words; i++) {
        for (const char *c = words[i]; *c; c++) {
            const char *digit = strchr(digits, tolower((unsigned char) *c));
            if (*c == ':') {
                continue;
            }
            if (!digit || n == 2 * MAX_FRAME_BYTES) {
                return ef_error_set(err, -EINVAL, "'%.40s' is not part of a frame in hexadecimal digits", words[i]);
            }
            uint8_t high = n % 2 ? bytes[n / 2] : 0;
            bytes[n / 2] = (uint8_t) (high << 4 | (digit - digits));
            n++;
        }
    }
    if (n == 0 || n % 2) {
        return ef_error_set(err, -EINVAL, "%d hexadecimal digits do not make a frame", n);
    }
    return n / 2;
}

static void
explain_hop(const struct ef_copy_record *record, struct evbuffer *reply)
{
    const struct ef_hop *hop = &record->hop;
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN], time[EF_TIME_TEXT_SIZE];
    evbuffer_add_printf(reply, "copy:      from switch %s to %s, %s", ef_address_format(hop->switch_address, from),
                        ef_address_format(record->target, to), hop->flags & EF_HOP_EGRESS ? "egress" : "ingress");
    if (hop->flags & EF_HOP_HAS_PORT) {
        evbuffer_add_printf(reply, ", port %u", hop->port);
    }
    if (hop->flags & EF_HOP_HAS_SEQUENCE) {
        evbuffer_add_printf(reply, ", sequence %u", hop->sequence);
    }
    if (hop->flags & EF_HOP_HAS_SWITCH_TIME) {
        evbuffer_add_printf(reply, ", switch time %s", ef_time_format(hop->switch_time, time));
    }
    if (hop->drop) {
        evbuffer_add_printf(reply, ", dropped there: %s", ef_switch_drop_name(hop->drop));
    }
    if (hop->flags & EF_HOP_TRUNCATED) {
        evbuffer_add_printf(reply, ", truncated");
    }
    if (hop->flags & EF_HOP_HAS_IP) {
        evbuffer_add_printf(reply, "\nhop:       TTL %u, DSCP %u, ECN %u%s", hop->ttl, hop->dscp, hop->ecn,
                            hop->flags & EF_HOP_ENCAPSULATED ? ", inside another IP packet" : "");
    }
    evbuffer_add_printf(reply, "\n");
}

static void
explain_packet(const struct ef_copy_record *record, uint64_t flow_hash, unsigned n_workers, struct evbuffer *reply)
{
    struct ef_packet packet;
    char summary[256];
    ef_packet_parse(&packet, record->bytes, record->n_bytes, record->wire_len);
    evbuffer_add_printf(reply,
                        "original:  %s, %u bytes, %u kept\n"
                        "identity:  %016llx %016llx\n"
                        "flow hash: %016llx, worker %u of %u\n",
                        ef_packet_summary(&packet, summary, sizeof summary), record->wire_len, record->n_bytes,
                        (unsigned long long) record->hash, (unsigned long long) record->check,
                        (unsigned long long) flow_hash, ef_ingest_worker_of(flow_hash, n_workers), n_workers);
}

int
ef_explain_words(unsigned n_workers, int n, char *const words[], struct evbuffer *reply, struct ef_error *err)
{
    static uint8_t frame[MAX_FRAME_BYTES]; /* Only the event loop explains. */
    int len = parse_hex(n, words, frame, err);
    if (len < 0) {
        return len;
    }
    struct ef_copy_record record;
    uint64_t flow_hash;
    enum ef_drop_reason reason =
        ef_copy_record_of_frame(&record, &flow_hash, frame, (uint32_t) len, (uint32_t) len, (struct ef_time){0});
    if (reason) {
        evbuffer_add_printf(reply, "discarded: %s (%s)\n", ef_drop_reason_name(reason), ef_drop_reason_text(reason));
    } else {
        explain_hop(&record, reply);
        explain_packet(&record, flow_hash, n_workers, reply);
    }
    return 0;
}
