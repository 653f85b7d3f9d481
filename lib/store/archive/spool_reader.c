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

struct reader {
    int fd;
    struct ef_buffer bytes;
    size_t at; /* In `bytes`. */
};

/* Makes `n` bytes available at `at`. Returns 1, 0 if the file ends before, or a
 * negative errno. */
static int
need(struct reader *r, size_t n)
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
read_header(struct reader *r, uint64_t fingerprint)
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

/* The next whole record: 1 with `*len`, its bytes at r->at; 0 at the end of such. */
static int
next_record(struct reader *r, uint32_t *len)
{
    int rc = need(r, SPOOL_RECORD_BYTES);
    if (rc <= 0) {
        return rc;
    }
    const uint8_t *head = r->bytes.data + r->at;
    uint32_t check = ef_load_le32(head + 4);
    *len = ef_load_le32(head);
    if (*len > EF_SPOOL_MAX_RECORD) {
        return 0;
    }
    rc = need(r, SPOOL_RECORD_BYTES + *len);
    if (rc <= 0) {
        return rc;
    }
    if (check != ef_spool_check(*len, r->bytes.data + r->at + SPOOL_RECORD_BYTES)) {
        return 0;
    }
    r->at += SPOOL_RECORD_BYTES;
    return 1;
}

/* What is left of the file behind r->at. */
static uint64_t
bytes_left(const struct reader *r)
{
    off_t here = lseek(r->fd, 0, SEEK_CUR), end = lseek(r->fd, 0, SEEK_END);
    return r->bytes.len - r->at + (end > here ? (uint64_t) (end - here) : 0);
}

int
ef_spool_read(const char *path, uint64_t fingerprint, bool (*each)(void *ctx, const uint8_t *record, size_t len),
              void *ctx, uint64_t *torn_bytes)
{
    struct reader r = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    uint32_t len;
    if (r.fd < 0) {
        return -errno;
    }
    int rc = read_header(&r, fingerprint);
    *torn_bytes = 0;
    while (!rc && (rc = next_record(&r, &len)) > 0) {
        rc = each(ctx, r.bytes.data + r.at, len) ? 0 : 1;
        r.at += len;
    }
    if (!rc) {
        *torn_bytes = bytes_left(&r);
    }
    ef_buffer_deinit(&r.bytes);
    close(r.fd);
    return rc < 0 ? rc : 0;
}
