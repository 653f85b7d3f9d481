/* SPDX-License-Identifier: Apache-2.0 */
/* System calls in a table; see file_ops.h. */
#include <config.h>

#include "store/archive/file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static int
real_open(const char *path, int flags, mode_t mode)
{
    return open(path, flags | O_CLOEXEC, mode);
}

const struct ef_file_ops ef_file_ops_real = {
    .open = real_open,
    .write = write,
    .ftruncate = ftruncate,
    .fdatasync = fdatasync,
    .fsync = fsync,
    .rename = rename,
    .unlink = unlink,
};

int
ef_file_write_all(const struct ef_file_ops *ops, int fd, const void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = ops->write(fd, (const uint8_t *) data + done, len - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n ? -errno : -EIO;
        }
        done += (size_t) n;
    }
    return 0;
}

int
ef_file_sync_directory(const struct ef_file_ops *ops, const char *path)
{
    int fd = ops->open(path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        return -errno;
    }
    int rc = ops->fsync(fd) ? -errno : 0;
    close(fd);
    return rc;
}
