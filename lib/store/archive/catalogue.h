/* SPDX-License-Identifier: Apache-2.0 */
/* What files an archive's directory has, rebuilt from them at the start; shared
 * by archive.c, seal.c and archive_query.c. The archive's mutex guards it. */
#ifndef EF_STORE_ARCHIVE_CATALOGUE_H
#define EF_STORE_ARCHIVE_CATALOGUE_H

#include "base/time.h"
#include "store/archive/parquet_reader.h"
#include "store/archive/spool.h"

enum { EF_SEGMENT_NAME_MAX = 64 };
#define EF_SEGMENT_TEMP ".tmp"
#define EF_SEGMENT_BROKEN ".broken"

/* One number of the archive: a spool file, or the segment that was made of it. */
struct ef_segment {
    uint64_t number;
    bool is_sealed;
    bool is_ended;                  /* A spool file to which nothing is appended any more. */
    char name[EF_SEGMENT_NAME_MAX]; /* Of a sealed segment's file. */
    uint64_t n_rows, n_bytes;
    struct ef_time from, to; /* Of its rows; all of time for a spool file that a crash left. */
};

struct ef_catalogue {
    struct ef_segment *segments; /* By number. */
    unsigned n, room;
};

/* The segment of that number, or NULL. */
struct ef_segment *ef_catalogue_find(struct ef_catalogue *c, uint64_t number);

/* Adds a segment, whose number is greater than all others, or puts it where it
 * belongs. */
struct ef_segment *ef_catalogue_add(struct ef_catalogue *c, const struct ef_segment *segment);
void ef_catalogue_remove(struct ef_catalogue *c, uint64_t number);
void ef_catalogue_deinit(struct ef_catalogue *c);

/* Writes the name of the sealed segment: its rows' oldest time and its number. */
void ef_segment_name(struct ef_time from, uint64_t number, char name[EF_SEGMENT_NAME_MAX]);

/* The number in such a name, or 0 if it is none. */
uint64_t ef_segment_number_of_name(const char *name);

/* Opens a sealed segment's file and fills `segment` from its footer: `reader`
 * and `*fd` are the caller's then. Returns 0 or a negative errno with `err`. */
int ef_segment_open(const char *path, const struct ef_row_schema *schema, int *fd, struct ef_parquet_reader **reader,
                    struct ef_segment *segment, struct ef_error *err);

#endif
