# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Whether documents are as doc/openapi.json says.

# fits SCHEMA [FILE]: the JSON document, or that of the standard input, is; what is not so is printed.
fits() {
    local misfits
    misfits=$(command jq -nr --slurpfile api "$EF_SOURCE/doc/openapi.json" --arg schema "$1" \
        -f "$EF_SOURCE/test/system/openapi.jq" "${@:2}") || return
    [ -z "$misfits" ] || { echo "$misfits"; return 1; }
}
