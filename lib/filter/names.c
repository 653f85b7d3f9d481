/* SPDX-License-Identifier: Apache-2.0 */
/* Names of switches in filters; see names.h. */
#include <config.h>

#include "filter/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "filter/filter.h"

enum { MAX_WORD = 80 };

static const struct ef_filter_name *
find(const struct ef_filter_names *names, const struct ef_token *word)
{
    for (size_t i = 0; i < names->n; i++) {
        if (strlen(names->list[i].name) == (size_t) word->len &&
            !memcmp(names->list[i].name, word->start, (size_t) word->len)) {
            return &names->list[i];
        }
    }
    return NULL;
}

static struct ef_value_range
range_of(const uint8_t address[16])
{
    ef_u128 value = 0;
    for (int i = 0; i < 16; i++) {
        value = value << 8 | address[i];
    }
    return (struct ef_value_range){value, value};
}

static int
unknown_name(const struct ef_filter_names *names, const struct ef_token *word, struct ef_error *err)
{
    char text[MAX_WORD + 1] = "";
    const char *nearest = NULL, **list = calloc(names->n + 1, sizeof *list);
    memcpy(text, word->start, (size_t) EF_MIN(word->len, MAX_WORD));
    for (size_t i = 0; list && i < names->n; i++) {
        list[i] = names->list[i].name;
    }
    nearest = list ? ef_nearest_word(text, list) : NULL;
    free(list);
    return ef_error_set_at(err, -EINVAL, word->offset, "'%s' is neither an address nor a switch of the topology%s%s%s",
                           text, nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* One or the other address: only what is true for any of several values can say so. */
static int
add_second(struct ef_node *node, struct ef_operand *operand, const struct ef_filter_name *name, struct ef_error *err)
{
    if (node->type == EF_NODE_COMPARE && node->relation != EF_RELATION_EQ) {
        return ef_error_set_at(
            err, -EINVAL, operand->low.offset,
            "%s has two addresses, for which this comparison says nothing; write !(%s == %s), or one "
            "of the addresses",
            name->name, node->field->name, name->name);
    }
    struct ef_operand *second = calloc(1, sizeof *second);
    if (!second) {
        return -ENOMEM;
    }
    node->type = EF_NODE_IN;
    second->range = range_of(name->addresses[1]);
    second->next = operand->next;
    operand->next = second;
    return 0;
}

int
ef_filter_resolve_name(const struct ef_filter_names *names, struct ef_node *node, struct ef_operand *operand,
                       struct ef_error *err)
{
    const struct ef_filter_name *name = find(names, &operand->low);
    if (!name) {
        return unknown_name(names, &operand->low, err);
    }
    if (operand->high.type == EF_TOKEN_WORD) {
        return ef_error_set_at(err, -EINVAL, operand->low.offset, "a range has addresses, not names");
    }
    operand->range = range_of(name->addresses[0]);
    return name->n_addresses > 1 ? add_second(node, operand, name, err) : 0;
}
