#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Who may ask the controller for what: tokens, roles, certificates, budgets,
# repeated requests, the audit log; seen by curl as any client would.
# shellcheck disable=SC2154,SC2030,SC2031 # run sets stderr; each test has its own controller.

bats_require_minimum_version 1.5.0
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    echo '{"name": "access", "switches": [], "hosts": []}' >topology.json
}

teardown() {
    local file
    for file in "$BATS_TEST_TMPDIR"/*.pid; do
        [ ! -e "$file" ] || demo_kill "$file"
    done
}

# controller ACCESS [MEMBER...]: starts one with this "access", and waits for it.
controller() {
    local access=$1 members=${2-}
    cat >controller.json <<END
{"listen": "127.0.0.1:${PORT:-0}", "topology": "topology.json", "access": $access, $members
 "everflow": {"targets": ["10.255.255.1"], "classes": ["tcp_syn"]}}
END
    "$EF_BUILD/controller/ef-controller" --config controller.json --detach --pidfile "$PWD/controller.pid" --log-file "$PWD/controller.log" 3>&- || return
    PORT=$(ss -Hltnp | sed -n "s/^LISTEN .* 127\.0\.0\.1:\([0-9]*\) .*pid=$(cat controller.pid),.*/\1/p" | head -n 1)
    export EFCTL_CONTROLLER=http://127.0.0.1:$PORT
}

# ask STATUS CURL_ARGUMENT... PATH: the answer must have this status; prints the body.
ask() {
    local status=$1 got
    shift
    got=$(curl -sS -o answer -D headers -w '%{http_code}' "${@:1:$#-1}" "$EFCTL_CONTROLLER${*: -1}")
    cat answer
    [ "$got" = "$status" ] || { echo "status $got, not $status"; return 1; }
}

# audited LINE: the newest line of the audit log, "ACTOR METHOD PATH STATUS".
audited() {
    [ "$(jq -r '[.actor, .method, .path, .status] | join(" ")' audit.ndjson | tail -n 1)" = "$1" ] || { tail -n 1 audit.ndjson; return 1; }
}

as() { echo "Authorization: Bearer $1"; }

@test "on its own machine, without tokens, everything is allowed as before" {
    controller '{}'
    [ "$(ask 200 /v1/whoami | jq -r .actor,.role | xargs)" = "local admin" ]
    ask 200 /v1/tokens
    run -0 efctl token
    [[ $output == "There is no token; add one: efctl token add NAME --role ROLE" ]]
}

@test "each role may do what it is for" {
    local viewer operator admin
    controller '{}'
    viewer=$(efctl token add v --role viewer 2>/dev/null)
    operator=$(efctl token add o --role operator 2>/dev/null)
    admin=$(efctl token add a --role admin 2>/dev/null)
    [[ $viewer =~ ^eft_[0-9a-f]{64}$ ]]
    ask 200 -H "$(as "$viewer")" /v1/status
    ask 403 -H "$(as "$viewer")" -d '{"name":"c","filter":"tcp"}' /v1/counters
    [ "$(jq -r .error.code,.error.message answer | xargs)" = "forbidden this takes role operator, and token:v has viewer" ]
    ask 403 -H "$(as "$operator")" /v1/tokens
    ask 403 -H "$(as "$operator")" -X DELETE /v1/tokens/v
    ask 200 -H "$(as "$operator")" /v1/whoami
    [ "$(jq -r .actor,.role answer | xargs)" = "token:o operator" ]
    ask 200 -H "$(as "$admin")" /v1/tokens
    run -1 grep -qF "${viewer#eft_}" answer
    # With efctl, from the environment.
    EFCTL_TOKEN=$operator run -1 --separate-stderr efctl token
    [ "$stderr" = "efctl: this takes role admin, and token:o has operator" ]
    EFCTL_TOKEN=$admin run -0 efctl token revoke v
    ask 401 -H "$(as "$viewer")" /v1/status
    grep -qi '^WWW-Authenticate: Bearer' headers
}

@test "without a token only what the configuration says" {
    controller '{"anonymous": "viewer"}'
    ask 200 /v1/status
    ask 403 -d '{}' /v1/counters
    ask 403 /v1/tokens
    demo_kill controller.pid
    controller '{"anonymous": "none"}'
    ask 401 /v1/status
    [[ $(jq -r .error.message answer) == *"efctl token add"* ]]
    ask 401 /metrics
}

@test "a wrong, a foreign and an expired token are refused" {
    local token
    controller '{}'
    ask 401 -H "Authorization: Bearer eft_00" /v1/status
    ask 401 -H "Authorization: Basic YTpi" /v1/status
    ask 401 -H "Authorization: Bearer" /v1/status
    ask 401 -H "Authorization: Bearer $(printf 'x%.0s' {1..5000})" /v1/status
    token=$(efctl token add short --role viewer --expires 2s 2>/dev/null)
    ask 200 -H "$(as "$token")" /v1/status
    expired() { [ "$(curl -s -o answer -w '%{http_code}' -H "$(as "$token")" "$EFCTL_CONTROLLER/v1/status")" = 401 ]; }
    wait_until 10 expired
    [ "$(jq -r .error.message answer)" = "the token has expired" ]
}

@test "who guesses tokens is not listened to any more, others are" {
    local token
    controller '{}'
    token=$(efctl token add good --role viewer 2>/dev/null)
    guessed() { [ "$(curl -s -o answer -w '%{http_code}' -H "$(as eft_wrong)" "$EFCTL_CONTROLLER/v1/status")" = 429 ]; }
    wait_until 20 guessed
    grep -q too_many_wrong_tokens answer
    ask 200 /v1/status # Without one: it is no guess.
}

@test "requests have a budget" {
    controller '{"requests_per_s": 1, "burst": 5}'
    refused() { [ "$(curl -s -D headers -o answer -w '%{http_code}' "$EFCTL_CONTROLLER/v1/whoami")" = 429 ]; }
    ask 200 /v1/whoami
    wait_until 10 refused
    grep -qi '^Retry-After: 1' headers
    again() { curl -sf -o /dev/null "$EFCTL_CONTROLLER/v1/whoami"; }
    wait_until 10 again
}

@test "a change that is sent again is refused" {
    local once
    controller '{"require_once": true}'
    ask 403 -d '{"name":"t","role":"viewer"}' /v1/tokens
    grep -q once_missing answer
    once=$(date +%s%3N)-0123456789abcdef
    ask 201 -H "Everflow-Once: $once" -d '{"name":"t","role":"viewer"}' /v1/tokens
    ask 403 -H "Everflow-Once: $once" -d '{"name":"u","role":"admin"}' /v1/tokens
    grep -q '"replayed"' answer
    ask 403 -H "Everflow-Once: 1000000000000-0123456789abcdef" -d '{"name":"u","role":"admin"}' /v1/tokens
    [ "$(ask 200 /v1/tokens | jq '.tokens | length')" = 1 ]
    efctl token add u --role viewer # It says so by itself.
}

@test "changes and refusals are in the audit log, with who and from where" {
    local token
    controller '{"anonymous": "viewer", "audit": "'"$PWD"'/audit.ndjson"}'
    demo_kill controller.pid
    controller '{"audit": "'"$PWD"'/audit.ndjson"}'
    token=$(efctl token add alice --role operator 2>/dev/null)
    ask 403 -H "$(as "$token")" -d '{"name":"bob","role":"admin"}' /v1/tokens
    ask 401 -H "$(as eft_no)" /v1/traces
    ask 200 /v1/status
    [ "$(jq -rc '[.actor, .address, .method, .path, .status] | join(" ")' audit.ndjson)" = "local 127.0.0.1 POST /v1/tokens 201
token:alice 127.0.0.1 POST /v1/tokens 403
anonymous 127.0.0.1 GET /v1/traces 401" ]
    run -1 grep -qF "${token#eft_}" audit.ndjson
    [ "$(stat -c %a audit.ndjson)" = 600 ]
    run -0 efctl audit
    [[ ${lines[0]} == "TIME "*"WHO "*"FROM "*"STATUS"*"WHAT" ]]
    [[ ${lines[1]} == *"local "*"201  POST /v1/tokens {\"name\":\"alice\",\"role\":\"operator\"}" ]]
    # Moved away, as logrotate does it, it begins anew.
    mv audit.ndjson old
    ask 400 -d '{}' /v1/tokens
    [ "$(jq -r .status audit.ndjson)" = 400 ]
}

@test "each kind of refusal leaves its line in the audit log" {
    local token once
    efctl pki init pki >/dev/null
    efctl pki sign pki controller 127.0.0.1 >/dev/null
    efctl pki sign pki alice >/dev/null
    controller '{"certificate": "viewer", "audit": "'"$PWD"'/audit.ndjson", "requests_per_s": 1000}' \
        '"tls": {"cert": "pki/controller.crt", "key": "pki/controller.key", "ca": "pki/ca.crt", "client_certificates": "optional"},'
    EFCTL_CONTROLLER=https://127.0.0.1:$PORT
    token=$(efctl --tls-ca pki/ca.crt token add oscar --role operator 2>/dev/null)
    # Too small a role: a token's, a certificate's.
    ask 403 --cacert pki/ca.crt -H "$(as "$token")" -d '{"name":"t","role":"admin"}' /v1/tokens
    audited "token:oscar POST /v1/tokens 403"
    ask 403 --cacert pki/ca.crt --cert pki/alice.crt --key pki/alice.key -d '{"name":"t","role":"admin"}' /v1/tokens
    audited "certificate:alice POST /v1/tokens 403"
    # What was recorded and is sent again.
    once=$(date +%s%3N)-0123456789abcdef
    ask 201 --cacert pki/ca.crt -H "Everflow-Once: $once" -d '{"name":"again","role":"viewer"}' /v1/tokens
    ask 403 --cacert pki/ca.crt -H "Everflow-Once: $once" -d '{"name":"again","role":"viewer"}' /v1/tokens
    audited "local POST /v1/tokens 403"
    # A token that has expired, and one that never was.
    token=$(efctl --tls-ca pki/ca.crt token add short --role viewer --expires 1s 2>/dev/null)
    is_expired() { [ "$(curl -s -o answer -w '%{http_code}' --cacert pki/ca.crt -H "$(as "$token")" "$EFCTL_CONTROLLER/v1/whoami")" = 401 ]; }
    wait_until 10 is_expired
    audited "anonymous GET /v1/whoami 401"
    ask 401 --cacert pki/ca.crt -H "$(as eft_never)" /v1/traces
    audited "anonymous GET /v1/traces 401"
}

@test "the first token is in a file, and is no more once that is removed" {
    local first second
    first=eft_$(printf '%064d' 7)
    echo "$first" >admin.token
    controller '{"anonymous": "none", "admin_token": "admin.token"}'
    ask 401 /v1/status
    ask 401 -H "$(as "${first%7}8")" /v1/status
    ask 401 -H "$(as "${first%7}")" /v1/status
    EFCTL_TOKEN=$first efctl token add alice --role admin >second 2>/dev/null
    second=$(cat second)
    [ "$(EFCTL_TOKEN=$second efctl audit --json | jq -r '[.entries[] | select(.status == 201)][0].actor')" = admin_token ]
    rm admin.token
    ask 401 -H "$(as "$first")" /v1/status
    ask 200 -H "$(as "$second")" /v1/status
    echo short >admin.token
    ask 401 -H "$(as short)" /v1/status
}

@test "from elsewhere: a certificate or a token, over TLS" {
    local token
    efctl pki init pki >/dev/null
    efctl pki sign pki controller 127.0.0.1 >/dev/null
    efctl pki sign pki alice >/dev/null
    efctl pki init other >/dev/null
    efctl pki sign other eve >/dev/null
    controller '{"certificate": "operator", "anonymous": "none"}' \
        '"tls": {"cert": "pki/controller.crt", "key": "pki/controller.key", "ca": "pki/ca.crt", "client_certificates": "optional"},'
    EFCTL_CONTROLLER=https://127.0.0.1:$PORT
    ask 200 --cacert pki/ca.crt --cert pki/alice.crt --key pki/alice.key /v1/whoami
    [ "$(jq -r .actor,.role answer | xargs)" = "certificate:alice operator" ]
    ask 401 --cacert pki/ca.crt /v1/whoami
    run -0 ask 403 --cacert pki/ca.crt --cert pki/alice.crt --key pki/alice.key -d '{"name":"t","role":"admin"}' /v1/tokens
    # A certificate of another authority is worse than none: no connection.
    run curl -sS --cacert pki/ca.crt --cert other/eve.crt --key other/eve.key "$EFCTL_CONTROLLER/v1/whoami"
    [ "$status" -ne 0 ]
}

@test "the API's description is served, and is the one in doc" {
    controller '{"anonymous": "viewer"}'
    curl -s "$EFCTL_CONTROLLER/v1/openapi.json" | cmp - "$EF_SOURCE/doc/openapi.json"
}

@test "a mistake in \"access\" is named" {
    run -1 --separate-stderr controller '{"anonymous": "root"}'
    [[ $stderr == *'controller.json: access.anonymous: is none of "none", "viewer", "operator", "admin"' ]]
    run -1 --separate-stderr controller '{"anonimous": "none"}'
    [[ $stderr == *'did you mean'* ]]
}
