/* SPDX-License-Identifier: Apache-2.0 */
/* Options in a file, as a service's starter wants them: everything that the
 * command line takes, by its long name, one on a line.
 *
 *     # What copies come in by.
 *     source = afpacket:eth0
 *     memory = 4G
 *     detach = yes
 *
 * Read where the option that names the file stands (ef_option.is_file): what comes
 * later on the command line wins, and what may be given several times adds up. A
 * switch is "yes" or "no"; "no" is as if it were not there. Blank lines and lines
 * that begin with '#' are skipped; a '#' elsewhere is part of the value. */
#ifndef EF_BASE_OPTIONS_FILE_H
#define EF_BASE_OPTIONS_FILE_H

#include "base/options.h"

enum { EF_OPTIONS_FILE_MAX_BYTES = 1 << 20 };

/* Applies the options of file `path`. Returns 0 or a negative errno with `err`,
 * which names the file and the line. The values live as long as the process, as
 * those of the command line do. */
int ef_options_read_file(const struct ef_option_group *groups, const char *path, struct ef_error *err);

#endif
