/* SPDX-License-Identifier: Apache-2.0 */
/* How many requests each of many callers may still make: a token bucket for each
 * name, in a table of fixed size. Where it is full, who was not seen longest is
 * forgotten, which gives him a full bucket again: an attacker with thousands of
 * addresses gains what his addresses allow, and nobody else loses.
 *
 *     if (!request_budget_take(budget, "10.1.0.7", ef_time_mono())) refuse with 429;
 *
 * Not thread-safe; time is the caller's, monotonic. */
#ifndef CONTROLLER_REQUEST_BUDGET_H
#define CONTROLLER_REQUEST_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct request_budget;

/* `rate` a second, at most `burst` at once; both over 0. NULL: out of memory. */
struct request_budget *request_budget_create(double rate, double burst);
void request_budget_destroy(struct request_budget *budget); /* NULL is fine. */

/* Takes one for `name`; false if there is none left. */
bool request_budget_take(struct request_budget *budget, const char *name, struct ef_time now);

/* True if request_budget_take() would; takes nothing. */
bool request_budget_has(struct request_budget *budget, const char *name, struct ef_time now);

#endif
