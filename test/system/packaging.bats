#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Debian packages: built from what `make dist` makes, installed on a clean Debian
# 12 (debootstrap), whose own systemd, booted in namespaces, runs the services.
# shellcheck disable=SC2154 # run sets stderr.

bats_require_minimum_version 1.5.0
load common

CONF=$EF_SOURCE/packaging/conf
programs=(analyzer:analyzer/ef-analyzer reshuffler:reshuffler/ef-reshuffler prober:guided-prober/ef-prober controller:controller/ef-controller)

setup_file() {
    ROOT=$BATS_FILE_TMPDIR/root
    export ROOT
}

teardown_file() {
    local pid
    pid=$(cat "$BATS_FILE_TMPDIR/systemd.pid" 2>/dev/null) || return 0
    # The first process of its namespace: all others end with it, and their mounts.
    kill -KILL "$pid" 2>/dev/null || :
    wait_until 20 demo_gone "$pid"
}

# --- Options files -------------------------------------------------------------

# The options of a program that its file has to name; what a probe looks like is
# for orders.
options_of() { # NAME PROGRAM
    "$EF_BUILD/$2" --help | sed "$([ "$1" != prober ] || echo '/^What to send:/,/^$/d')" |
        sed -n 's/^  \(-., \|    \)--\([a-z][a-z-]*\).*/\2/p' |
        grep -vxE 'conf|check-config|help|version|count|interval|probe-id|explain|pcap'
}

@test "the options files name every option, and no other" {
    for pair in "${programs[@]}"; do
        diff <(options_of "${pair%%:*}" "${pair#*:}" | sort -u) \
            <(sed -n 's/^#\{0,1\}\([a-z][a-z-]*\) = .*/\1/p' "$CONF/${pair%%:*}.conf" | sort -u)
    done
}

@test "the files as installed are in order, and so is each with all it has to offer" {
    local pair name files
    cd "$BATS_TEST_TMPDIR"
    cp "$CONF"/* .
    sed -i "s|/etc/everflow|$PWD|" ./*.conf
    run -0 "$EF_BUILD/controller/ef-controller" --conf controller.conf --check-config
    [ "$output" = "ef-controller: the configuration is in order" ]
    run -0 "$EF_BUILD/guided-prober/ef-prober" --conf prober.conf --check-config
    run -2 --separate-stderr "$EF_BUILD/analyzer/ef-analyzer" --conf analyzer.conf --check-config
    [[ $stderr == *"--source is required"* ]]
    for pair in "${programs[@]}"; do
        name=${pair%%:*}
        sed -i 's/^#\([a-z][a-z-]* = \)/\1/' "$name.conf"
        run -0 "$EF_BUILD/${pair#*:}" --conf "$name.conf" --check-config
        [ "$output" = "ef-$name: the configuration is in order" ]
    done
    files=$(find . -newer controller.json -name '*.pid')
    [ -z "$files" ] # Nothing was started.
}

@test "a mistake in a file is named with its line" {
    printf 'name = a\n\nsorce = afpacket:lo\n' >"$BATS_TEST_TMPDIR/a.conf"
    run -2 --separate-stderr "$EF_BUILD/analyzer/ef-analyzer" --conf "$BATS_TEST_TMPDIR/a.conf" --check-config
    [ "$stderr" = "ef-analyzer: $BATS_TEST_TMPDIR/a.conf:3: unknown option --sorce; did you mean --source?; try ef-analyzer --help" ]
    echo '{"listen": 7}' >"$BATS_TEST_TMPDIR/c.json"
    run -1 --separate-stderr "$EF_BUILD/controller/ef-controller" --config "$BATS_TEST_TMPDIR/c.json" --check-config
    [[ $stderr == *"c.json: "* ]]
}

# --- Packages ------------------------------------------------------------------

@test "dpkg-buildpackage makes the packages from the distribution" {
    cd "$BATS_FILE_TMPDIR"
    make -s -C "$EF_BUILD" dist >dist.log 2>&1
    tar xf "$EF_BUILD"/everflow-ovs-*.tar.xz
    cd everflow-ovs-*/
    DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" dpkg-buildpackage -b -us -uc >../build.log 2>&1 || { tail -n 30 ../build.log; false; }
    ls ../everflow-{common,controller,collector}_*.deb
}

@test "they install on a clean Debian 12" {
    local site
    # shellcheck disable=SC2016 # $(SITE) is for apt.
    site=$(apt-get indextargets --format '$(SITE)' "Created-By: Packages" | grep -m 1 '/debian/*$')
    debootstrap --variant=minbase bookworm "$ROOT" "$site" >"$BATS_FILE_TMPDIR/debootstrap.log" 2>&1 ||
        { tail -n 20 "$BATS_FILE_TMPDIR/debootstrap.log"; false; }
    cp "$BATS_FILE_TMPDIR"/everflow-*.deb "$ROOT/tmp"
    cp /etc/resolv.conf "$ROOT/etc"
    cp -r /etc/apt/apt.conf.d "$ROOT/etc/apt"
    chroot "$ROOT" sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends /tmp/*.deb systemd' \
        >"$BATS_FILE_TMPDIR/install.log" 2>&1 </dev/null 3>&- || { tail -n 20 "$BATS_FILE_TMPDIR/install.log"; false; }
    [ -L "$ROOT/etc/systemd/system/multi-user.target.wants/ef-controller.service" ]
    [ ! -L "$ROOT/etc/systemd/system/multi-user.target.wants/ef-analyzer.service" ]
    chroot "$ROOT" id everflow
}

# Boots the system's own systemd with namespaces of its own for everything.
boot() {
    # shellcheck disable=SC2016 # $ROOT is the inner shell's.
    unshare --fork --kill-child --pid --mount --uts --ipc --net --cgroup --propagation private bash -c '
        mount --bind "$ROOT" "$ROOT" && mount -t proc proc "$ROOT/proc" && mount -t sysfs sys "$ROOT/sys" &&
            mount -t tmpfs tmpfs "$ROOT/run" && mount -t cgroup2 cgroup2 "$ROOT/sys/fs/cgroup" &&
            mount --rbind /dev "$ROOT/dev" && hostname everflow && cd "$ROOT" &&
            exec env -i container=chroot PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . /lib/systemd/systemd --system \
                systemd.unit=multi-user.target' >"$BATS_FILE_TMPDIR/boot.log" 2>&1 </dev/null 3>&- &
    local unshare=$!
    wait_until 20 pgrep -P "$unshare" >/dev/null
    pgrep -P "$unshare" >"$BATS_FILE_TMPDIR/systemd.pid"
}

# Runs a command in the booted system.
inside() {
    nsenter --target "$(cat "$BATS_FILE_TMPDIR/systemd.pid")" --pid --mount --net --uts --ipc --cgroup --root --wd=/ -- "$@" 3>&-
}

is_active() { [ "$(inside systemctl is-active "$1")" = active ]; }

@test "the controller runs from the start, as an ordinary user" {
    boot
    wait_until 60 is_active ef-controller
    run -0 inside efctl status
    [[ $output == *"switches     0 of 0 configured"* ]]
    [ "$(inside ps -o user= -C ef-controller 2>/dev/null || inside stat -c %U "/proc/$(inside systemctl show -p MainPID --value ef-controller)")" = everflow ]
}

@test "a collector that was not told what to listen to says so, and is not tried again" {
    run inside systemctl start ef-analyzer
    [ "$status" -ne 0 ]
    run inside systemctl is-active ef-analyzer
    [ "$output" = failed ] # Not "activating".
    run -0 inside journalctl -u ef-analyzer --no-pager
    [[ $output == *"--source is required: where copies come in, such as afpacket:eth0"* ]]
    [ "$(inside systemctl show -p NRestarts --value ef-analyzer)" = 0 ]
}

@test "told, they start, with no more rights than the work needs" {
    sed -i 's/^#source = .*/source = afpacket:lo/; s/^#archive = /archive = /' "$ROOT"/etc/everflow/{analyzer,reshuffler}.conf
    inside systemctl start ef-analyzer ef-reshuffler ef-prober
    local daemon pid
    for daemon in ef-analyzer ef-reshuffler ef-prober; do
        is_active $daemon
        pid=$(inside systemctl show -p MainPID --value $daemon)
        inside cat "/proc/$pid/status" >"$BATS_TEST_TMPDIR/status"
        grep -qx $'CapEff:\t0000000000003000' "$BATS_TEST_TMPDIR/status" # CAP_NET_ADMIN, CAP_NET_RAW
        grep -qx $'CapBnd:\t0000000000003000' "$BATS_TEST_TMPDIR/status"
        grep -qx $'NoNewPrivs:\t1' "$BATS_TEST_TMPDIR/status"
        [ "$(inside stat -c %U "/proc/$pid")" = everflow ]
    done
}

analyzer_has() { # TRACES
    [ "$(inside efctl daemon /run/everflow/ef-analyzer.ctl status | jq .traces_closed)" = "$1" ]
}

@test "the service does its work: copies become traces, which are archived" {
    inside ef-replay --packets 100 --hops 3 --rate 10000 --target 127.0.0.1 --sink ip
    wait_until 30 analyzer_has 100
    ls "$ROOT"/var/lib/everflow/analyzer/*
}

@test "a service that is killed comes back" {
    local pid
    pid=$(inside systemctl show -p MainPID --value ef-analyzer)
    inside bash -c "kill -KILL $pid"
    back() { [ "$(inside systemctl show -p NRestarts --value ef-analyzer)" = 1 ] && is_active ef-analyzer; }
    wait_until 10 back
    inside ef-replay --packets 10 --hops 3 --rate 10000 --target 127.0.0.1 --seed 2 --sink ip
    wait_until 30 analyzer_has 10
}

@test "removed, nothing of it runs" {
    inside apt-get -q remove -y everflow-common >"$BATS_FILE_TMPDIR/remove.log" 2>&1 || { cat "$BATS_FILE_TMPDIR/remove.log"; false; }
    run -0 inside systemctl list-units --no-legend 'ef-*'
    echo "$output"
    [ -z "$output" ]
    [ ! -e "$ROOT/usr/sbin/ef-analyzer" ]
    [ -e "$ROOT/etc/everflow/analyzer.conf" ] # It was changed, and purge is another word.
}
