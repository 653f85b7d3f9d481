/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the controller would take a configuration: asked of the program itself
 * (ef-controller --check-config, from PATH or where it is installed), so that there is
 * one reader of such files. No daemon is asked, and nothing is started.
 *
 *     if (efctl_config_check("controller.json", &err)) ... err.text has the file and the place ...
 *
 * Waits for that program. Not for threads. */
#ifndef EFCTL_CONFIG_CHECK_H
#define EFCTL_CONFIG_CHECK_H

#include "base/error.h"

/* Returns 0; -EINVAL with `err` in the controller's words; or another negative errno with
 * `err`: it could not be asked. */
int efctl_config_check(const char *file, struct ef_error *err);

#endif
