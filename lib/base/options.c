/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line options as tables; see options.h. */
#include <config.h>

#include "base/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
unknown_option(const struct ef_option_group *groups, const char *word, struct ef_error *err)
{
    enum { MAX = 64 };
    const char *names[MAX + 1] = {"help", "version"};
    size_t n = 2;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int) strcspn(word + 2, "="), word + 2);
    for (; groups->options; groups++) {
        for (const struct ef_option *o = groups->options; o->name && n < MAX; o++) {
            names[n++] = o->name;
        }
    }
    const char *near = word[1] == '-' ? ef_nearest_word(name, names) : NULL;
    return near ? ef_error_set(err, -EINVAL, "unknown option %.60s; did you mean --%s?", word, near)
                : ef_error_set(err, -EINVAL, "unknown option %.60s; see --help", word);
}

int
ef_options_parse(const struct ef_option_group *groups, int argc, char *const argv[], struct ef_error *err)
{
    int i;
    for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *word = argv[i], *value = NULL;
        if (!strcmp(word, "--")) {
            return i + 1;
        }
        if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
            return EF_OPTIONS_HELP;
        }
        if (!strcmp(word, "--version")) {
            return EF_OPTIONS_VERSION;
        }
        bool is_long = word[1] == '-';
        const char *equals = is_long ? strchr(word, '=') : NULL;
        size_t len = is_long ? (equals ? (size_t) (equals - word) : strlen(word)) - 2 : 0;
        struct match m = is_long    ? find(groups, word + 2, len, 0)
                         : !word[2] ? find(groups, NULL, 0, word[1])
                                    : (struct match){NULL, NULL};
        if (!m.option) {
            return unknown_option(groups, word, err);
        }
        if (m.option->argument) {
            value = equals ? equals + 1 : i + 1 < argc ? argv[++i] : NULL;
            if (!value) {
                return ef_error_set(err, -EINVAL, "option --%s needs a value (%s)", m.option->name, m.option->argument);
            }
        } else if (equals) {
            return ef_error_set(err, -EINVAL, "option --%s takes no value", m.option->name);
        }
        int rc = m.option->set(m.ctx, value, err);
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
