/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation for a short-lived command: it stops the program when memory is
 * out, since a half-planned fabric is of no use. Pointers are freed with
 * free(). */
#ifndef EF_FABRIC_MEMORY_H
#define EF_FABRIC_MEMORY_H

#include <stddef.h>

/* Zeroed bytes. */
void *ef_xzalloc(size_t size);

/* `array` of `n` elements of `size` bytes made one longer; the new one is
 * zeroed. The array moves. */
void *ef_xgrow(void *array, size_t n, size_t size);

/* printf into new memory. */
char *ef_xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
