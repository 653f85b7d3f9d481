/* SPDX-License-Identifier: Apache-2.0 */
/* A hop of a trace as JSON, as analyzers answer and the controller has named it. */
#ifndef CONTROLLER_HOP_H
#define CONTROLLER_HOP_H

#include <jansson.h>

#include "base/json.h"

/* The switch's name, or its address if that has none; borrowed. */
static inline const char *
hop_switch(const json_t *hop, const char *otherwise)
{
    return ef_json_text_or(hop, "name", ef_json_text_or(hop, "switch", otherwise));
}

#endif
