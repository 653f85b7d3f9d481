/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of the reasons; see drop_reason.h. */
#include <config.h>

#include "base/drop_reason.h"

static const struct {
    const char *name, *text;
} reasons[] = {
#define X(ID, NAME, TEXT) {NAME, TEXT},
    EF_DROP_REASONS(X)
#undef X
};

const char *
ef_drop_reason_name(enum ef_drop_reason reason)
{
    return reasons[reason].name;
}

const char *
ef_drop_reason_text(enum ef_drop_reason reason)
{
    return reasons[reason].text;
}
