/* SPDX-License-Identifier: Apache-2.0 */
/* What sources and sinks need; see capabilities.h. */
#include <config.h>

#include "io/capabilities.h"

#include <linux/capability.h>
#include <string.h>

const int *
ef_io_capabilities(const char *const specs[], size_t n)
{
    static const int here[] = {CAP_NET_RAW, CAP_NET_ADMIN, -1};
    static const int elsewhere[] = {CAP_NET_RAW, CAP_NET_ADMIN, CAP_SYS_ADMIN, -1};
    for (size_t i = 0; i < n; i++) {
        if (specs[i] && strchr(specs[i], '@')) {
            return elsewhere;
        }
    }
    return here;
}
