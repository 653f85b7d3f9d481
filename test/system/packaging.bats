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

@test "efctl says of a configuration what the controller says" {
    local dir=$BATS_TEST_TMPDIR file said
    PATH=$EF_BUILD/controller:$PATH
    cp "$CONF"/*.json "$dir"
    echo '{"listen": 7}' >"$dir/listen.json"
    echo '{"topology": "nowhere.json", "everflow": {"targets": ["10.0.0.1"], "classes": []}}' >"$dir/nowhere.json"
    echo '{' >"$dir/half.json"
    for file in listen nowhere half missing; do
        run -1 --separate-stderr "$EF_BUILD/controller/ef-controller" --config "$dir/$file.json" --check-config
        said=${stderr#ef-controller: }
        [ -n "$said" ]
        run -1 --separate-stderr "$EF_BUILD/utilities/efctl/efctl" config check "$dir/$file.json"
        [ "$stderr" = "efctl: $said" ]
        [ -z "$output" ]
    done
    run -0 "$EF_BUILD/controller/ef-controller" --config "$dir/controller.json" --check-config
    run -0 "$EF_BUILD/utilities/efctl/efctl" config check "$dir/controller.json"
    [ "$output" = "$dir/controller.json: the configuration is in order" ]
    "$EF_BUILD/utilities/efctl/efctl" config check "$dir/controller.json" --json |
        jq -e --arg file "$dir/controller.json" '. == {file: $file, in_order: true}'
    run -2 --separate-stderr "$EF_BUILD/utilities/efctl/efctl" config check
    [[ $stderr == *"check needs one FILE"* ]]
    run -2 --separate-stderr "$EF_BUILD/utilities/efctl/efctl" config chek "$dir/controller.json"
    [[ $stderr == *"there is: check FILE"* ]]
    # It may be installed where this build would be.
    run --separate-stderr env PATH=/nowhere "$EF_BUILD/utilities/efctl/efctl" config check "$dir/controller.json"
    [ "$status" = 0 ] || [[ $stderr == "efctl: ef-controller, which knows, cannot be run: No such file or directory; "* ]]
}

# known_at PLACE: the members that the controller knows there, a line each, by its own
# words. PLACE is a jq path into a document that has one of everything.
known_at() {
    jq -n '{topology: "topology.json", tls: {}, watchers: {}, access: {}, capacity: {}, analyzers: [{name: "a", url: "unix:/a"}],
            reshufflers: [{name: "r", url: "unix:/r"}], probers: [{name: "p", url: "unix:/p"}], webhooks: [{url: "http://127.0.0.1/"}],
            everflow: {targets: ["10.0.0.1"], classes: [], rules: [{name: "w", match: "tcp"}]}} | del(.tls) | '"$1.zzzzzzzzzz = 1" >"$BATS_TEST_TMPDIR/probe.json"
    run -1 --separate-stderr "$EF_BUILD/controller/ef-controller" --config "$BATS_TEST_TMPDIR/probe.json" --check-config
    [[ $stderr == *"zzzzzzzzzz: unknown; there are "* ]] || { echo "$1: $stderr" >&2; return 1; }
    tr -s ', ' '\n' <<<"${stderr##*there are }"
}

@test "every member of the controller's configuration is in ef-controller(8), and every one that is there is known" {
    local place key manual=$EF_SOURCE/doc/man/ef-controller.8
    for place in '' .everflow '.everflow.rules[0]' .watchers .access .tls '.analyzers[0]' '.reshufflers[0]' '.probers[0]' '.webhooks[0]' .capacity; do
        known_at "$place" >"$BATS_TEST_TMPDIR/known"
        [ -s "$BATS_TEST_TMPDIR/known" ]
        while read -r key; do
            sed -n '/^\.Sh CONFIGURATION/,/^\.Sh EXIT/p' "$manual" | grep '^\.\(It \)\{0,1\}Li' | sed 's,\\(dq, ,g' | grep -qw "$key" ||
                { echo "$place: $key is not in ef-controller(8)"; false; }
        done <"$BATS_TEST_TMPDIR/known"
    done
    known_at '' | sort >"$BATS_TEST_TMPDIR/known"
    sed -n '/^\.Sh CONFIGURATION/,/^\.Sh EXIT/p' "$manual" | awk '/^\.Bl/ {deep++} /^\.El/ {deep--} deep == 1 && /^\.It Li/' |
        sed 's/^\.It Li //; s/ , /\n/g' | sort | diff "$BATS_TEST_TMPDIR/known" -
}

@test "the controller's configuration as installed has every member that has a default" {
    # Defaults of these depend on others, or are that there is none; lists are of what there is.
    local of_others=" tls collectors drop loop burst rules " place key
    for place in '' .everflow .watchers .access .capacity; do
        known_at "$place" >"$BATS_TEST_TMPDIR/known"
        while read -r key; do
            [[ $of_others == *" $key "* ]] || jq -e "${place:-.} | has(\"$key\")" "$CONF/controller.json" >/dev/null ||
                { echo "$place: $key is not in controller.json"; false; }
        done <"$BATS_TEST_TMPDIR/known"
    done
}

# "option value" of each that --help gives a default.
defaults_of() {
    "$EF_BUILD/$1" --help | awk '/^  (-., |    )--/ {match($0, /--[a-z-]+/); name = substr($0, RSTART + 2, RLENGTH - 2)}
        match($0, /\(default [^ ,);:]+/) {print name, substr($0, RSTART + 9, RLENGTH - 9)}'
}

@test "the options files show the defaults that --help tells" {
    local pair name value n=0
    for pair in "${programs[@]}"; do
        while read -r name value; do
            grep -q "^#\{0,1\}$name = " "$CONF/${pair%%:*}.conf" || continue # What a probe looks like.
            [ "$name" != topology ] || continue
            grep -qx "#\{0,1\}$name = $value" "$CONF/${pair%%:*}.conf" || { echo "$pair: $name is $value by default"; false; }
            n=$((n + 1))
        done < <(defaults_of "${pair#*:}")
    done
    [ $n -ge 10 ]
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
    chroot "$ROOT" sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends /tmp/*.deb systemd logrotate' \
        >"$BATS_FILE_TMPDIR/install.log" 2>&1 </dev/null 3>&- || { tail -n 20 "$BATS_FILE_TMPDIR/install.log"; false; }
    [ -L "$ROOT/etc/systemd/system/multi-user.target.wants/ef-controller.service" ]
    [ ! -L "$ROOT/etc/systemd/system/multi-user.target.wants/ef-analyzer.service" ]
    chroot "$ROOT" id everflow
    [ -L "$ROOT/etc/systemd/system/multi-user.target.wants/ef-state.service" ]
}

@test "installed, it says how to be the first admin" {
    # shellcheck disable=SC2016 # As it is printed.
    grep -qF 'export EFCTL_TOKEN=$(sudo cat /etc/everflow/admin.token)' "$BATS_FILE_TMPDIR/install.log"
    grep -qx 'eft_[0-9a-f]\{64\}' "$ROOT/etc/everflow/admin.token"
    [ "$(chroot "$ROOT" stat -c '%U:%G %a' /etc/everflow/admin.token)" = "root:everflow 640" ]
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

# efctl as the first admin.
efctl_inside() { inside env EFCTL_TOKEN="$(cat "$ROOT/etc/everflow/admin.token")" efctl "$@"; }

is_active() { [ "$(inside systemctl is-active "$1")" = active ]; }

@test "the controller runs from the start, as an ordinary user" {
    boot
    wait_until 60 is_active ef-controller
    wait_until 60 efctl_inside status >/dev/null
    run -0 efctl_inside status
    [[ $output == *"switches     0 of 0 configured"* ]]
    run ! inside efctl status
    [[ $output == *"a token is needed"* ]]
    [ "$(inside ps -o user= -C ef-controller 2>/dev/null || inside stat -c %U "/proc/$(inside systemctl show -p MainPID --value ef-controller)")" = everflow ]
}

# --- Its database ----------------------------------------------------------------

STATE=unix:/run/everflow-state/state.sock

@test "its database is served to it alone, by a user with no rights" {
    local pid
    wait_until 30 is_active ef-state || { inside journalctl -u ef-state --no-pager | tail -n 20; false; }
    pid=$(inside systemctl show -p MainPID --value ef-state)
    inside cat "/proc/$pid/status" >"$BATS_TEST_TMPDIR/status"
    grep -qx $'CapEff:\t0000000000000000' "$BATS_TEST_TMPDIR/status"
    grep -qx $'CapBnd:\t0000000000000000' "$BATS_TEST_TMPDIR/status"
    grep -qx $'NoNewPrivs:\t1' "$BATS_TEST_TMPDIR/status"
    [ "$(inside stat -c %U "/proc/$pid")" = everflow-state ]
    [ "$(inside stat -c '%U %a' /var/lib/everflow/state)" = "everflow-state 700" ]
    [ "$(inside stat -c '%U:%G %a' /run/everflow-state)" = "everflow-state:everflow-state 750" ]
    inside setpriv --reuid=everflow --regid=everflow --groups=everflow-state ovsdb-client --timeout=20 list-dbs "$STATE" | grep -qx Everflow_State
    run ! inside setpriv --reuid=nobody --regid=nogroup --clear-groups ovsdb-client --timeout=20 list-dbs "$STATE"
    run -0 efctl_inside status --json
    jq -e '.state.role == "active" and .state.connected' <<<"$output"
}

has_token() { efctl_inside token --json | jq -e --arg name "$1" '[.tokens[].name] | index($name) != null' >/dev/null; }
is_new() { [ "$(inside systemctl show -p MainPID --value "$1")" != "$2" ] && is_active "$1"; }

# dies UNIT: killed as hard as can be, it is there again by itself.
dies() {
    local pid
    pid=$(inside systemctl show -p MainPID --value "$1")
    inside bash -c "kill -KILL $pid"
    wait_until 60 is_new "$1" "$pid"
}

@test "what was acknowledged survives kill -9 of the database, of the controller, and a restart" {
    efctl_inside token add web --role viewer >/dev/null
    dies ef-state
    wait_until 60 has_token web
    dies ef-controller
    wait_until 60 has_token web
    inside systemctl restart ef-state ef-controller
    wait_until 60 has_token web
}

@test "a database of an older version is brought to the schema of this one" {
    inside systemctl stop ef-controller ef-state
    local schema=/usr/share/everflow-ovs/everflow.ovsschema
    jq 'del(.tables.Alert) | .version = "0.9.0"' "$ROOT$schema" >"$ROOT/tmp/old.ovsschema"
    inside runuser -u everflow-state -- ovsdb-tool convert /var/lib/everflow/state/state.db /tmp/old.ovsschema
    [ "$(inside ovsdb-tool needs-conversion /var/lib/everflow/state/state.db $schema)" = yes ]
    inside systemctl start ef-controller
    wait_until 60 has_token web
    [ "$(inside ovsdb-tool needs-conversion /var/lib/everflow/state/state.db $schema)" = no ]
    [ "$(inside ovsdb-tool db-version /var/lib/everflow/state/state.db.before-upgrade)" = 0.9.0 ]
}

@test "the audit log is turned over by logrotate, and goes on" {
    local log=$ROOT/var/log/everflow/audit.ndjson
    [ "$(jq -r 'select(.status == 201).actor' "$log")" = admin_token ]
    inside logrotate -f /etc/logrotate.d/everflow
    [ ! -e "$log" ]
    efctl_inside token revoke web
    jq -e '.path == "/v1/tokens/web" and .status < 300' "$log"
    [ "$(jq -r 'select(.method == "DELETE").path' "$log.1")" = "" ]
}

@test "systemd rates every service as safe" {
    local unit
    for unit in ef-state ef-controller ef-analyzer ef-prober ef-reshuffler; do
        inside systemd-analyze security --threshold=35 "$unit.service" >"$BATS_TEST_TMPDIR/rating" || { cat "$BATS_TEST_TMPDIR/rating"; false; }
        tail -n 1 "$BATS_TEST_TMPDIR/rating"
    done
}

# --- Collectors ------------------------------------------------------------------

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
    [ -e "$ROOT/var/lib/everflow/state/state.db" ]
}

@test "purged, nothing of it is left but its users" {
    inside apt-get -q purge -y everflow-common everflow-controller everflow-collector >"$BATS_FILE_TMPDIR/purge.log" 2>&1 ||
        { cat "$BATS_FILE_TMPDIR/purge.log"; false; }
    run -0 inside find / -xdev \( -path /proc -o -path /sys -o -path /tmp -o -path /var/log/journal \) -prune -o \( -name '*everflow*' -o -name 'ef-*' -o -name 'efctl*' \) -print
    echo "$output"
    [ -z "$output" ]
    run -0 inside find /run -name '*everflow*' -not -path '/run/systemd/*'
    echo "$output"
    [ -z "$output" ]
}
