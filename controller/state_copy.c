/* SPDX-License-Identifier: Apache-2.0 */
/* One table in memory; see state_copy.h. */
#include <config.h>

#include "controller/state_copy.h"

#include <string.h>

#include "base/log.h"

void
state_copy_init(struct state_copy *t)
{
    *t = (struct state_copy){json_object(), json_object(), json_object(), json_object()};
}

void
state_copy_deinit(struct state_copy *t)
{
    json_decref(t->documents);
    json_decref(t->owners);
    json_decref(t->keys);
    json_decref(t->touched);
}

/* Remembers what `key` was before the first of the changes to be told. */
static void
touch(struct state_copy *t, const char *key)
{
    if (!json_object_get(t->touched, key)) {
        json_t *before = json_object_get(t->documents, key);
        json_object_set(t->touched, key, before ? before : json_null());
    }
}

void
state_copy_keep(struct state_copy *t, const char *key, json_t *document)
{
    touch(t, key);
    if (document) {
        json_object_set(t->documents, key, document);
    } else {
        json_object_del(t->documents, key);
    }
}

/* A replaced row is a new row, and which of both is told first is not certain. */
void
state_copy_drop_row(struct state_copy *t, const char *uuid)
{
    json_t *key = json_object_get(t->keys, uuid);
    const char *owner = key ? json_string_value(json_object_get(t->owners, json_string_value(key))) : NULL;
    if (owner && !strcmp(owner, uuid)) {
        state_copy_keep(t, json_string_value(key), NULL);
        json_object_del(t->owners, json_string_value(key));
    }
    json_object_del(t->keys, uuid);
}

void
state_copy_take_row(struct state_copy *t, const char *table_name, const char *uuid, const json_t *row)
{
    const char *key = json_string_value(json_object_get(row, "key"));
    const char *text = json_string_value(json_object_get(row, "document"));
    json_t *document = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    state_copy_drop_row(t, uuid);
    if (key && json_is_object(document)) {
        json_object_set_new(t->keys, uuid, json_string(key));
        json_object_set_new(t->owners, key, json_string(uuid));
        state_copy_keep(t, key, document);
    } else {
        ef_log_warn("state", "%s %s: its document is no JSON object; it is left alone", table_name, uuid);
    }
    json_decref(document);
}

void
state_copy_take_all(struct state_copy *t, const char *table_name, const json_t *rows)
{
    const char *key, *uuid;
    json_t *value;
    json_object_foreach(t->documents, key, value)
    {
        touch(t, key);
    }
    json_object_clear(t->documents);
    json_object_clear(t->owners);
    json_object_clear(t->keys);
    json_object_foreach((json_t *) rows, uuid, value)
    {
        state_copy_take_row(t, table_name, uuid, value);
    }
}

json_t *
state_copy_changes(struct state_copy *t)
{
    const char *key;
    json_t *before, *changes = json_object();
    json_object_foreach(t->touched, key, before)
    {
        json_t *now = json_object_get(t->documents, key);
        if (now ? !json_equal(now, before) : !json_is_null(before)) {
            json_object_set(changes, key, now ? now : json_null());
        }
    }
    json_object_clear(t->touched);
    return changes;
}
