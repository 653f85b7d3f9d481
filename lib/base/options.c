/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line options as tables; see options.h. */
#include <config.h>

#include "base/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options_file.h"

/* Optimal string alignment distance (Damerau-Levenshtein without repeated
 * edits), for words of up to 31 letters. */
static int
edit_distance(const char *a, const char *b)
{
    enum { MAX = 32 };
    int d[MAX][MAX];
    int la = (int) strnlen(a, MAX - 1), lb = (int) strnlen(b, MAX - 1);
    for (int i = 0; i <= la; i++) {
        for (int j = 0; j <= lb; j++) {
            if (!i || !j) {
                d[i][j] = i + j;
                continue;
            }
            int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = EF_MIN(change, EF_MIN(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d[i][j] = EF_MIN(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[la][lb];
}

const char *
ef_nearest_word(const char *word, const char *const names[])
{
    const char *best = NULL;
    int best_distance = 1 + (int) strlen(word) / 3;
    for (; *names; names++) {
        int distance = edit_distance(word, *names);
        if (distance <= best_distance && (!best || distance < best_distance)) {
            best = *names;
            best_distance = distance;
        }
    }
    return best;
}

struct match {
    const struct ef_option *option;
    void *ctx;
};

static struct match
find(const struct ef_option_group *groups, const char *name, size_t len, char letter)
{
    for (; groups->options; groups++) {
        for (const struct ef_option *o = groups->options; o->name; o++) {
            if (letter ? o->letter == letter : strlen(o->name) == len && !strncmp(o->name, name, len)) {
                return (struct match){o, groups->ctx};
            }
        }
    }
    return (struct match){NULL, NULL};
}

static int
unknown_option(const struct ef_option_group *groups, const char *name, size_t len, struct ef_error *err)
{
    enum { MAX = 64 };
    const char *names[MAX + 1] = {"help", "version"};
    size_t n = 2;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int) len, name);
    for (; groups->options; groups++) {
        for (const struct ef_option *o = groups->options; o->name && n < MAX; o++) {
            names[n++] = o->name;
        }
    }
    const char *near = ef_nearest_word(word, names);
    return near ? ef_error_set(err, -EINVAL, "unknown option --%.60s; did you mean --%s?", word, near)
                : ef_error_set(err, -EINVAL, "unknown option --%.60s; see --help", word);
}

static int
set_option(const struct ef_option_group *groups, const struct match *m, const char *value, struct ef_error *err)
{
    int rc = m->option->set(m->ctx, value, err);
    return rc || !m->option->is_file ? rc : ef_options_read_file(groups, value, err);
}

int
ef_options_apply(const struct ef_option_group *groups, const char *name, size_t len, const char *value,
                 struct ef_error *err)
{
    struct match m = find(groups, name, len, 0);
    if (!m.option) {
        return unknown_option(groups, name, len, err);
    }
    if (m.option->argument && !value) {
        return ef_error_set(err, -EINVAL, "option --%s needs a value (%s)", m.option->name, m.option->argument);
    }
    if (!m.option->argument && value) {
        return ef_error_set(err, -EINVAL, "option --%s takes no value", m.option->name);
    }
    return set_option(groups, &m, value, err);
}

/* One word and, if the option wants a value and it is not in the word, the next
 * one, at `argv[*i]`. */
static int
parse_word(const struct ef_option_group *groups, int argc, char *const argv[], int *i, struct ef_error *err)
{
    const char *word = argv[*i];
    bool is_long = word[1] == '-';
    const char *name = is_long ? word + 2 : word + 1, *equals = is_long ? strchr(name, '=') : NULL;
    size_t len = equals ? (size_t) (equals - name) : strlen(name);
    struct match m = is_long    ? find(groups, name, len, 0)
                     : len == 1 ? find(groups, NULL, 0, *name)
                                : (struct match){NULL, NULL};
    if (!m.option) {
        return is_long ? unknown_option(groups, name, len, err)
                       : ef_error_set(err, -EINVAL, "unknown option %.60s; see --help", word);
    }
    const char *value = equals ? equals + 1 : NULL;
    if (m.option->argument && !equals && *i + 1 < argc) {
        value = argv[++*i];
    }
    return ef_options_apply(groups, m.option->name, strlen(m.option->name), value, err);
}

int
ef_options_parse(const struct ef_option_group *groups, int argc, char *const argv[], struct ef_error *err)
{
    int i;
    for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (!strcmp(argv[i], "--")) {
            return i + 1;
        }
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            return EF_OPTIONS_HELP;
        }
        if (!strcmp(argv[i], "--version")) {
            return EF_OPTIONS_VERSION;
        }
        int rc = parse_word(groups, argc, argv, &i, err);
        if (rc) {
            return rc;
        }
    }
    return i;
}

static void
print_option(const struct ef_option *o, FILE *out)
{
    char left[64];
    if (o->letter) {
        snprintf(left, sizeof left, "-%c, --%s%s%s", o->letter, o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
    } else {
        snprintf(left, sizeof left, "    --%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    }
    fprintf(out, "  %-30s", left);
    if (strlen(left) > 29) {
        fprintf(out, "\n  %-30s", "");
    }
    for (const char *p = o->help; *p;) {
        size_t n = strcspn(p, "\n");
        fprintf(out, " %.*s\n", (int) n, p);
        p += n;
        if (*p) {
            p++;
            fprintf(out, "  %-30s", "");
        }
    }
}

void
ef_options_print(const struct ef_option_group *groups, FILE *out)
{
    static const struct ef_option common[] = {
        {"help", 'h', NULL, "show this help and exit", NULL},
        {"version", 0, NULL, "show the version and exit", NULL},
    };
    for (; groups->options; groups++) {
        fprintf(out, "\n%s:\n", groups->title);
        for (const struct ef_option *o = groups->options; o->name; o++) {
            print_option(o, out);
        }
    }
    fprintf(out, "\n");
    for (size_t i = 0; i < EF_ARRAY_SIZE(common); i++) {
        print_option(&common[i], out);
    }
}
