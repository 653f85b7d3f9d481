/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls by which the archive changes files, as a table, so that
 * tests can let each of them fail. Each behaves as its namesake: -1 and errno. */
#ifndef EF_STORE_ARCHIVE_FILE_OPS_H
#define EF_STORE_ARCHIVE_FILE_OPS_H

#include <sys/types.h>

struct ef_file_ops {
    int (*open)(const char *path, int flags, mode_t mode);
    ssize_t (*write)(int fd, const void *data, size_t len);
    int (*ftruncate)(int fd, off_t length);
    int (*fdatasync)(int fd);
    int (*fsync)(int fd);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
};

/* The kernel's. */
extern const struct ef_file_ops ef_file_ops_real;

/* Writes all of it, whatever the kernel takes at a time. Returns 0 or a
 * negative errno. */
int ef_file_write_all(const struct ef_file_ops *ops, int fd, const void *data, size_t len);

/* Makes the names in the directory durable. Returns 0 or a negative errno. */
int ef_file_sync_directory(const struct ef_file_ops *ops, const char *path);

#endif
