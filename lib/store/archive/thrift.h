/* SPDX-License-Identifier: Apache-2.0 */
/* As much of Thrift's compact protocol as Parquet's metadata needs
 * (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
 *
 * Writing: fields in ascending order of their ids.
 *
 *     struct ef_thrift_writer w = {.out = &buffer};
 *     ef_thrift_i32(&w, 1, version);
 *     ef_thrift_begin(&w, 3);                 // field 3 is a struct
 *     ef_thrift_binary(&w, 1, "key", 3);
 *     ef_thrift_end(&w);
 *     ef_thrift_stop(&w);
 *
 * Reading, of bytes that nobody vouches for: what is not known is skipped, and
 * after the first contradiction everything reads as 0 with `failed` set.
 *
 *     struct ef_thrift_reader r = {.at = bytes, .end = bytes + len};
 *     struct ef_thrift_field f = {0};
 *     while (ef_thrift_next(&r, &f)) {
 *         switch (f.id) {
 *         case 1: version = (int32_t) ef_thrift_read_int(&r, &f); break;
 *         default: ef_thrift_skip(&r, &f);
 *         }
 *     }
 */
#ifndef EF_STORE_ARCHIVE_THRIFT_H
#define EF_STORE_ARCHIVE_THRIFT_H

#include <stdbool.h>

#include "store/archive/byte_buffer.h"

enum ef_thrift_type {
    EF_THRIFT_TRUE = 1,
    EF_THRIFT_FALSE = 2,
    EF_THRIFT_BYTE = 3,
    EF_THRIFT_I16 = 4,
    EF_THRIFT_I32 = 5,
    EF_THRIFT_I64 = 6,
    EF_THRIFT_DOUBLE = 7,
    EF_THRIFT_BINARY = 8,
    EF_THRIFT_LIST = 9,
    EF_THRIFT_SET = 10,
    EF_THRIFT_MAP = 11,
    EF_THRIFT_STRUCT = 12,
};

enum { EF_THRIFT_MAX_DEPTH = 16 };

struct ef_thrift_writer {
    struct ef_buffer *out;
    int depth;
    int last_id[EF_THRIFT_MAX_DEPTH]; /* Of the field before, per open struct. */
};

void ef_thrift_bool(struct ef_thrift_writer *w, int id, bool value);
void ef_thrift_byte(struct ef_thrift_writer *w, int id, int8_t value);
void ef_thrift_i32(struct ef_thrift_writer *w, int id, int32_t value);
void ef_thrift_i64(struct ef_thrift_writer *w, int id, int64_t value);
void ef_thrift_binary(struct ef_thrift_writer *w, int id, const void *data, size_t len);
void ef_thrift_text(struct ef_thrift_writer *w, int id, const char *text);

/* Opens field `id`, a struct; or the next element of a list, with `id` 0. */
void ef_thrift_begin(struct ef_thrift_writer *w, int id);
void ef_thrift_end(struct ef_thrift_writer *w);

/* Opens a list of `n` elements; they follow as ef_thrift_begin(w, 0) or
 * ef_thrift_element_*(). It has no end. */
void ef_thrift_list(struct ef_thrift_writer *w, int id, enum ef_thrift_type type, size_t n);
void ef_thrift_element_i32(struct ef_thrift_writer *w, int32_t value);
void ef_thrift_element_text(struct ef_thrift_writer *w, const char *text);

/* Ends the outermost struct. */
void ef_thrift_stop(struct ef_thrift_writer *w);

/* A number of 7 bits a byte, least significant first. */
void ef_varint_add(struct ef_buffer *out, uint64_t value);

static inline uint64_t
ef_zigzag(int64_t value)
{
    return (uint64_t) value << 1 ^ (uint64_t) (value >> 63);
}

static inline int64_t
ef_unzigzag(uint64_t value)
{
    return (int64_t) (value >> 1 ^ (0 - (value & 1)));
}

/* Reads one from `*at`, which it moves; false if it does not end before `end`. */
bool ef_varint_read(const uint8_t **at, const uint8_t *end, uint64_t *value);

struct ef_thrift_reader {
    const uint8_t *at, *end;
    bool failed;
};

struct ef_thrift_field {
    int id; /* Starts as 0 in each struct. */
    enum ef_thrift_type type;
};

/* Goes to the struct's next field; false at its end or after a failure. */
bool ef_thrift_next(struct ef_thrift_reader *r, struct ef_thrift_field *field);

/* Each reads the value of the field, which must be of that kind. */
int64_t ef_thrift_read_int(struct ef_thrift_reader *r, const struct ef_thrift_field *field);
bool ef_thrift_read_bool(struct ef_thrift_reader *r, const struct ef_thrift_field *field);
const uint8_t *ef_thrift_read_binary(struct ef_thrift_reader *r, const struct ef_thrift_field *field, size_t *len);

/* Reads the head of a list and returns the number of its elements, which are of
 * type `type`; their bytes follow. It is never more than there are bytes left. */
size_t ef_thrift_read_list(struct ef_thrift_reader *r, const struct ef_thrift_field *field, enum ef_thrift_type type);

/* True if the field is a struct, whose fields then follow. */
bool ef_thrift_read_struct(struct ef_thrift_reader *r, const struct ef_thrift_field *field);

/* An element of a list of such. */
int64_t ef_thrift_read_element_int(struct ef_thrift_reader *r);
const uint8_t *ef_thrift_read_element_binary(struct ef_thrift_reader *r, size_t *len);

void ef_thrift_skip(struct ef_thrift_reader *r, const struct ef_thrift_field *field);

#endif
