#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# /metrics of every daemon as a real Prometheus sees them, with a fabric under
# traffic: the scrape configuration, the alert rules and the dashboard that are
# installed are what is tried. Grafana is not in Debian: what the dashboard shows is
# asked of Prometheus, and its form is checked.
# shellcheck disable=SC2154 # run sets stderr.

bats_require_minimum_version 1.5.0
load common

FABRIC=metrics
PORT=19100
PROMETHEUS=http://127.0.0.1:$((PORT + 40))
OURS=$EF_SOURCE/packaging/prometheus
DASHBOARD=$OURS/grafana-dashboard.json

setup_file() {
    export DEMO_EVERFLOW='{"decap": true, "probe_sources": ["10.1.0.11"]}' DEMO_PROBER=h1
    suite_begin "$FABRIC" "$PORT" --spines 2 --leaves 2 --hosts-per-leaf 1
    archive_too
    start_prometheus
    demo_fabric "$FABRIC" traffic start --connections 20
}

teardown_file() {
    local pid
    if pid=$(cat "$BATS_FILE_TMPDIR/prometheus.pid"); then
        kill "$pid" || :
        wait_until 20 demo_gone "$pid" || kill -KILL "$pid"
    fi
    demo_fabric "$FABRIC" traffic stop || :
    suite_end "$FABRIC"
}

# The first analyzer anew, with an archive.
archive_too() {
    local host address netns interface
    read -r host address netns interface < <(demo_hosts "$FABRIC" analyzer)
    mkdir "$BATS_FILE_TMPDIR/archive"
    demo_kill "$(demo_directory "$FABRIC")/$host.pid"
    demo_analyzer "$FABRIC" "$host" "$address" "$netns" "$interface" $((PORT + 1)) --memory 64M --archive "$BATS_FILE_TMPDIR/archive"
}

# "daemon port", a line for each that runs.
daemons() {
    local n
    n=$(demo_hosts "$FABRIC" analyzer | wc -l)
    seq -f "analyzer %.0f" $((PORT + 1)) $((PORT + n))
    printf '%s\n' "reshuffler $((PORT + 10))" "prober $((PORT + 15))" "controller $PORT"
}

is_ready() { curl -sf -m 5 -o /dev/null "$PROMETHEUS/-/ready"; }

# With the configuration that is installed, but for the ports and the haste.
start_prometheus() {
    local dir=$BATS_FILE_TMPDIR/prometheus analyzers
    mkdir "$dir"
    cp "$OURS"/* "$dir"
    efctl token add prometheus --role viewer >"$dir/everflow.token" 2>/dev/null
    analyzers=$(daemons | sed -n 's/^analyzer \(.*\)/"127.0.0.1:\1"/p' | paste -sd ,)
    sed -i "s/15s/1s/; s/\"127.0.0.1:8781\"/$analyzers/; s/:8790/:$((PORT + 10))/; s/:8795/:$((PORT + 15))/; s/:8780/:$PORT/" "$dir/prometheus.yml"
    # At most ten minutes, whatever becomes of this test.
    timeout 600 prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data" --log.level=warn \
        --web.listen-address="${PROMETHEUS#http://}" >"$BATS_FILE_TMPDIR/prometheus.log" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/prometheus.pid"
    wait_until 60 is_ready
}

metrics_of() { curl -sf -m 20 "http://127.0.0.1:$1/metrics"; } # PORT

@test "promtool finds nothing to complain of in any daemon's metrics" {
    local daemon port
    while read -r daemon port; do
        metrics_of "$port" >"$BATS_TEST_TMPDIR/$daemon"
        run -0 --separate-stderr promtool check metrics <"$BATS_TEST_TMPDIR/$daemon"
        echo "$daemon: $output$stderr"
        [ -z "$output$stderr" ]
        grep -q '^everflow_uptime_seconds ' "$BATS_TEST_TMPDIR/$daemon"
    done < <(daemons)
}

ask() { curl -sf -m 20 -G "$PROMETHEUS/api/v1/$1" "${@:2}"; } # PATH CURL_ARGUMENT...

all_scraped() { ask targets | jq -e --argjson n "$(daemons | wc -l)" '[.data.activeTargets[] | select(.health == "up")] | length == $n' >/dev/null; }

@test "Prometheus scrapes every daemon, the controller with a token" {
    wait_until 60 all_scraped || { ask targets | jq '.data.activeTargets[] | [.scrapeUrl, .health, .lastError]'; false; }
}

# What the dashboard asks, as Grafana would with its variables set to all.
expressions() { jq -r '.panels[].targets[]?.expr, .annotations.list[].expr' "$DASHBOARD"; }
# shellcheck disable=SC2016 # Grafana's variables.
as_asked() { sed 's/\$__rate_interval/15s/g; s/\$instance/.*/g' <<<"$1"; }

has_answer() { ask query --data-urlencode "query=$(as_asked "$1")" | jq -e '.data.result | length > 0' >/dev/null; } # EXPRESSION

@test "every expression of the dashboard has an answer" {
    local expression n=0
    while read -r expression; do
        [[ $expression != ALERTS* ]] || continue # There is none while all is well.
        wait_until 120 has_answer "$expression" || { ask query --data-urlencode "query=$(as_asked "$expression")"; false; }
        n=$((n + 1))
    done < <(expressions)
    [ $n -gt 40 ]
    run -0 ask query --data-urlencode 'query=sum(rate(everflow_traces_closed_total[15s]))'
    jq -e '.data.result[0].value[1] | tonumber > 0' <<<"$output"
}

@test "the dashboard is one that Grafana can load" {
    jq -e '.uid == "everflow" and (.title | length > 0) and .schemaVersion >= 36
        and ([.panels[].id] | length == (unique | length))
        and ([.templating.list[] | select(.type == "datasource" and .query == "prometheus") | .name] == ["datasource"])
        and all(.panels[]; (.title | length > 0) and (.gridPos | .x >= 0 and .w >= 1 and .x + .w <= 24 and .h >= 1))
        and all(.panels[] | select(.type != "row"); (.type | IN("timeseries", "stat")) and .datasource.uid == "${datasource}"
            and (.targets | length > 0) and ([.targets[].refId] | length == (unique | length))
            and all(.targets[]; (.expr | length > 0) and .datasource.uid == "${datasource}"))' "$DASHBOARD"
    # No two panels lie on each other.
    jq -e '[.panels[].gridPos | {y: range(.y; .y + .h), x: range(.x; .x + .w)}] | length == (unique | length)' "$DASHBOARD"
    # No variable is used that there is not.
    [ "$(expressions | grep -o '\$[a-z_]*' | sort -u | xargs)" = "\$__rate_interval \$instance" ]
}

@test "what the dashboard and the rules ask for is what the daemons tell" {
    local name port
    while read -r _ port; do metrics_of "$port"; done < <(daemons) | sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' | sort -u >"$BATS_TEST_TMPDIR/told"
    { expressions; sed -n 's/^ *expr: //p' "$OURS/everflow.rules.yml"; } | grep -o 'everflow_[a-z_]*' | sort -u >"$BATS_TEST_TMPDIR/asked"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/asked")" -gt 40 ]
    while read -r name; do
        grep -qx "$name" "$BATS_TEST_TMPDIR/told" || { echo "nobody tells $name"; false; }
    done <"$BATS_TEST_TMPDIR/asked"
}

n_traces() { efctl status --json | jq '[.analyzers[].traces_closed] | add'; }
has_traces() { [ "$(n_traces)" -ge "$1" ]; }

# The series of all daemons.
series() {
    local port
    while read -r _ port; do metrics_of "$port"; done < <(daemons) | grep -v '^#' | sed 's/ [^ ]*$//' | sort -u
}

@test "there is no series of a flow or a pair: their number does not grow with traffic" {
    local before
    series >"$BATS_TEST_TMPDIR/first"
    before=$(n_traces)
    wait_until 120 has_traces $((before + 300))
    series >"$BATS_TEST_TMPDIR/second"
    run -0 comm -13 "$BATS_TEST_TMPDIR/first" "$BATS_TEST_TMPDIR/second"
    echo "$output"
    [ "$(sed '/^$/d' <<<"$output" | wc -l)" -lt 30 ] # A port or a link that had not been used.
    run -1 grep -E '\{.*(src|dst|sport|dport|flow|id)="' "$BATS_TEST_TMPDIR/second"
    # Host's addresses are in none; switches' are.
    run -1 grep -E '"10\.[1-9][0-9]?\.0\.' "$BATS_TEST_TMPDIR/second"
}

@test "the alert rules hold their tests, and each has one" {
    cd "$BATS_TEST_TMPDIR"
    cp "$OURS/everflow.rules.yml" "$EF_SOURCE/test/system/everflow.rules.test.yml" .
    run -0 promtool check rules everflow.rules.yml
    run -0 promtool test rules everflow.rules.test.yml
    local alert
    while read -r alert; do
        [ "$(grep -c "alertname: $alert\b" everflow.rules.test.yml)" -ge 2 ] || { echo "$alert has no test"; false; }
        grep -q "^| .$alert." "$EF_SOURCE/doc/operations.md" || { echo "$alert is not in doc/operations.md"; false; }
    done < <(sed -n 's/^ *- alert: //p' everflow.rules.yml)
}

@test "in Prometheus all rules are evaluated, and nothing is firing that says a daemon is down" {
    rules_ok() { ask rules | jq -e '[.data.groups[].rules[]] | length == 15 and all(.[]; .health == "ok")' >/dev/null; }
    wait_until 90 rules_ok || { ask rules | jq '.data.groups[].rules[] | [.name, .health, .lastError]'; false; }
    run -0 ask rules
    jq -e '[.data.groups[].rules[] | select(.name | test("Down|Unreachable|Refuses|Lost|NoActive")) | select(.state == "firing") | .name] == []' <<<"$output"
}
