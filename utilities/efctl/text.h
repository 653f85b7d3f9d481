/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and foreign strings as a person reads them: scaled units, thousands
 * separated, and nothing in them that a terminal would obey.
 *
 *     char buf[EFCTL_TEXT_SIZE];
 *     efctl_format_duration_us(41.23, buf);     // "41.2 us"
 *
 * Each format function writes into `buf` of EFCTL_TEXT_SIZE bytes and returns
 * it. Pure functions: any thread. */
#ifndef EFCTL_TEXT_H
#define EFCTL_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { EFCTL_TEXT_SIZE = 48 };

/* "0 us", "41.2 us", "1.20 ms", "3.41 s"; negative values keep their sign. */
char *efctl_format_duration_us(double us, char *buf);

/* How long something has been up: "45 s", "12 min", "3 h 12 min", "2 d 4 h". */
char *efctl_format_uptime(int64_t seconds, char *buf);

/* How long `time` of a document was before `now_ns` (ns since 1970): "12 min
 * ago". What is no time is copied as it is, cut to fit. */
char *efctl_format_age(const char *time, int64_t now_ns, char *buf);

/* "812 B", "12.1 MiB", "512 MiB". */
char *efctl_format_bytes(int64_t bytes, char *buf);

/* "1,204,332". */
char *efctl_format_count(int64_t count, char *buf);

/* A time of a document (RFC 3339 in any zone) in UTC with `digits` digits of
 * the second's fraction, rounded down: "2026-11-21T02:30:00.123456Z". What is
 * no time is copied as it is, cut to fit. */
char *efctl_format_time(const char *time, unsigned digits, char *buf);

/* The text with everything that is not printable made visible: control
 * characters (C0, DEL, C1), marks that turn the direction of writing, line
 * separators and bytes that are not UTF-8 become "\x1b" or "\u202e". The
 * caller frees it. */
char *efctl_escape(const char *text);

/* Columns that an escaped text takes on a terminal, one per character. */
size_t efctl_text_width(const char *text);

#endif
