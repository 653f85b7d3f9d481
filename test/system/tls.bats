#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The daemons over TLS, each other's certificates checked, as doc/operations.md
# says it is set up: with `efctl pki`, and seen by curl and openssl, too.

bats_require_minimum_version 1.5.0
load jq

EF_SOURCE=${EF_SOURCE:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
EF_BUILD=${EF_BUILD:-$EF_SOURCE/_build}

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    local pki=$BATS_FILE_TMPDIR/pki
    efctl pki init "$pki"
    efctl pki init "$pki/other"
    efctl pki sign "$pki" analyzer1 127.0.0.1
    efctl pki sign "$pki" controller 127.0.0.1
    efctl pki sign "$pki" alice
    efctl pki sign "$pki/other" eve
    start analyzer1 "$EF_BUILD/analyzer/ef-analyzer" --name analyzer1 --source "pcap:$EF_SOURCE/test/vectors/real.pcap" \
        --memory 16M --http 127.0.0.1:0 --tls-cert "$pki/analyzer1.crt" --tls-key "$pki/analyzer1.key" --tls-ca "$pki/ca.crt"
    echo '{"name": "tls", "switches": [], "hosts": []}' >topology.json
    cat >controller.json <<END
{"listen": "127.0.0.1:0", "topology": "topology.json",
 "analyzers": [{"name": "analyzer1", "url": "https://$(address analyzer1)"}],
 "everflow": {"targets": ["10.255.255.1"], "classes": ["tcp_syn"]},
 "tls": {"cert": "pki/controller.crt", "key": "pki/controller.key", "ca": "pki/ca.crt"}}
END
    start controller "$EF_BUILD/controller/ef-controller" --config controller.json
}

teardown_file() {
    local file
    for file in "$BATS_FILE_TMPDIR"/*.pid; do
        [ ! -f "$file" ] || kill "$(cat "$file")" 2>/dev/null || :
    done
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return
    CONTROLLER=https://$(address controller)
    AS_ALICE=(--tls-ca pki/ca.crt --tls-cert pki/alice.crt --tls-key pki/alice.key)
}

efctl() { "$EF_BUILD/utilities/efctl/efctl" "$@"; }

start() { # NAME PROGRAM ARGUMENT...
    local name=$1
    shift
    "$@" --detach --pidfile "$PWD/$name.pid" --log-file "$PWD/$name.log" --control "$PWD/$name.ctl" 3>&- 4>&-
}

# The address and port at which a daemon listens: the kernel chose the port.
address() { # NAME
    local pid
    pid=$(cat "$BATS_FILE_TMPDIR/$1.pid")
    ss -Hltnp | sed -n "s/^LISTEN .* \(127\.0\.0\.1:[0-9]*\) .*pid=$pid,.*/\1/p" | head -n 1
}

@test "efctl asks the controller, which asks the analyzer, all over TLS" {
    run efctl -c "$CONTROLLER" "${AS_ALICE[@]}" status
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"analyzers    1 of 1 up"* ]]
    EFCTL_CONTROLLER=$CONTROLLER EFCTL_TLS_CA=pki/ca.crt EFCTL_TLS_CERT=pki/alice.crt EFCTL_TLS_KEY=pki/alice.key \
        efctl status --json | jq -e '.analyzers[0].state == "up"'
}

@test "curl and openssl agree: TLS 1.2 and 1.3, and nothing older" {
    local curl=(curl -sf --cacert pki/ca.crt --cert pki/alice.crt --key pki/alice.key)
    "${curl[@]}" --tlsv1.3 "$CONTROLLER/v1/status" | jq -e '.role == "controller"'
    "${curl[@]}" --tls-max 1.2 "$CONTROLLER/v1/status" | jq -e '.role == "controller"'
    run openssl s_client -connect "$(address controller)" -tls1_1 -cipher DEFAULT@SECLEVEL=0 </dev/null
    [ "$status" -ne 0 ]
    run openssl s_client -connect "$(address controller)" -tls1_2 -cipher AES128-SHA </dev/null
    [ "$status" -ne 0 ]
}

@test "nobody gets in without a certificate of the authority" {
    run -1 efctl -c "$CONTROLLER" --tls-ca pki/ca.crt status
    echo "$output"
    [[ $output == *"certificate required"* ]]
    run -1 efctl -c "$CONTROLLER" --tls-ca pki/ca.crt --tls-cert pki/other/eve.crt --tls-key pki/other/eve.key status
    [[ $output == *"unknown ca"* ]]
    run ! curl -sf --cacert pki/ca.crt "https://$(address analyzer1)/v1/status"
}

@test "no server is believed that the authority does not vouch for" {
    run -1 efctl -c "$CONTROLLER" --tls-ca pki/other/ca.crt status
    [[ $output == *"its certificate is refused"* ]]
    run -1 efctl -c "https://localhost:${CONTROLLER##*:}" "${AS_ALICE[@]}" status
    [[ $output == *"hostname mismatch"* ]]
    run -1 efctl -c "$CONTROLLER" status
    [[ $output == *"--tls-ca"* ]]
}

@test "garbage and silence instead of a handshake harm nobody" {
    local port=${CONTROLLER##*:} fd
    head -c 100000 /dev/urandom >/dev/tcp/127.0.0.1/"$port" || :
    run ! curl -sf "http://127.0.0.1:$port/v1/status"
    exec {fd}<>/dev/tcp/127.0.0.1/"$port"
    efctl -c "$CONTROLLER" "${AS_ALICE[@]}" status >/dev/null
    exec {fd}>&-
}

@test "what is wrong with the files is one line at the start" {
    local http=(--name x --source "pcap:$EF_SOURCE/test/vectors/real.pcap" --memory 16M --http 127.0.0.1:0)
    run ! "$EF_BUILD/analyzer/ef-analyzer" "${http[@]}" --tls-cert pki/none.crt --tls-key pki/alice.key
    echo "$output"
    [[ $output == *"pki/none.crt: No such file or directory"* ]]
    run ! "$EF_BUILD/analyzer/ef-analyzer" "${http[@]}" --tls-ca pki/ca.crt
    [[ $output == *"takes a certificate"* ]]
    sed 's/controller.key/alice.key/' controller.json >wrong.json
    run ! "$EF_BUILD/controller/ef-controller" --config wrong.json
    [[ $output == *"wrong.json"*"tls: TLS key"*"key values mismatch"* ]]
    sed '/"tls"/d; s/\["tcp_syn"\]},/["tcp_syn"]}}/' controller.json >wrong.json
    run ! "$EF_BUILD/controller/ef-controller" --config wrong.json
    [[ $output == *"analyzers[0].url: https needs"* ]]
}
