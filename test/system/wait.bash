# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Waiting for a condition.

# wait_until SECONDS COMMAND...: tries it until it succeeds. So long it may take on an
# idle machine; on a busy one that may be several times as long. It is a bound, no measure.
wait_until() {
    local end=$((${EPOCHREALTIME/[.,]/} + $1 * 4000000))
    shift
    until "$@"; do
        [ "${EPOCHREALTIME/[.,]/}" -lt $end ] || { echo "gave up waiting for: $*" >&2; return 1; }
        read -rt 0.05 <> <(:) || :
    done
}
