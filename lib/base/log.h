/* SPDX-License-Identifier: Apache-2.0 */
/* Logging for daemons. The library proper never prints: only what a program
 * hands to ef_log_open() is written, stderr or a file, one line a message:
 *
 *     2026-11-21T02:30:00.123Z WARN analyzer: source closed: Network is down
 *
 * Thread-safe. Never called per packet; where an event can repeat, use
 * EF_LOG_LIMITED, which writes at most one line a second per place and says
 * how many it left out. */
#ifndef EF_BASE_LOG_H
#define EF_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/util.h"

enum ef_log_level { EF_LOG_ERROR, EF_LOG_WARN, EF_LOG_INFO, EF_LOG_DEBUG };

/* `program` prefixes nothing but is shown on stderr; `file` NULL means stderr,
 * and is borrowed.
 * Returns 0 or a negative errno with `err`. */
int ef_log_open(const char *program, const char *file, struct ef_error *err);

/* Goes on in a new file of the same name, where the old one was renamed; does
 * nothing without a file. Returns 0, or a negative errno with `err`, and goes on
 * in the old one. */
int ef_log_reopen(struct ef_error *err);

void ef_log_set_level(enum ef_log_level level);

/* The level now; its name ("error", "warn", "info", "debug"); and a level by
 * name, or -EINVAL. */
enum ef_log_level ef_log_get_level(void);
const char *ef_log_level_name(enum ef_log_level level);
int ef_log_level_by_name(const char *name, enum ef_log_level *level);

void ef_log_write(enum ef_log_level level, const char *module, const char *fmt, ...) EF_PRINTF(3, 4);

#define ef_log_error(module, ...) ef_log_write(EF_LOG_ERROR, module, __VA_ARGS__)
#define ef_log_warn(module, ...) ef_log_write(EF_LOG_WARN, module, __VA_ARGS__)
#define ef_log_info(module, ...) ef_log_write(EF_LOG_INFO, module, __VA_ARGS__)
#define ef_log_debug(module, ...) ef_log_write(EF_LOG_DEBUG, module, __VA_ARGS__)

struct ef_log_limit {
    _Atomic int64_t next_mono_ns;
    _Atomic uint64_t suppressed;
};

/* True if the place may log now; `*suppressed` is how many were left out. */
bool ef_log_limit_ok(struct ef_log_limit *limit, uint64_t *suppressed);

#define EF_LOG_LIMITED(level, module, fmt, ...)                                        \
    do {                                                                               \
        static struct ef_log_limit limit_;                                             \
        uint64_t left_out_;                                                            \
        if (ef_log_limit_ok(&limit_, &left_out_)) {                                    \
            if (left_out_) {                                                           \
                ef_log_write(level, module, fmt " (%llu more like it)", ##__VA_ARGS__, \
                             (unsigned long long) left_out_);                          \
            } else {                                                                   \
                ef_log_write(level, module, fmt, ##__VA_ARGS__);                       \
            }                                                                          \
        }                                                                              \
    } while (0)

#endif
