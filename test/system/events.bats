#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Alerts told to those who listen: server-sent events, and webhooks with a real
# receiver. The alert is a real one: a link of a real switch's port without carrier.
# shellcheck disable=SC2154 # run sets stderr.

bats_require_minimum_version 1.5.0
load common

NAME=events PORT=18660

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    python3 "$EF_SOURCE/test/system/hook_receiver.py" port received 1 3>&- 4>&- &
    echo $! >receiver.pid
    wait_until 20 test -s port
    suite_begin $NAME $PORT --spines 1 --leaves 2 --hosts-per-leaf 1
    # The same controller, with webhooks.
    jq --arg url "http://127.0.0.1:$(cat port)" '.webhooks = [{url: ($url + "/all?x=1"), secret: "s3cret"}, {url: ($url + "/drops"), kinds: ["drop"]}]' \
        "$(demo_directory $NAME)/controller.json" >new.json
    demo_kill "$(demo_directory $NAME)/controller.pid"
    cp new.json "$(demo_directory $NAME)/controller.json"
    demo_daemon $NAME controller controller/ef-controller --config "$(demo_directory $NAME)/controller.json"
    demo_wait_configured $NAME $PORT
}

teardown_file() {
    kill "$(cat "$BATS_FILE_TMPDIR/receiver.pid")" 2>/dev/null || :
    suite_end $NAME
}

setup() {
    export EFCTL_CONTROLLER=http://127.0.0.1:$PORT
    cd "$BATS_FILE_TMPDIR" || return
}

listen() { # FILE CURL_ARGUMENT...
    local file=$1
    shift
    curl -sN "$@" "$EFCTL_CONTROLLER/v1/events" >"$file" 3>&- 4>&- &
    listener=$!
    wait_until 20 grep -q '^: alive' "$file"
}

teardown() { [ -z "${listener-}" ] || kill "$listener" 2>/dev/null || :; }

@test "who listens is told of an alert when it is raised and when it is over" {
    listen stream
    demo_fabric $NAME fault add --kind link-down --at leaf1:spine1
    wait_until 20 grep -q '"state":"open"' stream
    demo_fabric $NAME fault clear all
    wait_until 20 grep -q '"state":"resolved"' stream
    [ "$(sed -n 's/^id: //p' stream | xargs)" = "1 2" ]
    [ "$(grep -c '^event: alert$' stream)" = 2 ]
    [ "$(sed -n 's/^data: //p' stream | jq -r '[.kind, .subject, .state] | join(" ")')" = "link leaf1-spine1 open
link leaf1-spine1 resolved" ]
}

@test "who comes again goes on where it was" {
    curl -sN --max-time 2 -H "Last-Event-ID: 1" "$EFCTL_CONTROLLER/v1/events" >again || :
    [ "$(sed -n 's/^id: //p' again)" = 2 ]
    [ "$(curl -s -o answer -w '%{http_code}' -H "Last-Event-ID: x" "$EFCTL_CONTROLLER/v1/events")" = 400 ]
}

@test "webhooks get the same, signed, in order, although the first try was refused" {
    two() { [ "$(wc -l <received)" = 2 ]; }
    wait_until 30 two
    [ "$(jq -r '.path + " " + (.body | fromjson | .state)' received)" = "/all?x=1 open
/all?x=1 resolved" ]
    jq -rj 'select(.body | fromjson | .state == "open") | .body' received >body
    [ "$(jq -r 'select(.body | fromjson | .state == "open") | .signature' received)" = "sha256=$(openssl dgst -sha256 -hmac s3cret -r body | cut -d' ' -f1)" ]
    run -0 efctl status --json
    [ "$(jq -c '.webhooks | map([.sent, .failed, .error])' <<<"$output")" = '[[2,1,null],[0,0,null]]' ]
    run -1 grep -qE 's3cret|/all' <<<"$output" # A path is often a secret, too.
}

@test "a mistake in \"webhooks\" is named" {
    jq '.webhooks = [{url: "ftp://x"}]' new.json >bad.json
    run -1 --separate-stderr "$EF_BUILD/controller/ef-controller" --config bad.json --check-config
    [[ $stderr == *"bad.json: webhooks[0].url: "* ]]
}
