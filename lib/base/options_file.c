/* SPDX-License-Identifier: Apache-2.0 */
/* Options in a file; see options_file.h. */
#include <config.h>

#include "base/options_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The text of a file that was read; options point into it. */
struct text {
    struct text *next;
    size_t len;
    char bytes[]; /* Ends with a NUL. */
};

static struct text *texts; /* Kept for the process's life. */

static int
fill(int fd, struct text *text, const char *path, struct ef_error *err)
{
    while (text->len <= EF_OPTIONS_FILE_MAX_BYTES) {
        ssize_t n = read(fd, text->bytes + text->len, EF_OPTIONS_FILE_MAX_BYTES + 1 - text->len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return ef_error_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
        }
        if (!n) {
            text->bytes[text->len] = '\0';
            return strlen(text->bytes) == text->len ? 0 : ef_error_set(err, -EINVAL, "%s is no text", path);
        }
        text->len += (size_t) n;
    }
    return ef_error_set(err, -EFBIG, "%s has more than %d bytes", path, EF_OPTIONS_FILE_MAX_BYTES);
}

/* Nothing but a regular file ends for sure. */
static int
open_file(const char *path, int *fd, struct ef_error *err)
{
    struct stat st;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, &st)) {
        return ef_error_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
    }
    return S_ISREG(st.st_mode) ? 0 : ef_error_set(err, -EINVAL, "cannot read %s: not a file", path);
}

static int
read_text(const char *path, struct text **out, struct ef_error *err)
{
    int fd;
    struct text *text = malloc(sizeof *text + EF_OPTIONS_FILE_MAX_BYTES + 2);
    if (!text) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    text->len = 0;
    int rc = open_file(path, &fd, err);
    rc = rc ? rc : fill(fd, text, path, err);
    if (fd >= 0) {
        close(fd);
    }
    if (rc) {
        free(text);
        return rc;
    }
    struct text *smaller = realloc(text, sizeof *text + text->len + 1);
    *out = smaller ? smaller : text;
    return 0;
}

/* Cuts white space off both ends, in place. */
static char *
trim(char *s)
{
    while (isspace((unsigned char) *s)) {
        s++;
    }
    for (size_t n = strlen(s); n && isspace((unsigned char) s[n - 1]); n--) {
        s[n - 1] = '\0';
    }
    return s;
}

static const struct ef_option *
find(const struct ef_option_group *groups, const char *name)
{
    for (; groups->options; groups++) {
        for (const struct ef_option *o = groups->options; o->name; o++) {
            if (!strcmp(o->name, name)) {
                return o;
            }
        }
    }
    return NULL;
}

static int
apply(const struct ef_option_group *groups, const char *name, const char *value, struct ef_error *err)
{
    const struct ef_option *option = find(groups, name);
    if ((option && option->is_file) || !strcmp(name, "help") || !strcmp(name, "version")) {
        return ef_error_set(err, -EINVAL, "'%s' is for the command line only", name);
    }
    if (option && !option->argument) {
        if (strcmp(value, "yes") && strcmp(value, "no")) {
            return ef_error_set(err, -EINVAL, "'%s' is yes or no", name);
        }
        return *value == 'n' ? 0 : ef_options_apply(groups, name, strlen(name), NULL, err);
    }
    return ef_options_apply(groups, name, strlen(name), value, err);
}

static int
read_line(const struct ef_option_group *groups, char *line, struct ef_error *err)
{
    line = trim(line);
    if (!*line || *line == '#') {
        return 0;
    }
    char *equals = strchr(line, '=');
    if (!equals) {
        return ef_error_set(err, -EINVAL, "'%.60s' is not of the form option = value", line);
    }
    *equals = '\0';
    char *name = trim(line), *value = trim(equals + 1);
    return *value ? apply(groups, name, value, err) : ef_error_set(err, -EINVAL, "'%.60s' has no value", name);
}

int
ef_options_read_file(const struct ef_option_group *groups, const char *path, struct ef_error *err)
{
    struct text *text = NULL;
    int rc = read_text(path, &text, err);
    if (rc) {
        return rc;
    }
    text->next = texts;
    texts = text;
    unsigned number = 1;
    for (char *line = text->bytes, *end; line; line = end ? end + 1 : NULL, number++) {
        end = strchr(line, '\n');
        if (end) {
            *end = '\0';
        }
        rc = read_line(groups, line, err);
        if (rc) {
            return ef_error_prefix(err, rc, "%s:%u", path, number);
        }
    }
    return 0;
}
