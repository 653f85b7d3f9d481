/* SPDX-License-Identifier: Apache-2.0 */
/* A line of an analyzer's answer, read and named in one pass; see trace_line.h. */
#include <config.h>

#include "controller/trace_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "controller/trace_query.h"

enum { MAX_DEPTH = 8, MAX_NAMES = 200, MAX_DIGITS = 18 };

/* A piece of the line. */
struct text {
    const char *p;
    size_t len;
};

/* What to put in behind `at`: ,"KEY":"NAME". */
struct insertion {
    const char *at, *key, *name;
};

/* Where the reader is, and what it found. `end` points at the line's NUL, so that a
 * look at the next byte is always allowed. */
struct cursor {
    const char *p, *end;
    struct trace_line_reader *reader;
    struct ef_time start;
    uint64_t id;
    bool has_id, has_start, has_packet, has_hops, has_expected;
    struct insertion insertions[MAX_NAMES];
    size_t n_insertions, n_inserted_bytes;
};

#define TEXT_IS(text, literal) ((text).len == sizeof(literal) - 1 && !memcmp((text).p, literal, sizeof(literal) - 1))

/* --- Values ----------------------------------------------------------------------- */

static EF_ALWAYS_INLINE bool
take(struct cursor *c, char byte)
{
    bool is_there = *c->p == byte;
    c->p += is_there;
    return is_there;
}

/* True if one of the 8 bytes ends a plain string, or must not be in it: a quote,
 * a backslash, a control character, or beyond ASCII. */
static EF_ALWAYS_INLINE bool
has_special(uint64_t v)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t quote = v ^ (ones * '"'), backslash = v ^ (ones * '\\');
    return (v | (v - ones * 0x20) | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & highs;
}

static bool
read_string(struct cursor *c, struct text *text)
{
    const char *p = c->p + 1;
    uint64_t v;
    if (*c->p != '"') {
        return false;
    }
    for (; c->end - p >= 8; p += 8) {
        memcpy(&v, p, sizeof v);
        if (has_special(v)) {
            break;
        }
    }
    while ((unsigned char) *p >= 0x20 && (unsigned char) *p < 0x80 && *p != '"' && *p != '\\') {
        p++; /* The NUL at the end stops it. */
    }
    *text = (struct text){c->p + 1, (size_t) (p - c->p - 1)};
    c->p = p + 1;
    return *p == '"';
}

static const char *
skip_digits(const char *p)
{
    while (*p >= '0' && *p <= '9') {
        p++;
    }
    return p;
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?, of so few digits that every reader can hold it. */
static bool
read_number(struct cursor *c)
{
    const char *first = c->p + (*c->p == '-'), *p = skip_digits(first);
    bool is_right = p > first && p - first <= MAX_DIGITS && (*first != '0' || p == first + 1);
    if (*p == '.') {
        const char *fraction = p + 1;
        p = skip_digits(fraction);
        is_right &= p > fraction && p - fraction <= MAX_DIGITS;
    }
    c->p = p;
    return is_right;
}

static bool
read_literal(struct cursor *c, const char *literal, size_t len)
{
    bool is_there = (size_t) (c->end - c->p) >= len && !memcmp(c->p, literal, len);
    c->p += is_there ? len : 0;
    return is_there;
}

typedef bool read_member(struct cursor *c, struct text key, unsigned depth);

static bool read_value(struct cursor *c, unsigned depth);

static bool
read_any_member(struct cursor *c, struct text key, unsigned depth)
{
    return read_value(c, depth);
}

/* An object, `member` being asked to read the value behind each key. */
static EF_ALWAYS_INLINE bool
read_object(struct cursor *c, unsigned depth, read_member *member)
{
    struct text key;
    if (!take(c, '{') || depth >= MAX_DEPTH) {
        return false;
    }
    if (take(c, '}')) {
        return true;
    }
    do {
        if (!read_string(c, &key) || !take(c, ':') || !member(c, key, depth + 1)) {
            return false;
        }
    } while (take(c, ','));
    return take(c, '}');
}

static EF_ALWAYS_INLINE bool
read_array(struct cursor *c, unsigned depth, bool (*element)(struct cursor *c, unsigned depth))
{
    if (!take(c, '[') || depth >= MAX_DEPTH) {
        return false;
    }
    if (take(c, ']')) {
        return true;
    }
    do {
        if (!element(c, depth + 1)) {
            return false;
        }
    } while (take(c, ','));
    return take(c, ']');
}

static bool
read_value(struct cursor *c, unsigned depth)
{
    struct text ignored;
    switch (*c->p) {
    case '"':
        return read_string(c, &ignored);
    case '{':
        return read_object(c, depth, read_any_member);
    case '[':
        return read_array(c, depth, read_value);
    case 't':
        return read_literal(c, "true", 4);
    case 'f':
        return read_literal(c, "false", 5);
    case 'n':
        return read_literal(c, "null", 4);
    default:
        return read_number(c);
    }
}

/* --- Names ------------------------------------------------------------------------ */

/* A name that must be escaped in JSON is for others to write. */
static bool
is_plain(const char *name)
{
    for (; *name; name++) {
        if ((unsigned char) *name < 0x20 || (unsigned char) *name >= 0x7f || *name == '"' || *name == '\\') {
            return false;
        }
    }
    return true;
}

/* Has the name of the switch at `address`, if it has one, put in behind the string. */
static bool
insert_name(struct cursor *c, struct text address, const char *key)
{
    if (address.len >= TRACE_LINE_ADDRESS_MAX) {
        return false;
    }
    struct trace_line_name *n = &c->reader->names[ef_hash64(address.p, address.len) % TRACE_LINE_NAMES];
    if (n->address_len != address.len || memcmp(n->address, address.p, address.len)) {
        memcpy(n->address, address.p, address.len);
        n->address[address.len] = '\0';
        n->address_len = (uint8_t) address.len;
        const struct topology_switch *s = topology_find(c->reader->topology, n->address);
        n->name = s ? s->name : NULL;
    }
    if (!n->name) {
        return true;
    }
    if (c->n_insertions == MAX_NAMES || !is_plain(n->name)) {
        return false;
    }
    c->insertions[c->n_insertions++] = (struct insertion){c->p, key, n->name};
    c->n_inserted_bytes += strlen(n->name) + strlen(key) + strlen(",\"\":\"\"");
    return true;
}

/* --- A trace ---------------------------------------------------------------------- */

static bool
read_hop_member(struct cursor *c, struct text key, unsigned depth)
{
    struct text address;
    if (TEXT_IS(key, "switch")) {
        return read_string(c, &address) && insert_name(c, address, "name");
    }
    return !TEXT_IS(key, "name") && read_value(c, depth);
}

/* A hop names its switch first, which so is there, and once. */
static bool
read_other_hop_member(struct cursor *c, struct text key, unsigned depth)
{
    return !TEXT_IS(key, "switch") && read_hop_member(c, key, depth);
}

static bool
read_hop(struct cursor *c, unsigned depth)
{
    struct text key;
    if (!take(c, '{') || !read_string(c, &key) || !TEXT_IS(key, "switch") || !take(c, ':') ||
        !read_hop_member(c, key, depth)) {
        return false;
    }
    while (take(c, ',')) {
        if (!read_string(c, &key) || !take(c, ':') || !read_other_hop_member(c, key, depth + 1)) {
            return false;
        }
    }
    return take(c, '}');
}

/* 16 hexadecimal digits, of small letters. */
static bool
read_id(struct text text, uint64_t *id)
{
    bool is_right = text.len == 16;
    *id = 0;
    for (size_t i = 0; is_right && i < 16; i++) {
        char c = text.p[i];
        bool is_digit = c >= '0' && c <= '9';
        is_right = is_digit || (c >= 'a' && c <= 'f');
        *id = *id << 4 | (uint64_t) (is_digit ? c - '0' : c - 'a' + 10);
    }
    return is_right;
}

/* "2026-11-21T17:00:00.123456789Z". The text of the second is mostly that of the
 * trace before. */
static bool
read_start(struct cursor *c)
{
    enum { DIGITS = 9, LEN = TRACE_LINE_SECOND + 1 + DIGITS + 1 };
    struct trace_line_reader *r = c->reader;
    struct text text;
    int64_t ns = 0;
    if (!read_string(c, &text) || text.len != LEN || text.p[TRACE_LINE_SECOND] != '.' || text.p[LEN - 1] != 'Z') {
        return false;
    }
    if (memcmp(r->second, text.p, TRACE_LINE_SECOND)) {
        char second[TRACE_LINE_SECOND + 2] = "";
        memcpy(second, text.p, TRACE_LINE_SECOND);
        second[TRACE_LINE_SECOND] = 'Z';
        if (ef_time_parse(second, (struct ef_time){0}, &r->second_start, NULL)) {
            return false;
        }
        memcpy(r->second, text.p, TRACE_LINE_SECOND);
    }
    for (const char *p = text.p + TRACE_LINE_SECOND + 1; p < text.p + LEN - 1; p++) {
        if (*p < '0' || *p > '9') {
            return false;
        }
        ns = ns * 10 + (*p - '0');
    }
    c->start.ns = r->second_start.ns + ns;
    return true;
}

/* Notes that a member was found; false if it was before. */
static bool
is_first(bool *has)
{
    bool is_first = !*has;
    *has = true;
    return is_first;
}

static bool
read_trace_member(struct cursor *c, struct text key, unsigned depth)
{
    struct text text;
    if (TEXT_IS(key, "id")) {
        return is_first(&c->has_id) && read_string(c, &text) && read_id(text, &c->id);
    }
    if (TEXT_IS(key, "start")) {
        return is_first(&c->has_start) && read_start(c);
    }
    if (TEXT_IS(key, "end")) { /* Not true, as in the last line. */
        return read_string(c, &text);
    }
    if (TEXT_IS(key, "packet")) {
        return is_first(&c->has_packet) && *c->p == '{' && read_value(c, depth);
    }
    if (TEXT_IS(key, "hops")) {
        return is_first(&c->has_hops) && read_array(c, depth, read_hop);
    }
    if (TEXT_IS(key, "expected") && *c->p == '"') {
        return is_first(&c->has_expected) && read_string(c, &text) && insert_name(c, text, "expected_name");
    }
    return !TEXT_IS(key, "expected_name") && read_value(c, depth);
}

/* --- The copy --------------------------------------------------------------------- */

static char *
put(char *out, const char *text, size_t len)
{
    memcpy(out, text, len);
    return out + len;
}

static struct trace_item *
make_item(const struct cursor *c, const char *line, size_t len)
{
    struct trace_item *item = malloc(sizeof *item + len + c->n_inserted_bytes + 1);
    if (!item) {
        return NULL;
    }
    char *out = item->json;
    const char *from = line;
    for (size_t i = 0; i < c->n_insertions; i++) {
        const struct insertion *in = &c->insertions[i];
        out = put(out, from, (size_t) (in->at - from));
        from = in->at;
        out = put(out, ",\"", 2);
        out = put(out, in->key, strlen(in->key));
        out = put(out, "\":\"", 3);
        out = put(out, in->name, strlen(in->name));
        out = put(out, "\"", 1);
    }
    out = put(out, from, (size_t) (line + len - from));
    *out = '\0';
    item->key = (struct ef_trace_key){c->start, c->id};
    item->len = len + c->n_inserted_bytes;
    return item;
}

int
trace_line_read(struct trace_line_reader *reader, const char *line, size_t len, struct trace_item **item)
{
    struct cursor c;
    if (reader->generation != reader->topology->generation) {
        memset(reader->names, 0, sizeof reader->names);
        reader->generation = reader->topology->generation;
    }
    c.p = line;
    c.end = line + len;
    c.reader = reader;
    c.has_id = c.has_start = c.has_packet = c.has_hops = c.has_expected = false;
    c.n_insertions = c.n_inserted_bytes = 0;
    if (!read_object(&c, 0, read_trace_member) || c.p != c.end || !c.has_id || !c.has_start || !c.has_packet ||
        !c.has_hops) {
        return 0;
    }
    *item = make_item(&c, line, len);
    return *item ? 1 : -ENOMEM;
}
