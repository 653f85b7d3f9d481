# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A jq whose -e fails without input. Debian 12's (1.6) says then that all is well, so
# that `curl ... | jq -e ...` would be true when curl got no answer at all.

jq() {
    case ${1-} in
    -e | -e[a-z] | -[a-z]e)
        local out status=0
        out=$(command jq "$@") || status=$?
        [ -z "$out" ] || printf '%s\n' "$out"
        [ "$status" -ne 0 ] || [ -n "$out" ] || status=4
        return "$status"
        ;;
    *) command jq "$@" ;;
    esac
}
export -f jq
