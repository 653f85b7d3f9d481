/* SPDX-License-Identifier: Apache-2.0 */
/* The archive's system calls, of which a test can let any fail. */
#ifndef EF_TEST_UNIT_STORE_FAILING_OPS_H
#define EF_TEST_UNIT_STORE_FAILING_OPS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "store/archive/file_ops.h"

/* errno of the next calls, 0: they work. */
static _Atomic int fail_open, fail_write, fail_truncate, fail_sync, fail_rename, fail_unlink;
/* Writes take at most so many bytes, and then so many in all before fail_write. */
static _Atomic int64_t write_at_most = INT64_MAX, write_room = INT64_MAX;

static int
failing(int error)
{
    errno = error;
    return error ? -1 : 0;
}

static int
failing_open(const char *path, int flags, mode_t mode)
{
    return failing(fail_open) ? -1 : ef_file_ops_real.open(path, flags, mode);
}

/* Takes up to `len` of what there is room for, and returns it. More than one thread
 * writes: what one was given, no other one gets, or the room would become negative. */
static size_t
take_room(size_t len)
{
    int64_t room = write_room, taken;
    do {
        taken = (int64_t) len < room ? (int64_t) len : room;
    } while (!atomic_compare_exchange_weak(&write_room, &room, room - taken));
    return (size_t) taken;
}

static ssize_t
failing_write(int fd, const void *data, size_t len)
{
    int error = fail_write;
    if ((int64_t) len > write_at_most) {
        len = (size_t) write_at_most;
    }
    if (error && len) {
        len = take_room(len);
        if (!len) {
            return failing(error);
        }
    }
    return write(fd, data, len);
}

static int
failing_truncate(int fd, off_t length)
{
    return failing(fail_truncate) ? -1 : ftruncate(fd, length);
}

static int
failing_sync(int fd)
{
    return failing(fail_sync) ? -1 : fdatasync(fd);
}

static int
failing_rename(const char *from, const char *to)
{
    return failing(fail_rename) ? -1 : ef_file_ops_real.rename(from, to);
}

static int
failing_unlink(const char *path)
{
    return failing(fail_unlink) ? -1 : unlink(path);
}

static const struct ef_file_ops failing_ops = {
    .open = failing_open,
    .write = failing_write,
    .ftruncate = failing_truncate,
    .fdatasync = failing_sync,
    .fsync = failing_sync,
    .rename = failing_rename,
    .unlink = failing_unlink,
};

#endif
