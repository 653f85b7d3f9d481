# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shell functions that quickstart and test/run share: which Debian packages are
# needed for what, and how a build directory is made. Sourced, never run.

ef_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian 12 packages, by what they are needed for.
declare -A ef_packages=(
    [build]="gcc make autoconf automake pkg-config libc6-dev libevent-dev libssl-dev libjansson-dev libxxhash-dev libpcap-dev libzstd-dev libcap-ng-dev"
    [ovs]="openvswitch-source patch gcc make autoconf automake libtool pkg-config python3 libssl-dev libcap-ng-dev libunbound-dev libbpf-dev libxdp-dev libnuma-dev procps"
    [dpdk]="libdpdk-dev"
    [run]="iproute2 ethtool iputils-ping procps python3 jq"
    [test]="git gdb python3-jsonschema libcmocka-dev clang libbpf-dev libclang-rt-14-dev bats shellcheck mandoc spin tshark tcpdump jq curl socat traceroute iproute2 ethtool iputils-ping procps python3 xz-utils nodejs npm debhelper dpkg-dev debootstrap prometheus"
)

# missing_packages SET...: prints the packages of these sets that are not installed.
missing_packages() {
    local set package
    for set in "$@"; do
        for package in ${ef_packages[$set]}; do
            # A nodejs from elsewhere brings its own npm, and Debian's conflicts with it.
            [ "$package" != npm ] || ! command -v npm >/dev/null || continue
            dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
        done
    done | sort -u
}

# install_packages SET...: installs what is missing; quiet and quick if nothing is.
install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}"
}

# configure_in DIR [ARGUMENT...]: makes a configured out-of-tree build directory;
# does nothing if it is already configured that way.
configure_in() {
    local dir=$1 stamp
    shift
    stamp="CC=${CC-} CFLAGS=${CFLAGS-} $*"
    if [ ! -x "$ef_top/configure" ] || [ "$ef_top/configure.ac" -nt "$ef_top/configure" ]; then
        (cd "$ef_top" && autoreconf -fi) || return
    fi
    if [ -f "$dir/Makefile" ] && [ "$(cat "$dir/.configured" 2>/dev/null)" = "$stamp" ]; then
        return 0
    fi
    mkdir -p "$dir" && (cd "$dir" && "$ef_top/configure" "$@") && echo "$stamp" >"$dir/.configured"
}
