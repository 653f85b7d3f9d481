/* SPDX-License-Identifier: Apache-2.0 */
/* Explains decisions to people; see explain.h. */
#include <config.h>

#include "reshuffler/explain.h"

#include <ctype.h>
#include <errno.h>
#include <event2/buffer.h>
#include <netinet/in.h>
#include <string.h>

enum { MAX_FRAME_BYTES = 65536 / 2 }; /* The control socket takes lines twice as long. */

static int
hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : isxdigit((unsigned char) c) ? tolower((unsigned char) c) - 'a' + 10 : -1;
}

/* Returns the number of bytes, or -EINVAL. */
static int
parse_hex(int n_words, char *const words[], uint8_t *bytes, struct ef_error *err)
{
    int n_digits = 0;
    for (int i = 0; i < n_words; i++) {
        for (const char *c = words[i]; *c; c++) {
            int digit = hex_digit(*c);
            if (*c == ':') {
                continue;
            }
            if (digit < 0 || n_digits == 2 * MAX_FRAME_BYTES) {
                return ef_error_set(err, -EINVAL, "'%.40s' is not a frame in hexadecimal digits", words[i]);
            }
            uint8_t *byte = &bytes[n_digits++ / 2];
            *byte = (uint8_t) (n_digits % 2 ? digit << 4 : *byte | digit);
        }
    }
    if (!n_digits || n_digits % 2) {
        return ef_error_set(err, -EINVAL, "%d hexadecimal digits do not make a frame", n_digits);
    }
    return n_digits / 2;
}

static void
explain_copy(const struct ef_plan *plan, const struct ef_decision *d, struct evbuffer *reply)
{
    struct ef_packet original;
    static const char *const encapsulations[] = {"GRE", "ERSPAN I", "ERSPAN II", "ERSPAN III", "vendor 0x8949"};
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN], summary[256];
    const struct ef_copy *copy = &d->copy;
    evbuffer_add_printf(reply, "copy:      from %s to %s, %s", ef_address_format(copy->switch_address, from),
                        ef_address_format(copy->target_address, to), encapsulations[copy->encapsulation]);
    if (copy->has_port) {
        evbuffer_add_printf(reply, ", port %u", copy->port);
    }
    if (copy->has_sequence) {
        evbuffer_add_printf(reply, ", sequence %u", copy->sequence);
    }
    const struct ef_member *a = &plan->analyzers[d->analyzer];
    ef_packet_parse(&original, copy->original, copy->original_len, copy->original_wire_len);
    evbuffer_add_printf(reply,
                        "\noriginal:  %s\n"
                        "flow hash: %016llx, slot %u of %u\n"
                        "sent to:   %s (%s), %u bytes, TTL 64\n",
                        ef_packet_summary(&original, summary, sizeof summary), (unsigned long long) d->flow_hash,
                        (unsigned) (d->flow_hash % EF_STEER_SLOTS), EF_STEER_SLOTS, a->name,
                        ef_address_format(plan->destinations[d->version][d->analyzer], to), d->len);
    if (d->home != d->analyzer) {
        const char *what = plan->states[d->home] == EF_ANALYZER_DRAINING ? "draining" : "down";
        evbuffer_add_printf(reply, "instead of %s, to which the flow belongs and which is %s\n",
                            plan->analyzers[d->home].name, what);
    }
}

int
ef_explain_words(const struct ef_plan *plan, int n, char *const words[], struct evbuffer *reply, struct ef_error *err)
{
    static uint8_t frame[MAX_FRAME_BYTES]; /* The main thread alone explains. */
    int len = parse_hex(n, words, frame, err);
    if (len < 0) {
        return len;
    }
    struct ef_decision d;
    enum ef_drop_reason why = ef_plan_decide(plan, frame, (uint32_t) len, (uint32_t) len, &d);
    if (why) {
        evbuffer_add_printf(reply, "discarded: %s (%s)\n", ef_drop_reason_name(why), ef_drop_reason_text(why));
    } else {
        explain_copy(plan, &d, reply);
    }
    return 0;
}
