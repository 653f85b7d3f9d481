# SPDX-License-Identifier: Apache-2.0
"""The requests of the test that has the daemons give every documented answer
(every_response.py). A new path of the API needs an entry here for each of its
answers that do not follow from doc/openapi.json alone, which are

    400 for an unknown parameter, for a body that is no JSON or has an unknown field,
    404 for {name} or {id}, 413 for a large body, 405 for PATCH,
    401, 403, 429 of the controller, and its 503 for a change while it is not active.

So a path is mostly one entry: the request that is answered with yes.
"""
from dataclasses import dataclass, field
from typing import Callable, Optional, Union


@dataclass
class Ask:
    """`who` answers `request` with `status`. "{name}" in the request, its headers and
    its body stands for what an earlier answer said and `save` kept."""

    who: str
    request: str  # "GET /v1/status"
    status: int
    body: Union[None, bytes, dict] = None
    save: dict = field(default_factory=dict)  # {"name": [key or index, ...]} of the answer
    until: Optional[Callable] = None  # The answer that is waited for; with `waits`.
    waits: bool = False  # Asked again until it is answered so.
    times: int = 1  # Or so often at most, one after the other.
    is_over_budget: bool = False  # After so many others that no more may be asked.
    streams: int = 0  # While so many others make the same request and stay.
    headers: dict = field(default_factory=dict)


# Those whose every path is tried, and the other controllers: "guarded" wants tokens
# and "standby" is not active, "limited" has a small budget of requests. "small" is an
# analyzer without room for a topology, and of which no controller knows.
DAEMONS = ["controller", "analyzer", "reshuffler", "prober"]
ROLES = {
    **{name: name for name in DAEMONS},
    "guarded": "controller",
    "standby": "controller",
    "limited": "controller",
    "small": "analyzer",
}

C, A, R, P = DAEMONS
RULE = {"name": "pings", "match": "icmp", "action": "mirror"}
MANY_RULES = [{**RULE, "name": f"r{i}"} for i in range(600)]
SWITCH = {"name": "s9", "ovsdb": "unix:/nowhere/s9", "source_ip": "10.255.0.9"}
PROBE = {"packet": {"src": "h2", "dst": "h1"}}
DROP = {"app": "drop", "src": "h1", "dst": "h2", "proto": "tcp", "dst_port": 80, "deadline_s": 60}
DEBUG = {"servers": ["h1"], "filter": "udp.dstport == 53", "duration_s": 600}
ANALYZER = {"name": "a9", "address": "10.1.0.29"}

REQUESTS = {
    "up": [
        # Who asks. The viewer's token is for the guarded controller.
        Ask(C, "GET /v1/whoami", 200),
        Ask(C, "POST /v1/tokens", 201, {"name": "viewer", "role": "viewer"}, save={"viewer": ["token"]}),
        Ask(C, "POST /v1/tokens", 409, {"name": "viewer", "role": "viewer"}),
        Ask(C, "GET /v1/tokens", 200),
        Ask(C, "POST /v1/tokens", 201, {"name": "other", "role": "admin", "expires": "2100-01-01T00:00:00Z"}),
        Ask(C, "DELETE /v1/tokens/other", 200),
        Ask(C, "GET /v1/audit?limit=5", 200),
        Ask(C, "GET /v1/config", 200, until=lambda c: c["configuration"]["topology"] == "topology.json"),
        # How it is.
        Ask(C, "GET /v1/status", 200),
        Ask(A, "GET /v1/status", 200),
        Ask(R, "GET /v1/status", 200),
        Ask(P, "GET /v1/status", 200),
        Ask(C, "GET /metrics", 200),
        Ask(A, "GET /metrics", 200),
        Ask(R, "GET /metrics", 200),
        Ask(P, "GET /metrics", 200),
        Ask(A, "GET /v1/health", 200),
        Ask(A, "GET /v1/health?reshuffler=r1", 200),
        Ask(C, "GET /v1/openapi.json", 200),
        # Webhooks: one more than there can be; that of the configuration stays.
        Ask(C, "POST /v1/webhooks", 201, {"name": "pager", "url": "http://127.0.0.1:9/x", "kinds": ["drop"]}),
        Ask(C, "POST /v1/webhooks", 409, {"name": "pager", "url": "http://127.0.0.1:9/x"}),
        Ask(C, "POST /v1/webhooks", 400, {"url": "ftp://127.0.0.1/x"}),
        Ask(C, "GET /v1/webhooks", 200),
        Ask(C, "DELETE /v1/webhooks/configuration:0", 409),
        Ask(C, "DELETE /v1/webhooks/pager", 200),
        # Topology and switches.
        Ask(C, "GET /v1/topology", 200, save={"topology": []}),
        Ask(A, "GET /v1/topology", 200, waits=True),  # The controller sends it.
        Ask(A, "PUT /v1/topology", 400, {"name": 1}),
        Ask(A, "PUT /v1/topology", 200, "{topology}", waits=True),
        Ask("small", "GET /v1/topology", 404),
        Ask("small", "PUT /v1/topology", 409, {"name": "t"}),
        Ask(C, "GET /v1/switches", 200),
        Ask(C, "GET /v1/switches/s1", 200, until=lambda s: s["state"] == "configured", waits=True),
        Ask(C, "POST /v1/switches", 201, SWITCH),
        Ask(C, "POST /v1/switches", 409, SWITCH),
        Ask(C, "DELETE /v1/switches/s9", 200),
        Ask(C, "DELETE /v1/switches/s1", 409),
        # Traces.
        Ask(C, "GET /v1/traces?limit=3", 200, until=lambda t: t["count"] == 3),
        Ask(C, "GET /v1/traces?limit=3", 200, save={"cursor": ["next"]}),
        Ask(C, "GET /v1/traces?cursor={cursor}", 200),
        Ask(C, "GET /v1/traces?cursor=nosuch", 400),
        Ask(C, "GET /v1/traces?format=ndjson&explain=1", 200),
        Ask(C, "GET /v1/traces?format=pcapng", 200),
        Ask(C, "GET /v1/traces?format=parquet&analyzer=a1", 200),
        Ask(C, "GET /v1/traces?format=parquet&analyzer=nosuch", 400),
        Ask(C, "GET /v1/traces?filter=tcp.nosuch", 400),
        Ask(C, "GET /v1/traces?condition=trace.nosuch", 400),
        Ask(C, "GET /v1/traces?start=yesterday", 400),
        Ask(A, "GET /v1/traces?limit=3&explain=1", 200, until=lambda t: t["count"] == 3),
        Ask(A, "GET /v1/traces?format=ndjson", 200),
        # Counters, load, latency.
        Ask(C, "POST /v1/counters", 201, {"name": "web", "filter": "tcp.dstport == 80"}),
        Ask(C, "POST /v1/counters", 409, {"name": "web", "filter": "tcp.dstport == 81"}),
        Ask(C, "POST /v1/counters", 400, {"name": "wrong", "filter": "tcp.nosuch"}),
        Ask(C, "POST /v1/counters", 201, {"name": "named", "filter": "switch == s1 && trace.hops > 2"},
            until=lambda c: c["filter"].startswith("switch == 10.255.0.1 ")),
        Ask(C, "DELETE /v1/counters/named", 200),
        Ask(C, "GET /v1/counters", 200),
        Ask(C, "GET /v1/counters/web?start=-10m", 200),
        Ask(C, "GET /v1/counters/web?step=1m", 200, until=lambda c: c["interval_s"] == 60),
        Ask(C, "GET /v1/counters/web?step=15s", 400),
        Ask(C, "POST /v1/counters", 201, {"name": "by-switch", "group_by": "switch"}),
        Ask(C, "POST /v1/counters", 400, {"name": "wrong", "group_by": "prefix"}),
        Ask(C, "GET /v1/counters/by-switch?step=1m", 200, until=lambda c: c["groups"] == []),
        Ask(C, "DELETE /v1/counters/by-switch", 200),
        Ask(A, "GET /v1/counters", 200),
        Ask(A, "GET /v1/counters/web", 200),
        Ask(C, "DELETE /v1/counters/web", 200),
        Ask(A, "POST /v1/counters", 201, {"name": "own", "filter": "udp"}),
        Ask(A, "POST /v1/counters", 409, {"name": "own", "filter": "tcp"}),
        Ask(A, "DELETE /v1/counters/own", 200),
        Ask(C, "GET /v1/load", 200),
        Ask(A, "GET /v1/load?start=-5m", 200),
        Ask(C, "GET /v1/latency", 200),
        Ask(A, "GET /v1/latency", 200),
        # Where copies go.
        Ask(R, "GET /v1/analyzers", 200),
        Ask(R, "POST /v1/analyzers", 200, ANALYZER),
        Ask(R, "DELETE /v1/analyzers?name=nosuch", 404),
        Ask(R, "DELETE /v1/analyzers?name=a9", 200),
        Ask(R, "PUT /v1/analyzers", 200, {"analyzers": [ANALYZER]}),
        # Alerts: a link of the topology that a switch's database says is down.
        Ask(C, "GET /v1/alerts?kind=link", 200, save={"alert": ["alerts", 0, "id"]}, waits=True),
        Ask(C, "GET /v1/alerts?state=nosuch", 400),
        Ask(C, "GET /v1/alerts/{alert}", 200),
        Ask(C, "POST /v1/alerts/{alert}/acknowledge", 200, {"by": "somebody"}),
        Ask(C, "POST /v1/alerts/{alert}/acknowledge", 400, {"by": 1}),
        Ask(C, "POST /v1/alerts/{alert}/resolve", 400, {"by": 1}),
        Ask(C, "POST /v1/alerts/{alert}/resolve", 200, {"why": "by hand"}),
        Ask(C, "POST /v1/alerts/{alert}/acknowledge", 409),
        Ask(C, "GET /v1/events", 200, headers={"Last-Event-ID": "0"}),
        Ask(C, "GET /v1/events", 400, headers={"Last-Event-ID": "nosuch"}),
        Ask(C, "GET /v1/events", 503, streams=64, waits=True),
        # Diagnoses.
        Ask(C, "POST /v1/diagnoses", 404, {**DROP, "src": "nosuch"}),
        Ask(C, "POST /v1/diagnoses", 202, DROP, save={"diagnosis": ["id"]}),
        Ask(C, "GET /v1/diagnoses", 200),
        Ask(C, "GET /v1/diagnoses/{diagnosis}", 200),
        Ask(C, "POST /v1/diagnoses", 409, DROP, times=100),
        Ask(C, "DELETE /v1/diagnoses/{diagnosis}", 200),
        # Probes: the controller's prober does not answer, so that orders wait.
        Ask(C, "POST /v1/probes", 202, PROBE, save={"probe": ["id"]}),
        Ask(C, "POST /v1/probes", 404, {**PROBE, "prober": "nosuch"}),
        Ask(C, "GET /v1/probes", 200),
        Ask(C, "GET /v1/probes/{probe}", 200),
        Ask(C, "POST /v1/probes", 409, PROBE, times=1000),
        Ask(C, "DELETE /v1/probes/{probe}", 200),
        Ask(P, "POST /v1/probes", 201, {**PROBE, "id": "00000000000000ab", "count": 2}),
        Ask(P, "POST /v1/probes", 403, {"packet": {"dst": "192.0.2.1"}}),
        Ask(P, "POST /v1/probes", 409, {**PROBE, "id": "00000000000000ab", "count": 3}),
        Ask(P, "GET /v1/probes", 200),
        Ask(P, "GET /v1/probes/00000000000000ab", 200),
        Ask(P, "DELETE /v1/probes/00000000000000ab", 200),
        # Debug sessions: the switch of h1 says what it carries, little enough to admit as many as there can be.
        Ask(C, "POST /v1/debug", 201, DEBUG, save={"debug": ["id"]}),
        Ask(C, "POST /v1/debug", 400, {**DEBUG, "filter": "tcp.nosuch"}),
        Ask(C, "GET /v1/debug", 200),
        Ask(C, "GET /v1/debug/{debug}", 200),
        Ask(C, "POST /v1/debug", 409, DEBUG, times=100),
        Ask(C, "DELETE /v1/debug/{debug}", 200),
        # Rules for a time.
        Ask(C, "POST /v1/rules", 201, {"name": "pings", "switches": ["s1"], "rules": [RULE]}),
        Ask(C, "GET /v1/rules", 200),
        Ask(C, "POST /v1/rules", 201, {"name": "many", "rules": MANY_RULES}),
        Ask(C, "POST /v1/rules", 409, {"name": "more", "rules": MANY_RULES}),
        Ask(C, "DELETE /v1/rules/many", 200),
        Ask(C, "DELETE /v1/rules/pings", 200),
    ],
    "guarded": [],
    "limited": [],
    "standby": [
        Ask("standby", "GET /v1/status", 200),
    ],
    # No analyzer answers.
    "alone": [
        Ask(C, "GET /v1/traces?format=parquet&analyzer=a1", 503),
        Ask(C, "GET /v1/traces", 200, until=lambda t: len(t["incomplete"]) == 2),
        Ask(C, "GET /v1/status", 200, until=lambda s: s["analyzers"][0]["state"] == "down"),
        Ask(C, "GET /v1/counters", 503),
        Ask(C, "GET /v1/counters/web", 503),
        Ask(C, "GET /v1/load", 503),
        Ask(C, "GET /v1/latency", 503),
    ],
}
