/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet out of the analyzers; see store_parquet.h. Each sends a file, and all are
 * joined. */
#include <config.h>

#include "utilities/efctl/store_parquet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/archive/parquet_join.h"
#include "utilities/efctl/json_get.h"
#include "utilities/efctl/text.h"
#include "utilities/efctl/trace_errors.h"
#include "utilities/efctl/trace_fetch.h"

struct joining {
    const char *path;
    char *temp; /* What is written, until it is whole. */
    FILE *file;
    int64_t bytes, n_traces;
    struct ef_parquet_join *join;
    unsigned n_answers;
    bool is_incomplete, has_more;
};

static int
fail(const char *fmt, const char *what, const char *why)
{
    struct ef_error err;
    ef_error_set(&err, -EIO, fmt, what, why);
    return efctl_fail(&err);
}

static void
say_missing(struct joining *j, const char *analyzer, const char *why)
{
    fail("incomplete: %.100s: %.300s", analyzer, why);
    j->is_incomplete = true;
}

/* --- The file that comes out ------------------------------------------------------------- */

static int
write_file(void *ctx, const void *data, size_t len)
{
    struct joining *j = ctx;
    j->bytes += (int64_t) len;
    return fwrite(data, 1, len, j->file) == len ? 0 : errno ? -errno : -EIO;
}

static int
begin_file(struct joining *j)
{
    if (asprintf(&j->temp, "%s.part", j->path) < 0) {
        abort();
    }
    j->file = fopen(j->temp, "we");
    if (!j->file) {
        return fail("cannot write %.200s: %s", j->temp, strerror(errno));
    }
    j->join = ef_parquet_join_create(write_file, j);
    return EFCTL_OK;
}

/* Gives the file its name, or removes it if `rc` or the disk says so. */
static int
finish_file(struct joining *j, int rc)
{
    if (!rc) {
        rc = ef_parquet_join_finish(j->join);
    }
    if (fclose(j->file) && !rc) {
        rc = -errno;
    }
    if (!rc && rename(j->temp, j->path)) {
        rc = -errno;
    }
    if (rc) {
        unlink(j->temp);
        return fail("cannot write %.200s: %s", j->path, strerror(-rc));
    }
    return EFCTL_OK;
}

/* --- One analyzer -------------------------------------------------------------------------- */

static void
note_pairs(struct joining *j, const char *analyzer, const struct ef_parquet_meta *meta)
{
    char why[200];
    struct ef_bytes more = ef_parquet_meta_find(meta, "everflow.more");
    struct ef_bytes incomplete = ef_parquet_meta_find(meta, "everflow.incomplete");
    j->has_more |= more.len == 4 && !memcmp(more.data, "true", 4);
    if (incomplete.data) {
        snprintf(why, sizeof why, "%.*s", (int) incomplete.len, (const char *) incomplete.data);
        say_missing(j, analyzer, why);
    }
}

/* Takes what an analyzer sent, at the end of which `file` stands. */
static int
take_answer(struct joining *j, const char *analyzer, FILE *file)
{
    struct ef_error err = EF_ERROR_INIT;
    struct stat st;
    int fd = fileno(file);
    if (fflush(file) || fstat(fd, &st)) {
        return -errno;
    }
    struct ef_parquet_source source = {.read = ef_parquet_read_fd, .ctx = &fd, .size = (uint64_t) st.st_size};
    int rc = ef_parquet_join_add(j->join, &source, &err);
    if (rc == -EBADMSG || rc == -EINVAL) {
        say_missing(j, analyzer, rc == -EINVAL ? err.text : "its answer was cut off");
        return 0;
    }
    if (!rc) {
        j->n_answers++;
        j->n_traces += ef_parquet_join_meta(j->join)->n_rows;
        note_pairs(j, analyzer, ef_parquet_join_meta(j->join));
    }
    return rc;
}

static int
on_data(void *ctx, const char *data, size_t len)
{
    return fwrite(data, 1, len, ctx) == len ? 0 : errno ? -errno : -EIO;
}

static int
ask_analyzer(struct efctl_context *context, struct joining *j, const struct efctl_trace_query *query,
             const char *analyzer)
{
    struct efctl_trace_query one = *query;
    struct efctl_failure failure;
    FILE *file = tmpfile();
    if (!file) {
        return -errno;
    }
    one.analyzer = analyzer;
    char *path = efctl_trace_path(&one, "parquet");
    const struct efctl_client_sink sink = {.data = on_data, .ctx = file};
    int rc = efctl_client_get(&context->client, path, &sink, &failure);
    free(path);
    if (!rc) {
        rc = take_answer(j, analyzer, file);
    } else if (failure.http_status / 100 == 4) {
        rc = efctl_trace_fail(query, &failure); /* The question is wrong, whoever is asked. */
    } else {
        say_missing(j, analyzer, failure.error.text);
        rc = 0;
    }
    fclose(file);
    return rc;
}

/* --- All of them ------------------------------------------------------------------------------ */

static int
report(struct efctl_context *context, const struct joining *j, const struct efctl_trace_query *query)
{
    char size[EFCTL_TEXT_SIZE], count[EFCTL_TEXT_SIZE];
    efctl_output_printf(&context->out, EFCTL_PLAIN, "%s: %s traces, %s", j->path,
                        efctl_format_count(j->n_traces, count), efctl_format_bytes(j->bytes, size));
    if (query->limit && j->has_more) {
        efctl_output_printf(&context->out, EFCTL_PLAIN, ", the newest %llu of each analyzer (--limit)",
                            (unsigned long long) query->limit);
    }
    efctl_output_newline(&context->out);
    return j->is_incomplete ? EFCTL_FAILED : EFCTL_OK;
}

static int
ask_all(struct efctl_context *context, struct joining *j, const struct efctl_trace_query *query,
        const json_t *analyzers)
{
    size_t i;
    const json_t *analyzer;
    int rc = 0;
    json_array_foreach(analyzers, i, analyzer)
    {
        rc = rc ? rc : ask_analyzer(context, j, query, efctl_get_string(analyzer, "name", "?"));
    }
    return rc;
}

int
efctl_store_parquet(struct efctl_context *context, const struct efctl_trace_query *query, const char *path)
{
    struct joining j = {.path = path};
    struct efctl_failure failure;
    json_t *status;
    if (efctl_client_get_json(&context->client, "/v1/status", &status, &failure)) {
        return efctl_trace_fail(query, &failure);
    }
    int rc = begin_file(&j);
    if (!rc) {
        rc = ask_all(context, &j, query, efctl_get_array(status, "analyzers"));
        if (rc > 0 || !j.n_answers) {
            fclose(j.file);
            unlink(j.temp);
            rc = rc > 0 ? rc : fail("%.200s is not written: %s", path, "no analyzer answered");
        } else {
            rc = finish_file(&j, rc);
            rc = rc ? rc : report(context, &j, query);
        }
    }
    ef_parquet_join_destroy(j.join);
    free(j.temp);
    json_decref(status);
    return rc;
}
