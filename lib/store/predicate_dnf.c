/* SPDX-License-Identifier: Apache-2.0 */
/* The disjunctive normal form of a predicate, for whoever plans by indexes. It
 * is built from the leaves up; as soon as one part gets too long, the whole is
 * given up, since the planner reads all records then. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/predicate_private.h"

/* Conjunctions one after another: how many terms, and which, ascending. */
struct dnf {
    unsigned n_conjunctions, n_words;
    uint16_t words[EF_PREDICATE_MAX_CONJUNCTIONS + EF_PREDICATE_MAX_DNF_TERMS];
};

/* Adds the conjunction of `a` and `b` (lists as in `words`); false if the form
 * gets too long. */
static bool
add_product(struct dnf *out, const uint16_t *a, const uint16_t *b)
{
    if (out->n_conjunctions == EF_PREDICATE_MAX_CONJUNCTIONS ||
        out->n_words + 1U + a[0] + b[0] > sizeof out->words / sizeof out->words[0]) {
        return false;
    }
    uint16_t *to = &out->words[out->n_words], n = 0;
    unsigned i = 1, k = 1;
    while (i <= a[0] || k <= b[0]) {
        bool from_a = i <= a[0] && (k > b[0] || a[i] <= b[k]);
        bool from_b = k <= b[0] && (i > a[0] || b[k] <= a[i]);
        to[++n] = from_a ? a[i] : b[k];
        i += from_a;
        k += from_b;
    }
    to[0] = n;
    out->n_words += n + 1U;
    out->n_conjunctions++;
    return true;
}

static bool
add_all(struct dnf *out, const struct dnf *from)
{
    static const uint16_t always[] = {0};
    for (unsigned i = 0, at = 0; i < from->n_conjunctions; i++, at += from->words[at] + 1U) {
        if (!add_product(out, &from->words[at], always)) {
            return false;
        }
    }
    return true;
}

static bool
multiply(struct dnf *out, const struct dnf *a, const struct dnf *b)
{
    out->n_conjunctions = out->n_words = 0;
    for (unsigned i = 0, at = 0; i < a->n_conjunctions; i++, at += a->words[at] + 1U) {
        for (unsigned k = 0, bt = 0; k < b->n_conjunctions; k++, bt += b->words[bt] + 1U) {
            if (!add_product(out, &a->words[at], &b->words[bt])) {
                return false;
            }
        }
    }
    return true;
}

/* The form of node `number` from those of its children. Returns 0, -E2BIG or
 * -ENOMEM. */
static int
form_of(const struct ef_predicate *p, uint32_t number, struct dnf **forms)
{
    static const uint16_t always[] = {0};
    const struct ef_predicate_node *node = &p->nodes[number];
    struct dnf *form = forms[number] = calloc(2, sizeof *form); /* The second one is scratch. */
    if (!form) {
        return -ENOMEM;
    }
    bool ok = true;
    if (node->op == EF_PREDICATE_TERM) {
        ok = add_product(form, always, (const uint16_t[]){1, (uint16_t) node->term});
    } else if (node->op == EF_PREDICATE_TRUE || node->op == EF_PREDICATE_AND) {
        ok = add_product(form, always, always);
    }
    bool is_joined = node->op == EF_PREDICATE_AND || node->op == EF_PREDICATE_OR;
    for (uint32_t child = is_joined ? node->first : EF_PREDICATE_NONE; ok && child != EF_PREDICATE_NONE;
         child = p->nodes[child].next) {
        if (node->op == EF_PREDICATE_OR) {
            ok = add_all(form, forms[child]);
        } else if ((ok = multiply(&form[1], &form[0], forms[child]))) {
            form[0] = form[1];
        }
        free(forms[child]);
        forms[child] = NULL;
    }
    return ok ? 0 : -E2BIG;
}

int
ef_predicate_make_dnf(struct ef_predicate *p)
{
    struct dnf **forms = calloc(p->n_nodes, sizeof(struct dnf *));
    int rc = forms ? 0 : -ENOMEM;
    for (uint32_t i = 0; !rc && i < p->n_nodes; i++) {
        rc = form_of(p, i, forms);
    }
    if (!rc) {
        const struct dnf *form = forms[p->n_nodes - 1];
        p->n_conjunctions = (int) form->n_conjunctions;
        p->dnf = malloc((form->n_words + 1) * sizeof *p->dnf);
        if (p->dnf) {
            memcpy(p->dnf, form->words, form->n_words * sizeof *p->dnf);
        }
        rc = p->dnf ? 0 : -ENOMEM;
    } else if (rc == -E2BIG) {
        p->n_conjunctions = -E2BIG;
        rc = 0;
    }
    for (uint32_t i = 0; forms && i < p->n_nodes; i++) {
        free(forms[i]);
    }
    free(forms);
    return rc;
}

int
ef_predicate_n_conjunctions(const struct ef_predicate *p)
{
    return p->n_conjunctions;
}

const uint16_t *
ef_predicate_conjunction(const struct ef_predicate *p, unsigned conjunction, unsigned *n_terms)
{
    const uint16_t *at = p->dnf;
    while (conjunction-- > 0) {
        at += at[0] + 1;
    }
    *n_terms = at[0];
    return at + 1;
}

bool
ef_predicate_is_always(const struct ef_predicate *p)
{
    for (int i = 0; i < p->n_conjunctions; i++) {
        unsigned n_terms;
        ef_predicate_conjunction(p, (unsigned) i, &n_terms);
        if (!n_terms) {
            return true;
        }
    }
    return false;
}
