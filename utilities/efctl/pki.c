/* SPDX-License-Identifier: Apache-2.0 */
/* efctl pki: an authority for those who have none, and certificates from it. */
#include <config.h>

#include "net/pki.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "utilities/efctl/command.h"

static void say(struct efctl_context *context, const char *fmt, ...) EF_PRINTF(2, 3);

static void
say(struct efctl_context *context, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    efctl_output_text(&context->out, EFCTL_PLAIN, line);
    efctl_output_newline(&context->out);
}

static int
init(struct efctl_context *context, const char *dir)
{
    struct ef_error err = EF_ERROR_INIT;
    if (ef_pki_init(dir, &err)) {
        return efctl_fail(&err);
    }
    say(context, "%s/ca.crt  what every daemon and efctl trust: --tls-ca", dir);
    say(context, "%s/ca.key  keep it secret, and off the machines that only use certificates", dir);
    return EFCTL_OK;
}

static int
sign(struct efctl_context *context, const char *dir, const char *name, char *const hosts[], int n_hosts)
{
    struct ef_error err = EF_ERROR_INIT;
    if (ef_pki_sign(dir, name, (const char *const *) hosts, (size_t) n_hosts, &err)) {
        return efctl_fail(&err);
    }
    say(context, "%s/%s.crt  --tls-cert", dir, name);
    say(context, "%s/%s.key  --tls-key; secret", dir, name);
    if (!n_hosts) {
        say(context, "For clients only: a server's certificate names the addresses that it is asked by.");
    }
    return EFCTL_OK;
}

static int
wrong(const char *text)
{
    struct ef_error err;
    ef_error_set(&err, -EINVAL, "%s", text);
    return efctl_usage_error(&efctl_pki, &err);
}

static int
run(struct efctl_context *context, int argc, char *argv[])
{
    int status = efctl_command_parse(&efctl_pki, context, NULL, &argc, argv);
    if (status != EFCTL_GO_ON) {
        return status;
    }
    if (argc == 2 && !strcmp(argv[0], "init")) {
        return init(context, argv[1]);
    }
    if (argc >= 3 && !strcmp(argv[0], "sign")) {
        return sign(context, argv[1], argv[2], argv + 3, argc - 3);
    }
    return wrong("needs init and a folder, or sign, the folder and a name");
}

const struct efctl_command efctl_pki = {
    "pki",
    "init DIR | sign DIR NAME [HOST]...",
    "Makes an authority for TLS, and keys with certificates from it",
    "  efctl pki init /etc/everflow/pki\n"
    "  efctl pki sign /etc/everflow/pki analyzer1 10.1.0.21\n"
    "  efctl pki sign /etc/everflow/pki controller 10.0.0.5 controller.example.org\n"
    "  efctl pki sign /etc/everflow/pki alice\n",
    false,
    run,
};
