/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the spool; see spool.h. */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/archive/spool.h"
#include "store/archive/spool_format.h"

#define NAME_PREFIX "spool-"
#define NAME_SUFFIX ".records"
enum { READ_BYTES = 1 << 18, NUMBER_DIGITS = 12 };

void
ef_spool_path(const char *dir, uint64_t number, char *path)
{
    snprintf(path, EF_SPOOL_PATH_MAX, "%s/" NAME_PREFIX "%0*" PRIu64 NAME_SUFFIX, dir, NUMBER_DIGITS, number);
}

uint64_t
ef_spool_number_of_name(const char *name)
{
    if (strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) || !isdigit((unsigned char) name[strlen(NAME_PREFIX)])) {
        return 0;
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(name + strlen(NAME_PREFIX), &end, 10);
    return errno || strcmp(end, NAME_SUFFIX) ? 0 : number;
}

struct ef_spool_reader {
    int fd;
    struct ef_buffer bytes;
    size_t at; /* In `bytes`. */
};

/* Makes `n` bytes available at `at`. Returns 1, 0 if the file ends before, or a
 * negative errno. */
static int
need(struct ef_spool_reader *r, size_t n)
{
    while (r->bytes.len - r->at < n) {
        if (r->at > READ_BYTES) {
            memmove(r->bytes.data, r->bytes.data + r->at, r->bytes.len - r->at);
            r->bytes.len -= r->at;
            r->at = 0;
        }
        ef_buffer_reserve(&r->bytes, READ_BYTES);
        ssize_t got = read(r->fd, r->bytes.data + r->bytes.len, READ_BYTES);
        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        if (!got) {
            return 0;
        }
        r->bytes.len += got > 0 ? (size_t) got : 0;
    }
    return 1;
}

static int
read_header(struct ef_spool_reader *r, uint64_t fingerprint)
{
    int rc = need(r, SPOOL_HEADER_BYTES);
    if (rc <= 0) {
        return rc ? rc : -EBADMSG;
    }
    const uint8_t *header = r->bytes.data;
    r->at = SPOOL_HEADER_BYTES;
    return memcmp(header, SPOOL_MAGIC, 8) || ef_load_le64(header + 8) != fingerprint ||
                   ef_load_le32(header + 16) != ef_crc32c(0, header, 16)
               ? -EBADMSG
               : 0;
}

int
ef_spool_reader_create(const char *path, uint64_t fingerprint, struct ef_spool_reader **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    struct ef_spool_reader *r = ef_must_realloc(NULL, sizeof *r);
    *r = (struct ef_spool_reader){.fd = fd};
    int rc = read_header(r, fingerprint);
    if (rc) {
        ef_spool_reader_destroy(r);
        return rc;
    }
    *out = r;
    return 0;
}

void
ef_spool_reader_destroy(struct ef_spool_reader *r)
{
    if (r) {
        ef_buffer_deinit(&r->bytes);
        close(r->fd);
        free(r);
    }
}

int
ef_spool_reader_next(struct ef_spool_reader *r, const uint8_t **record, size_t *len)
{
    int rc = need(r, SPOOL_RECORD_BYTES);
    if (rc <= 0) {
        return rc;
    }
    uint32_t n = ef_load_le32(r->bytes.data + r->at);
    if (n > EF_SPOOL_MAX_RECORD) {
        return 0;
    }
    rc = need(r, SPOOL_RECORD_BYTES + n);
    if (rc <= 0) {
        return rc;
    }
    const uint8_t *head = r->bytes.data + r->at;
    if (ef_load_le32(head + 4) != ef_spool_check(n, head + SPOOL_RECORD_BYTES)) {
        return 0;
    }
    *record = head + SPOOL_RECORD_BYTES;
    *len = n;
    r->at += SPOOL_RECORD_BYTES + n;
    return 1;
}

uint64_t
ef_spool_reader_torn(const struct ef_spool_reader *r)
{
    off_t here = lseek(r->fd, 0, SEEK_CUR), end = lseek(r->fd, 0, SEEK_END);
    return r->bytes.len - r->at + (end > here ? (uint64_t) (end - here) : 0);
}

int
ef_spool_read(const char *path, uint64_t fingerprint, bool (*each)(void *ctx, const uint8_t *record, size_t len),
              void *ctx, uint64_t *torn_bytes)
{
    struct ef_spool_reader *r;
    const uint8_t *record;
    size_t len;
    *torn_bytes = 0;
    int rc = ef_spool_reader_create(path, fingerprint, &r);
    if (rc) {
        return rc;
    }
    while ((rc = ef_spool_reader_next(r, &record, &len)) > 0 && each(ctx, record, len)) {
        continue;
    }
    if (!rc) {
        *torn_bytes = ef_spool_reader_torn(r);
    }
    ef_spool_reader_destroy(r);
    return EF_MIN(rc, 0);
}
