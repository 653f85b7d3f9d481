/* SPDX-License-Identifier: Apache-2.0 */
/* Small compile-time helpers that every module may use. */
#ifndef EF_BASE_UTIL_H
#define EF_BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define EF_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define EF_MIN(a, b) ((a) < (b) ? (a) : (b))
#define EF_MAX(a, b) ((a) > (b) ? (a) : (b))
#define EF_LIKELY(x) __builtin_expect(!!(x), 1)
#define EF_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define EF_CONTAINER_OF(ptr, type, member) ((type *) (void *) ((char *) (ptr) -offsetof(type, member)))
#define EF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define EF_CACHE_LINE 64
#define EF_CACHE_ALIGNED __attribute__((aligned(EF_CACHE_LINE)))
#define EF_ALWAYS_INLINE inline __attribute__((always_inline))

#if defined(__SANITIZE_THREAD__)
#define EF_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EF_THREAD_SANITIZER 1
#endif
#endif
#ifndef EF_THREAD_SANITIZER
#define EF_THREAD_SANITIZER 0
#endif

#endif
