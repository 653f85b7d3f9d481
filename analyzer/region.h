/* SPDX-License-Identifier: Apache-2.0 */
/* The large blocks that --memory pays for: taken once at start, zero, touched
 * only as far as they are used, on huge pages where the kernel has them (the
 * open table is read at random, and a TLB miss costs as much as the line). */
#ifndef EF_ANALYZER_REGION_H
#define EF_ANALYZER_REGION_H

#include <stddef.h>
#include <sys/mman.h>

/* Returns `bytes` zero bytes on a page boundary, or NULL. */
static inline void *
ef_region_alloc(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return NULL;
    }
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

/* NULL is fine. */
static inline void
ef_region_free(void *p, size_t bytes)
{
    if (p) {
        munmap(p, bytes);
    }
}

#endif
