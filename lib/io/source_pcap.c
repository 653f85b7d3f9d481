/* SPDX-License-Identifier: Apache-2.0 */
/* Frames from a capture file or pipe, pcap or pcapng, read once at full speed. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/capture_pipe.h"
#include "io/source_class.h"

/* libpcap lends one frame at a time, a burst lends many: they are copied. */
enum { BUFFER_BYTES = 1 << 20 };

struct pcap_source {
    struct ef_source source;
    pcap_t *pcap;
    struct ef_capture_pipe *pipe; /* NULL: a file, which never keeps us waiting. */
    /* The frame that did not fit into the last burst, lent by libpcap. */
    struct pcap_pkthdr *pending_hdr;
    const uint8_t *pending;
    int end; /* The errno that ended the file, or 0. */
    uint8_t buffer[BUFFER_BYTES];
};

static struct pcap_source *
pcap_source_of(struct ef_source *source)
{
    return EF_CONTAINER_OF(source, struct pcap_source, source);
}

static void
pcap_source_close(struct ef_source *source)
{
    struct pcap_source *s = pcap_source_of(source);
    if (s->pcap) {
        pcap_close(s->pcap);
    }
    free(s);
}

static bool
is_pipe(const char *path)
{
    struct stat st;
    int rc = strcmp(path, "-") ? stat(path, &st) : fstat(STDIN_FILENO, &st);
    return !rc && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static pcap_t *
open_pipe(struct pcap_source *s, const char *path, char *text)
{
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    FILE *file = fd < 0 ? NULL : ef_capture_pipe_open(fd, &s->pipe);
    if (!file) {
        snprintf(text, PCAP_ERRBUF_SIZE, "%s: %s", path, strerror(errno));
        return NULL;
    }
    pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, text);
    if (!pcap) {
        fclose(file);
    }
    return pcap;
}

static int
open_file(struct pcap_source *s, const char *path, struct ef_error *err)
{
    char text[PCAP_ERRBUF_SIZE] = "";
    errno = 0;
    s->pcap = is_pipe(path) ? open_pipe(s, path, text)
                            : pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, text);
    if (!s->pcap) {
        int code = errno ? errno : EBADMSG; /* It was no file, or none that libpcap reads. */
        return ef_error_set(err, -code, "%s", text);
    }
    int type = pcap_datalink(s->pcap);
    if (type != DLT_EN10MB) {
        const char *name = pcap_datalink_val_to_name(type);
        return ef_error_set(err, -EPROTOTYPE, "link type %s is not Ethernet", name ? name : "of this file");
    }
    return 0;
}

static int
pcap_source_open(const char *where, uint64_t ring_bytes, struct ef_source **out, struct ef_error *err)
{
    struct pcap_source *s = calloc(1, sizeof *s);
    if (!s) {
        return ef_error_set(err, -ENOMEM, "out of memory");
    }
    int rc = open_file(s, where, err);
    if (rc) {
        pcap_source_close(&s->source);
        return rc;
    }
    *out = &s->source;
    return 0;
}

/* Makes `pending` the next frame; else sets `end`. */
static void
read_next(struct pcap_source *s)
{
    int rc = pcap_next_ex(s->pcap, &s->pending_hdr, &s->pending);
    if (rc == 1 && s->pending_hdr->caplen <= BUFFER_BYTES) {
        return;
    }
    s->pending = NULL;
    if (rc == PCAP_ERROR_BREAK) {
        s->end = ef_error_set(&s->source.error, -ENODATA, "end of file");
    } else if (rc == 1) {
        s->end = ef_error_set(&s->source.error, -EIO, "a frame of %u bytes is too large", s->pending_hdr->caplen);
    } else {
        s->end = ef_error_set(&s->source.error, -EIO, "%s", pcap_geterr(s->pcap));
    }
}

/* Nanoseconds, as asked for; a time that no such file should have is the nearest
 * one that can be told. */
static struct ef_time
time_of(const struct pcap_pkthdr *hdr)
{
    int64_t ns;
    if (__builtin_mul_overflow((int64_t) hdr->ts.tv_sec, EF_NS_PER_S, &ns) ||
        __builtin_add_overflow(ns, (int64_t) hdr->ts.tv_usec, &ns)) {
        ns = hdr->ts.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    }
    return (struct ef_time){ns};
}

static int
pcap_source_receive(struct ef_source *source, struct ef_frame *frames, int max, int timeout_ms)
{
    struct pcap_source *s = pcap_source_of(source);
    uint32_t used = 0;
    int n = 0;
    while (n < max && !s->end) {
        if (!s->pending) {
            if (s->pipe && !ef_capture_pipe_wait(s->pipe, n ? 0 : timeout_ms)) {
                break;
            }
            read_next(s);
            continue;
        }
        const struct pcap_pkthdr *hdr = s->pending_hdr;
        if (hdr->caplen > BUFFER_BYTES - used) {
            break;
        }
        memcpy(s->buffer + used, s->pending, hdr->caplen);
        frames[n++] = (struct ef_frame){
            .data = s->buffer + used,
            .len = hdr->caplen,
            .wire_len = EF_MAX(hdr->len, hdr->caplen),
            .arrival = time_of(hdr),
        };
        used += hdr->caplen;
        s->pending = NULL;
    }
    return n ? n : s->end;
}

const struct ef_source_class ef_source_pcap_class = {
    .scheme = "pcap",
    .usage = "pcap:FILE",
    .open = pcap_source_open,
    .close = pcap_source_close,
    .receive = pcap_source_receive,
};
