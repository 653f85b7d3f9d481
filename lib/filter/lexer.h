/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the text of a filter into tokens; called by parser.c only.
 *
 *     struct ef_lexer lexer;
 *     ef_lexer_init(&lexer, text);
 *     struct ef_token token;
 *     do rc = ef_lexer_next(&lexer, &token, err); while (!rc && token.type != EF_TOKEN_END);
 *
 * A word is a field name or a value: what may stand in either ("ip.src",
 * "10.0.0.0/8", "fe80::1", "02:00:00:00:00:01") is one token, and typecheck.c
 * decides by the field's type. Tokens borrow the text. */
#ifndef EF_FILTER_LEXER_H
#define EF_FILTER_LEXER_H

#include "base/error.h"

enum ef_token_type {
    EF_TOKEN_END,
    EF_TOKEN_WORD,
    EF_TOKEN_RELATION, /* `relation` says which. */
    EF_TOKEN_AND,
    EF_TOKEN_OR,
    EF_TOKEN_NOT,
    EF_TOKEN_IN,
    EF_TOKEN_ANY,
    EF_TOKEN_ALL,
    EF_TOKEN_BIT_AND,
    EF_TOKEN_LEFT,        /* ( */
    EF_TOKEN_RIGHT,       /* ) */
    EF_TOKEN_LEFT_BRACE,  /* { */
    EF_TOKEN_RIGHT_BRACE, /* } */
    EF_TOKEN_COMMA,
    EF_TOKEN_RANGE, /* .. */
};

/* The comparisons of Wireshark 4.0. A field may occur several times in a
 * packet: ANY is true if one occurrence fulfils it, ALL if there is one and
 * each does. */
enum ef_relation {
    EF_RELATION_EQ,     /* == eq any_eq: any is equal */
    EF_RELATION_NE,     /* != ne all_ne: all differ */
    EF_RELATION_ALL_EQ, /* === all_eq */
    EF_RELATION_ANY_NE, /* !== ~= any_ne */
    EF_RELATION_LT,
    EF_RELATION_LE,
    EF_RELATION_GT,
    EF_RELATION_GE,
};

struct ef_token {
    enum ef_token_type type;
    enum ef_relation relation;
    const char *start; /* In the text; not terminated. */
    int offset, len;   /* Bytes. */
};

struct ef_lexer {
    const char *text;
    int pos;
};

void ef_lexer_init(struct ef_lexer *lexer, const char *text);

/* Returns 0, or -EINVAL with `err` for what no filter may contain. */
int ef_lexer_next(struct ef_lexer *lexer, struct ef_token *token, struct ef_error *err);

#endif
