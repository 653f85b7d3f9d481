/* SPDX-License-Identifier: Apache-2.0 */
/* The bell of a worker; see feed.h. */
#include <config.h>

#include "analyzer/feed.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int
ef_bell_init(struct ef_bell *bell)
{
    atomic_init(&bell->sleeping, 0);
    bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return bell->fd < 0 ? -errno : 0;
}

void
ef_bell_deinit(struct ef_bell *bell)
{
    close(bell->fd);
}

/* True if the worker sleeps, or is about to: our flush comes before the look. A
 * look, unlike a read-modify-write, leaves the line with all who look. */
static bool
is_asleep(struct ef_bell *bell)
{
#if EF_THREAD_SANITIZER /* Which knows no fences. */
    return atomic_fetch_or(&bell->sleeping, 0);
#else
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&bell->sleeping, memory_order_relaxed);
#endif
}

void
ef_bell_ring(struct ef_bell *bell)
{
    if (EF_UNLIKELY(is_asleep(bell)) && atomic_exchange(&bell->sleeping, 0)) {
        eventfd_write(bell->fd, 1);
    }
}

void
ef_bell_sleep(struct ef_bell *bell, int timeout_ms, bool (*is_work_there)(void *ctx), void *ctx)
{
    atomic_exchange(&bell->sleeping, 1);
    if (!is_work_there(ctx)) {
        struct pollfd pollfd = {.fd = bell->fd, .events = POLLIN};
        eventfd_t count;
        if (poll(&pollfd, 1, timeout_ms) > 0) {
            eventfd_read(bell->fd, &count);
        }
    }
    atomic_store(&bell->sleeping, 0);
}
