/* SPDX-License-Identifier: Apache-2.0 */
/* What access.c and api_access.c share; nobody else includes it. */
#ifndef CONTROLLER_ACCESS_PRIVATE_H
#define CONTROLLER_ACCESS_PRIVATE_H

#include "controller/access.h"
#include "controller/audit.h"
#include "controller/replay_guard.h"
#include "controller/request_budget.h"
#include "controller/state.h"
#include "net/http_server.h"

struct access_control {
    const struct access_settings *settings;
    struct state_store *state;
    struct audit *audit;
    struct request_budget *budget; /* NULL: no limit. */
    struct request_budget *wrong;  /* Of wrong tokens, by address. */
    struct replay_guard *replays;
    enum role role;      /* Of the request whose handler runs. */
    uint64_t refused[3]; /* With 401, 403, 429. */
};

#endif
