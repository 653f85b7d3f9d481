# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the system tests share: where the programs are, the suite over a fabric.

EF_SOURCE=${EF_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
EF_BUILD=${EF_BUILD:-$EF_SOURCE/_build}
EF_OVS_PREFIX=${EF_OVS_PREFIX:-$EF_BUILD/ovs/install}
export EF_SOURCE EF_BUILD EF_OVS_PREFIX

# shellcheck source=utilities/demo.sh
. "$EF_SOURCE/utilities/demo.sh"
# shellcheck source=test/system/jq.bash
. "$EF_SOURCE/test/system/jq.bash"
# shellcheck source=test/system/wait.bash
. "$EF_SOURCE/test/system/wait.bash"
# shellcheck source=test/system/openapi.bash
. "$EF_SOURCE/test/system/openapi.bash"

# suite_begin FABRIC PORT ARGUMENT...: a fabric and the whole suite over it.
suite_begin() {
    local name=$1 port=$2
    shift 2
    demo_programs
    suite_end "$name" || :
    demo_fabric "$name" up "$@" >&2
    demo_start "$name" "$port" --memory 64M >&2
    export EFCTL_CONTROLLER=http://127.0.0.1:$port
}

suite_end() { # FABRIC
    demo_stop "$1"
    demo_fabric "$1" down >&2
}

suite_restart_analyzer() { # FABRIC PORT ANALYZER
    local host address netns interface i=0
    while read -r host address netns interface; do
        i=$((i + 1))
        [ "$host" != "$3" ] || demo_analyzer "$1" "$host" "$address" "$netns" "$interface" $(($2 + i)) --memory 64M
    done < <(demo_hosts "$1" analyzer)
}

efctl() { "$EF_BUILD/utilities/efctl/efctl" "$@"; }

# The names of the fabric's ordinary hosts.
hosts() { jq -r '.hosts[] | select(.role == "host") | .name' "$(demo_topology "$1")"; }
