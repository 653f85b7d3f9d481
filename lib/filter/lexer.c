/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of the filter language; see lexer.h. */
#include <config.h>

#include "filter/lexer.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct spelling {
    const char *text;
    enum ef_token_type type;
    enum ef_relation relation;
};

/* A longer spelling stands before its own beginning. */
static const struct spelling symbols[] = {
    {"===", EF_TOKEN_RELATION, EF_RELATION_ALL_EQ},
    {"!==", EF_TOKEN_RELATION, EF_RELATION_ANY_NE},
    {"==", EF_TOKEN_RELATION, EF_RELATION_EQ},
    {"!=", EF_TOKEN_RELATION, EF_RELATION_NE},
    {"~=", EF_TOKEN_RELATION, EF_RELATION_ANY_NE},
    {"<=", EF_TOKEN_RELATION, EF_RELATION_LE},
    {">=", EF_TOKEN_RELATION, EF_RELATION_GE},
    {"<", EF_TOKEN_RELATION, EF_RELATION_LT},
    {">", EF_TOKEN_RELATION, EF_RELATION_GT},
    {"&&", EF_TOKEN_AND, 0},
    {"||", EF_TOKEN_OR, 0},
    {"&", EF_TOKEN_BIT_AND, 0},
    {"!", EF_TOKEN_NOT, 0},
    {"(", EF_TOKEN_LEFT, 0},
    {")", EF_TOKEN_RIGHT, 0},
    {"{", EF_TOKEN_LEFT_BRACE, 0},
    {"}", EF_TOKEN_RIGHT_BRACE, 0},
    {",", EF_TOKEN_COMMA, 0},
    {"..", EF_TOKEN_RANGE, 0},
};

static const struct spelling keywords[] = {
    {"eq", EF_TOKEN_RELATION, EF_RELATION_EQ},
    {"any_eq", EF_TOKEN_RELATION, EF_RELATION_EQ},
    {"ne", EF_TOKEN_RELATION, EF_RELATION_NE},
    {"all_ne", EF_TOKEN_RELATION, EF_RELATION_NE},
    {"all_eq", EF_TOKEN_RELATION, EF_RELATION_ALL_EQ},
    {"any_ne", EF_TOKEN_RELATION, EF_RELATION_ANY_NE},
    {"lt", EF_TOKEN_RELATION, EF_RELATION_LT},
    {"le", EF_TOKEN_RELATION, EF_RELATION_LE},
    {"gt", EF_TOKEN_RELATION, EF_RELATION_GT},
    {"ge", EF_TOKEN_RELATION, EF_RELATION_GE},
    {"and", EF_TOKEN_AND, 0},
    {"or", EF_TOKEN_OR, 0},
    {"not", EF_TOKEN_NOT, 0},
    {"in", EF_TOKEN_IN, 0},
    {"any", EF_TOKEN_ANY, 0},
    {"all", EF_TOKEN_ALL, 0},
    {"bitwise_and", EF_TOKEN_BIT_AND, 0},
};

/* What Wireshark has and this language has not, or what is often written by
 * mistake: the message says what to write instead. */
struct refusal {
    const char *text;
    const char *message;
};

static const struct refusal refused_symbols[] = {
    {"^^", "there is no '^^' (nor 'xor') in this language; write (a && !b) || (!a && b)"},
    {"[", "slices ('[...]') are not supported; compare the whole field, or use '&' with a mask"},
    {"]", "slices ('[...]') are not supported; compare the whole field, or use '&' with a mask"},
    {"#", "'#' (one protocol layer of several) is not supported; 'any' and 'all' choose among occurrences"},
    {"$", "references to the selected packet ('$') are not supported"},
    {"@", "raw fields ('@') are not supported"},
    {"+", "arithmetic is not supported; write the number that you mean"},
    {"*", "arithmetic is not supported; write the number that you mean"},
    {"%", "arithmetic is not supported; write the number that you mean"},
    {"|", "a single '|' means nothing here; 'or' is written '||'"},
    {"^", "a single '^' means nothing here"},
    {"=", "'=' is no comparison; equality is written '=='"},
    {"~", "'~' (matches) is not supported: no field has text to search in"},
    {";", "';' means nothing here; values in braces are separated by ','"},
    {"\"", "values are written without quotes"},
    {"'", "values are written without quotes"},
};

static const struct refusal refused_words[] = {
    {"xor", "there is no 'xor' (nor '^^') in this language; write (a && !b) || (!a && b)"},
    {"contains", "'contains' is not supported: no field has bytes to search in"},
    {"matches", "'matches' is not supported: no field has text to search in"},
    {"AND", "keywords are written in small letters: 'and', or '&&'"},
    {"OR", "keywords are written in small letters: 'or', or '||'"},
    {"NOT", "keywords are written in small letters: 'not', or '!'"},
    {"IN", "keywords are written in small letters: 'in'"},
};

static bool
is_word_byte(char c)
{
    return isalnum((unsigned char) c) || c == '_' || c == '.' || c == ':' || c == '/' || c == '-';
}

/* Length of the word at `p`; two dots end it, since they make a range. */
static int
word_length(const char *p)
{
    int n = 0;
    while (is_word_byte(p[n]) && !(p[n] == '.' && p[n + 1] == '.')) {
        n++;
    }
    return n;
}

static const struct spelling *
find_symbol(const char *p)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(symbols); i++) {
        if (!strncmp(p, symbols[i].text, strlen(symbols[i].text))) {
            return &symbols[i];
        }
    }
    return NULL;
}

static const struct spelling *
find_keyword(const char *p, int len)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(keywords); i++) {
        if (!strncmp(p, keywords[i].text, (size_t) len) && !keywords[i].text[len]) {
            return &keywords[i];
        }
    }
    return NULL;
}

static int
refuse_symbol(const char *p, int offset, struct ef_error *err)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(refused_symbols); i++) {
        if (!strncmp(p, refused_symbols[i].text, strlen(refused_symbols[i].text))) {
            return ef_error_set_at(err, -EINVAL, offset, "%s", refused_symbols[i].message);
        }
    }
    if (isprint((unsigned char) *p)) {
        return ef_error_set_at(err, -EINVAL, offset, "'%c' means nothing here", *p);
    }
    return ef_error_set_at(err, -EINVAL, offset, "byte 0x%02x means nothing here", (unsigned char) *p);
}

static int
refuse_word(const char *p, int len, int offset, struct ef_error *err)
{
    for (size_t i = 0; i < EF_ARRAY_SIZE(refused_words); i++) {
        if (!strncmp(p, refused_words[i].text, (size_t) len) && !refused_words[i].text[len]) {
            return ef_error_set_at(err, -EINVAL, offset, "%s", refused_words[i].message);
        }
    }
    return 0;
}

void
ef_lexer_init(struct ef_lexer *lexer, const char *text)
{
    *lexer = (struct ef_lexer){.text = text};
}

int
ef_lexer_next(struct ef_lexer *lexer, struct ef_token *token, struct ef_error *err)
{
    while (isspace((unsigned char) lexer->text[lexer->pos])) {
        lexer->pos++;
    }
    const char *p = lexer->text + lexer->pos;
    *token = (struct ef_token){.type = EF_TOKEN_END, .start = p, .offset = lexer->pos};
    if (!*p) {
        return 0;
    }
    const struct spelling *spelling = find_symbol(p);
    if (spelling) {
        token->len = (int) strlen(spelling->text);
    } else {
        token->len = word_length(p);
        if (!token->len) {
            return refuse_symbol(p, token->offset, err);
        }
        int rc = refuse_word(p, token->len, token->offset, err);
        if (rc) {
            return rc;
        }
        spelling = find_keyword(p, token->len);
    }
    token->type = spelling ? spelling->type : EF_TOKEN_WORD;
    token->relation = spelling ? spelling->relation : 0;
    lexer->pos += token->len;
    return 0;
}
