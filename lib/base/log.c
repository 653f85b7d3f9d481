/* SPDX-License-Identifier: Apache-2.0 */
/* Logging for daemons; see log.h. */
#include <config.h>

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"

static struct {
    _Atomic int fd; /* Where lines go, -1: nowhere. */
    _Atomic int level;
    const char *file; /* NULL: stderr. */
} logger = {-1, EF_LOG_INFO, NULL};

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const level_marks[] = {"ERROR", "WARN ", "INFO ", "DEBUG"};

static int
open_file(const char *file)
{
    return open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

int
ef_log_open(const char *program, const char *file, struct ef_error *err)
{
    int fd = STDERR_FILENO;
    if (file) {
        fd = open_file(file);
        if (fd < 0) {
            int code = errno;
            return ef_error_set(err, -code, "%s: cannot write log file %s: %s", program, file, strerror(code));
        }
    }
    logger.file = file;
    int old = atomic_exchange(&logger.fd, fd);
    if (old > STDERR_FILENO) {
        close(old);
    }
    return 0;
}

/* The descriptor keeps its number: another thread may be about to write to it. */
int
ef_log_reopen(struct ef_error *err)
{
    if (!logger.file) {
        return 0;
    }
    int fd = open_file(logger.file);
    if (fd < 0 || dup3(fd, atomic_load(&logger.fd), O_CLOEXEC) < 0) {
        int code = errno;
        if (fd >= 0) {
            close(fd);
        }
        return ef_error_set(err, -code, "cannot write log file %s: %s", logger.file, strerror(code));
    }
    close(fd);
    return 0;
}

void
ef_log_set_level(enum ef_log_level level)
{
    atomic_store(&logger.level, (int) level);
}

enum ef_log_level
ef_log_get_level(void)
{
    return (enum ef_log_level) atomic_load(&logger.level);
}

const char *
ef_log_level_name(enum ef_log_level level)
{
    return level_names[level];
}

int
ef_log_level_by_name(const char *name, enum ef_log_level *level)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(level_names); i++) {
        if (!strcmp(name, level_names[i])) {
            *level = (enum ef_log_level) i;
            return 0;
        }
    }
    return -EINVAL;
}

void
ef_log_write(enum ef_log_level level, const char *module, const char *fmt, ...)
{
    int fd = atomic_load(&logger.fd);
    if (fd < 0 || (int) level > atomic_load(&logger.level)) {
        return;
    }
    char when[EF_TIME_TEXT_SIZE], line[1024];
    ef_time_format(ef_time_real(), when);
    /* Milliseconds are enough for a log: 23 characters of the time, then Z. */
    int n = snprintf(line, sizeof line, "%.23sZ %s %s: ", when, level_marks[level], module);
    va_list args;
    va_start(args, fmt);
    int m = vsnprintf(line + n, sizeof line - (size_t) n - 1, fmt, args);
    va_end(args);
    size_t len = (size_t) n + (m < 0 ? 0 : EF_MIN((size_t) m, sizeof line - (size_t) n - 2));
    line[len++] = '\n';
    /* One write per line, so that lines of several threads do not mix. A log
     * that cannot be written has nowhere to say so. */
    ssize_t written = write(fd, line, len);
    (void) written;
}

bool
ef_log_limit_ok(struct ef_log_limit *limit, uint64_t *suppressed)
{
    int64_t now = ef_time_mono().ns, next = atomic_load(&limit->next_mono_ns);
    if (now >= next && atomic_compare_exchange_strong(&limit->next_mono_ns, &next, now + EF_NS_PER_S)) {
        *suppressed = atomic_exchange(&limit->suppressed, 0);
        return true;
    }
    atomic_fetch_add(&limit->suppressed, 1);
    return false;
}
