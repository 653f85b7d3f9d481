/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up root; see privileges.h. */
#include <config.h>

#include "base/privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int
look_up(const char *user, struct passwd **out, struct ef_error *err)
{
    errno = 0;
    *out = getpwnam(user);
    if (!*out) {
        return ef_error_set(err, errno ? -errno : -ENOENT, "there is no user '%.60s'; make it with: adduser --system",
                            user);
    }
    return 0;
}

/* Bound to the capabilities that will be left: libcap-ng keeps those over the
 * change of the user. */
static int
choose(const int *needed)
{
    capng_clear(CAPNG_SELECT_BOTH);
    for (; *needed >= 0; needed++) {
        if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, (unsigned) *needed)) {
            return -EINVAL;
        }
    }
    return 0;
}

int
ef_privileges_drop(const char *user, const int *needed, struct ef_error *err)
{
    struct passwd *entry;
    int rc = look_up(user, &entry, err);
    if (rc) {
        return rc;
    }
    if (geteuid()) {
        return ef_error_set(err, -EPERM, "only root can become user '%.60s'", user);
    }
    if (choose(needed) || initgroups(entry->pw_name, entry->pw_gid) ||
        capng_change_id((int) entry->pw_uid, (int) entry->pw_gid, CAPNG_CLEAR_BOUNDING)) {
        return ef_error_set(err, -EPERM, "cannot become user '%.60s' (is the process itself confined?)", user);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
        return ef_error_set(err, -errno, "cannot renounce new privileges: %s", strerror(errno));
    }
    return 0;
}
