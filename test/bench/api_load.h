/* SPDX-License-Identifier: Apache-2.0 */
/* Small requests at a fixed rate, whatever the answers take: each of some threads
 * has a connection that it keeps, and its own times at which to ask. What is
 * measured is from the time at which a request was due, so that a server that
 * makes others wait does not go unnoticed.
 *
 *     struct api_load load = {.port = 8780, .target = "/v1/traces?limit=1", .rate = 2000, .n = 10000};
 *     api_load_run(&load);
 *     load.seconds[0..n - 1]   sorted */
#ifndef EF_TEST_BENCH_API_LOAD_H
#define EF_TEST_BENCH_API_LOAD_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>

#include "bench/api_daemons.h"

enum { API_LOAD_THREADS = 16, API_LOAD_ANSWER_BYTES = 65536 };

struct api_load {
    uint16_t port;
    const char *target;
    SSL_CTX *tls;    /* NULL: plain. */
    double rate;     /* Requests a second, of all threads. */
    size_t n;        /* Requests. */
    double *seconds; /* Of each; by api_load_run(), freed by the caller. */
    size_t n_failed;
};

struct api_asker {
    struct api_load *load;
    unsigned index;
    size_t n_failed;
    double start;
    int fd;
    SSL *ssl;
};

static inline void
api_asker_connect(struct api_asker *a)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(a->load->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 20};
    int one = 1;
    a->fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(a->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(a->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(a->fd, (struct sockaddr *) &address, sizeof address)) {
        api_fail("connect");
    }
    if (a->load->tls) {
        a->ssl = SSL_new(a->load->tls);
        SSL_set_fd(a->ssl, a->fd);
        if (SSL_connect(a->ssl) != 1) {
            api_fail("TLS");
        }
    }
}

static inline void
api_asker_close(struct api_asker *a)
{
    SSL_free(a->ssl);
    a->ssl = NULL;
    close(a->fd);
}

/* One exchange; true if it was answered with 200. */
static inline bool
api_asker_ask(struct api_asker *a)
{
    char request[512], answer[API_LOAD_ANSWER_BYTES];
    int len = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: bench\r\n\r\n", a->load->target);
    ssize_t sent = a->ssl ? SSL_write(a->ssl, request, len) : send(a->fd, request, (size_t) len, MSG_NOSIGNAL);
    size_t got = 0;
    while (sent == len && got < sizeof answer - 1) {
        size_t room = sizeof answer - 1 - got;
        ssize_t n = a->ssl ? SSL_read(a->ssl, answer + got, (int) room) : recv(a->fd, answer + got, room, 0);
        if (n <= 0) {
            return false;
        }
        got += (size_t) n;
        answer[got] = '\0';
        const char *body = strstr(answer, "\r\n\r\n"), *counted = strstr(answer, "Content-Length: ");
        bool is_chunked = !counted || counted > body;
        if (body && (is_chunked ? got >= 5 && !memcmp(answer + got - 5, "0\r\n\r\n", 5)
                                : got >= (size_t) (body + 4 - answer) + strtoul(counted + 16, NULL, 10))) {
            return !memcmp(answer, "HTTP/1.1 200", 12);
        }
    }
    return false;
}

static inline void *
api_asker_main(void *arg)
{
    struct api_asker *a = arg;
    struct api_load *load = a->load;
    api_asker_connect(a);
    for (size_t i = a->index; i < load->n; i += API_LOAD_THREADS) {
        double due = a->start + (double) i / load->rate, wait = due - ef_bench_seconds();
        if (wait > 0) {
            struct timespec ts = {(time_t) wait, (long) ((wait - (double) (time_t) wait) * 1e9)};
            nanosleep(&ts, NULL);
        }
        if (!api_asker_ask(a)) {
            a->n_failed++;
            api_asker_close(a);
            api_asker_connect(a);
        }
        load->seconds[i] = ef_bench_seconds() - due;
    }
    api_asker_close(a);
    return NULL;
}

static inline void
api_load_run(struct api_load *load)
{
    struct api_asker askers[API_LOAD_THREADS];
    pthread_t threads[API_LOAD_THREADS];
    double start = ef_bench_seconds() + 0.2; /* Time to connect. */
    load->n_failed = 0;
    load->seconds = calloc(load->n, sizeof *load->seconds);
    for (unsigned i = 0; i < API_LOAD_THREADS; i++) {
        askers[i] = (struct api_asker){.load = load, .index = i, .start = start};
        if (!load->seconds || pthread_create(&threads[i], NULL, api_asker_main, &askers[i])) {
            api_fail("threads");
        }
    }
    for (unsigned i = 0; i < API_LOAD_THREADS; i++) {
        pthread_join(threads[i], NULL);
        load->n_failed += askers[i].n_failed;
    }
    qsort(load->seconds, load->n, sizeof *load->seconds, ef_bench_compare);
}

#endif
