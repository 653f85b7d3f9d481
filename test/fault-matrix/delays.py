#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small delays on one link of a running fabric: is that link found and no other, and
how exact is what it adds? `delays` starts the fabric and the suite.

One run after the other, in an order and at places that the seed says: a delay is put on
one direction of one link (none for --us 0), `latency` is ordered between two hosts,
the delay is cleared. A line of JSON each, appended to --results; with --table FILE
nothing runs, and a table (Markdown) of what the file has is printed."""
import argparse
import json
import os
import random
import statistics
import sys
import time

import plan
from suite import Suite

LEARN_S, VERDICT_S, QUIET_S, LOOK_S = 300, 120, 60, 0.3
LEAST_US, PART = 20, 0.1  # An error of so much, or such a part of the delay, is meant.


def wait_for(what, is_so, seconds):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"delays: gave up waiting for {what} ({seconds} s)")
        time.sleep(LOOK_S)


def links_of(topology):
    """[(switch, next switch)]: both directions of each link between switches."""
    names = {s["name"] for s in topology["switches"]}
    return [(s["name"], p["peer"]["node"]) for s in topology["switches"] for p in s["ports"] if p["peer"]["node"] in names]


def hosts_of(topology):
    """{leaf: its first ordinary host}"""
    hosts = {}
    for host in topology["hosts"]:
        if host["role"] == "host":
            hosts.setdefault(host["switch"], host["name"])
    return hosts


def is_learned(suite):
    watch = (suite.ask("/v1/status") or {}).get("link_watch") or {}
    return watch.get("links") and watch.get("learned") == watch.get("links")


def is_quiet(suite):
    return not [a for a in suite.alerts() if a["kind"] == "latency" and a["state"] != "resolved"]


def run_one(suite, at, delay_us, hosts, source):
    leaf = at[0] if at[0] in hosts else at[1]
    destination = source.choice([name for name in hosts if name != leaf])
    if delay_us:
        suite.fabric("fault", "add", "--kind", "delay", "--at", ":".join(at), "--delay", f"{delay_us}us")
    start = time.monotonic()
    order = suite.ask("/v1/diagnoses", {"app": "latency", "src": hosts[leaf], "dst": hosts[destination]})
    document = order
    while document and document["state"] == "running" and time.monotonic() - start < VERDICT_S:
        time.sleep(LOOK_S)
        document = suite.diagnosis(order["id"])
    took = time.monotonic() - start
    suite.fabric("fault", "clear", "all")
    verdict = (document or {}).get("verdict") or {}
    details, link = verdict.get("details") or {}, verdict.get("link") or {}
    return {"us": delay_us, "at": at, "state": (document or {}).get("state", "refused"), "kind": verdict.get("kind"),
            "link": sorted([link.get("from") or "", link.get("to") or ""]), "device": verdict.get("device"),
            "added_us": details.get("added_us"), "interval_us": details.get("interval_us"),
            "noise_floor_us": details.get("noise_floor_us"), "took_s": round(took, 1), "load": os.getloadavg()[0]}


def run_all(options):
    suite = Suite(options.controller, options.ef_fabric, options.fabric)
    topology = suite.topology()
    links, hosts, source = links_of(topology), hosts_of(topology), random.Random(options.seed)
    suite.fabric("fault", "clear", "all")
    print("learning the links", flush=True)
    wait_for("the links to be learned", lambda: is_learned(suite), LEARN_S)
    plan.cut_half_line(options.results)
    with open(options.results, "a", encoding="utf-8") as file:
        for number in range(1, options.places + 1):
            for delay_us in options.us:
                result = run_one(suite, list(source.choice(links)), delay_us, hosts, source)
                file.write(json.dumps({"number": number, "seed": options.seed, **result}) + "\n")
                file.flush()
                print(number, json.dumps(result), flush=True)
                wait_for("latency alerts to end", lambda: is_quiet(suite), QUIET_S)


def is_right(result):
    return result["kind"] == "latency" and result["link"] == sorted(result["at"])


def spread(numbers):
    return f"{statistics.median(numbers):.0f}; {min(numbers):.0f} to {max(numbers):.0f}" if numbers else "-"


def line_of(delay_us, results):
    named = [r for r in results if r["kind"] == "latency"]
    right = [r for r in named if is_right(r)]
    errors = [abs(r["added_us"] - delay_us) for r in right]
    within = sum(e <= max(LEAST_US, PART * delay_us) for e in errors)
    inside = sum(r["interval_us"][0] <= delay_us <= r["interval_us"][1] for r in right)
    ways = [sum(r["device"] == r["at"][0] for r in right), sum(r["device"] is None for r in right)]
    ways.append(len(right) - sum(ways))
    floors = [r["noise_floor_us"] for r in results if r["noise_floor_us"] is not None]
    times = [r["took_s"] for r in results]
    error = f"{statistics.median(errors):.0f} / {max(errors):.0f}" if errors else "-"
    return (f"| {delay_us} us | {len(results)} | {len(right)} | {len(named) - len(right)} | {within} | {error} | {inside} | "
            f"{' / '.join(map(str, ways))} | {spread(floors)} | {statistics.median(times):.1f} / {max(times):.1f} |")


def table(path):
    results = [r for r in plan.read(path) if r["state"] == "done"]
    loads = [r["load"] for r in results]
    print("| delay | places | the link | another | within 10 % or 20 us | error (median / worst), us | within the interval that was said | "
          "direction right / not told / wrong | noise floor that was said (median; least to most), us | s to the verdict (median / worst) |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for delay_us in sorted({r["us"] for r in results}, reverse=True):
        print(line_of(delay_us, [r for r in results if r["us"] == delay_us]))
    print(f"\nProcesses that wanted the processors: {spread(loads)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fabric", default="efdelays")
    parser.add_argument("--controller", default="http://127.0.0.1:8780")
    parser.add_argument("--ef-fabric", default="ef-fabric")
    parser.add_argument("--us", type=lambda text: [int(n) for n in text.split(",")], default=[1000, 200, 50, 0], metavar="N,N...")
    parser.add_argument("--places", type=int, default=15, help="of each delay")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", default="delays.jsonl")
    parser.add_argument("--table", metavar="FILE")
    options = parser.parse_args()
    if options.table:
        table(options.table)
    else:
        run_all(options)
        table(options.results)


if __name__ == "__main__":
    sys.exit(main())
