/* SPDX-License-Identifier: Apache-2.0 */
/* The document of an order, which comes from outside; see orders.h. */
#ifndef PROBER_READ_ORDER_H
#define PROBER_READ_ORDER_H

#include <jansson.h>

#include "guided-prober/format.h"

struct prober_order_text {
    struct prober_format format; /* Not resolved. */
    bool has_id;
    uint64_t id, count;
    int64_t interval_ns;
};

/* Returns 0, or -EINVAL with `err`, which names the place. */
int prober_read_order(const json_t *document, struct prober_order_text *order, struct ef_error *err);

/* An id: 1 to 16 hexadecimal digits. Returns 0 or -EINVAL. */
int prober_read_id(const char *text, uint64_t *id);

#endif
