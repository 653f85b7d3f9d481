/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log; see audit.h. */
#include <config.h>

#include "controller/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"

struct audit {
    const char *file;
    json_t *newest[AUDIT_MAX_ENTRIES]; /* A ring: the entry `i` is at i % AUDIT_MAX_ENTRIES. */
    uint64_t n, n_lost;
};

struct audit *
audit_create(const char *file)
{
    struct audit *a = calloc(1, sizeof *a);
    if (a) {
        a->file = file;
    }
    return a;
}

void
audit_destroy(struct audit *audit)
{
    for (size_t i = 0; audit && i < AUDIT_MAX_ENTRIES; i++) {
        json_decref(audit->newest[i]);
    }
    free(audit);
}

/* One write, so that lines of several controllers on one file do not mix. */
static int
append(const char *file, const char *line, size_t len)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0) {
        return -errno;
    }
    ssize_t n = write(fd, line, len);
    int rc = n == (ssize_t) len ? 0 : n < 0 ? -errno : -ENOSPC;
    close(fd);
    return rc;
}

static void
write_line(struct audit *a, const json_t *entry)
{
    char *text = json_dumps(entry, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0;
    char *line = text ? realloc(text, len + 2) : NULL;
    if (!line) {
        free(text);
        a->n_lost++;
        return;
    }
    if (!a->file) {
        ef_log_info("audit", "%s", line);
    } else {
        memcpy(line + len, "\n", 2);
        int rc = append(a->file, line, len + 1);
        if (rc && !a->n_lost++) {
            ef_log_error("audit", "cannot write to %s: %s; entries are being lost", a->file, strerror(-rc));
        }
    }
    free(line);
}

void
audit_add(struct audit *a, json_t *entry)
{
    char time[EF_TIME_TEXT_SIZE];
    json_t *dated = json_pack("{s:s}", "time", ef_time_format(ef_time_real(), time));
    json_object_update(dated, entry);
    json_decref(entry);
    write_line(a, dated);
    json_t **place = &a->newest[a->n++ % AUDIT_MAX_ENTRIES];
    json_decref(*place);
    *place = dated;
}

json_t *
audit_list(const struct audit *a, size_t limit)
{
    json_t *list = json_array();
    uint64_t kept = a->n < AUDIT_MAX_ENTRIES ? a->n : AUDIT_MAX_ENTRIES;
    for (uint64_t i = a->n - (limit < kept ? limit : kept); i < a->n; i++) {
        json_array_append(list, a->newest[i % AUDIT_MAX_ENTRIES]);
    }
    return list;
}

uint64_t
audit_n_entries(const struct audit *audit)
{
    return audit->n;
}

uint64_t
audit_n_lost(const struct audit *audit)
{
    return audit->n_lost;
}
