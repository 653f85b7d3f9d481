/* SPDX-License-Identifier: Apache-2.0 */
/* The files of an archive; see catalogue.h. */
#include <config.h>

#include "store/archive/catalogue.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"

#define SUFFIX ".parquet"
enum { TIME_CHARS = 19 }; /* YYYYMMDDTHHMMSS.mmm */

struct ef_segment *
ef_catalogue_find(struct ef_catalogue *c, uint64_t number)
{
    for (unsigned i = c->n; i-- > 0;) {
        if (c->segments[i].number == number) {
            return &c->segments[i];
        }
    }
    return NULL;
}

struct ef_segment *
ef_catalogue_add(struct ef_catalogue *c, const struct ef_segment *segment)
{
    if (c->n == c->room) {
        c->room = EF_MAX(c->room * 2, 64u);
        c->segments = ef_must_realloc(c->segments, c->room * sizeof *c->segments);
    }
    unsigned at = c->n++;
    while (at > 0 && c->segments[at - 1].number > segment->number) {
        c->segments[at] = c->segments[at - 1];
        at--;
    }
    c->segments[at] = *segment;
    return &c->segments[at];
}

void
ef_catalogue_remove(struct ef_catalogue *c, uint64_t number)
{
    struct ef_segment *s = ef_catalogue_find(c, number);
    if (s) {
        memmove(s, s + 1, (size_t) (c->segments + c->n - (s + 1)) * sizeof *s);
        c->n--;
    }
}

void
ef_catalogue_deinit(struct ef_catalogue *c)
{
    free(c->segments);
    *c = (struct ef_catalogue){0};
}

void
ef_segment_name(struct ef_time from, uint64_t number, char name[EF_SEGMENT_NAME_MAX])
{
    /* Whole seconds that are not above it, also before 1970. */
    int64_t ms = from.ns / EF_NS_PER_MS - (from.ns % EF_NS_PER_MS < 0);
    time_t seconds = (time_t) (ms / 1000 - (ms % 1000 < 0));
    struct tm tm;
    char text[32] = "00000000T000000";
    if (gmtime_r(&seconds, &tm) && tm.tm_year >= 0 && tm.tm_year < 8100) {
        strftime(text, sizeof text, "%Y%m%dT%H%M%S", &tm);
    }
    snprintf(name, EF_SEGMENT_NAME_MAX, "%s.%03d-%012" PRIu64 SUFFIX, text, (int) (ms - (int64_t) seconds * 1000),
             number);
}

uint64_t
ef_segment_number_of_name(const char *name)
{
    for (int i = 0; i < TIME_CHARS; i++) {
        char expected = i == 8 ? 'T' : i == 15 ? '.' : '0';
        if (expected == '0' ? !isdigit((unsigned char) name[i]) : name[i] != expected) {
            return 0;
        }
    }
    if (name[TIME_CHARS] != '-' || !isdigit((unsigned char) name[TIME_CHARS + 1])) {
        return 0;
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(name + TIME_CHARS + 1, &end, 10);
    return errno || strcmp(end, SUFFIX) || strlen(name) >= EF_SEGMENT_NAME_MAX ? 0 : number;
}

/* The range of times over all row groups. */
static void
find_times(const struct ef_parquet_reader *reader, struct ef_segment *s)
{
    s->from.ns = INT64_MAX;
    s->to.ns = INT64_MIN;
    for (unsigned g = 0; g < ef_parquet_reader_meta(reader)->n_groups; g++) {
        uint8_t min[64], max[64];
        if (!ef_parquet_reader_bounds(reader, g, 0, min, max)) {
            s->from.ns = INT64_MIN;
            s->to.ns = INT64_MAX;
            return;
        }
        s->from.ns = EF_MIN(s->from.ns, (int64_t) ef_load_le64(min));
        s->to.ns = EF_MAX(s->to.ns, (int64_t) ef_load_le64(max));
    }
}

int
ef_segment_open(const char *path, const struct ef_row_schema *schema, int *fd, struct ef_parquet_reader **reader,
                struct ef_segment *segment, struct ef_error *err)
{
    struct stat st;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &st)) {
        int rc = -errno;
        if (*fd >= 0) {
            close(*fd);
        }
        return ef_error_set(err, rc, "cannot open %s: %s", path, strerror(-rc));
    }
    struct ef_parquet_source source = {.read = ef_parquet_read_fd, .ctx = fd, .size = (uint64_t) st.st_size};
    int rc = ef_parquet_reader_create(schema, &source, reader, err);
    if (rc) {
        close(*fd);
        return rc;
    }
    segment->is_sealed = segment->is_ended = true;
    segment->n_bytes = (uint64_t) st.st_size;
    segment->n_rows = (uint64_t) ef_parquet_reader_meta(*reader)->n_rows;
    find_times(*reader, segment);
    return 0;
}
