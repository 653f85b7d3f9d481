#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of any daemon, under changes and questions.

    test/soak/kill_everything.py --build _build --ovs _build/ovs/install [--kills 200] [--seed 1]     (as root)

Daemons (suite_lab.py): controllers, a cluster of three database servers, switches'
ovsdb-servers and ovs-vswitchds, analyzer, reshuffler. One of them is killed after
the other, in an order and at times that the seed says, while switches, webhooks,
rules and counters are added and removed, alerts raised and acknowledged, and traces
asked for. Checked after each: what was acknowledged is there, what was removed is
gone, and each switch has the row and the rules that it should have, also one that
came back empty or was changed by hand while nobody looked. At the end a majority
of the cluster is taken away: nothing may be acknowledged then. Prints TAP, figures
as comments. All is in a folder of its own, which is gone at the end.

Meant are 2 s from the return to the right configuration and 3 s without answers
when a leader dies; on a busy machine 15 s are allowed.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time

from suite_lab import Failed, Lab, ask, ovsdb, wait_for

ALLOWED_S = 15
CONFIGURED_S, CONTINUED_S = 2, 3  # What is meant.
MAX_EACH = 6  # Things of a kind at a time.
KEPT = ("switch", "webhook", "rules")
KINDS = (*KEPT, "counter")  # These are also with the analyzer, which gets them within seconds.
ROLES = {"c": "standby controller", "n": "follower", "s": "switch's database", "s-vswitchd": "ovs-vswitchd",
         "a": "analyzer", "r": "reshuffler"}  # By the name without its number.
PATHS = {"switch": "/v1/switches", "webhook": "/v1/webhooks", "rules": "/v1/rules", "counter": "/v1/counters"}


def body_of(kind, name, number):
    return {
        "switch": {"name": name, "ovsdb": f"unix:/nowhere/{name}", "source_ip": f"fd00::{number:x}"},
        "webhook": {"name": name, "url": f"http://127.0.0.1:9/{name}", "kinds": ["none"]},
        "rules": {"name": name, "switches": ["s1", "s2"], "duration_s": 86400,
                  "rules": [{"name": "a", "match": f"tcp,tp_dst={number % 60000 + 1}"}]},
        "counter": {"name": name, "filter": f"tcp.dstport == {number % 60000 + 1}"},
    }[kind]


def names_in(kind, answer):
    key = {"switch": "switches", "webhook": "webhooks", "rules": "rule_sets", "counter": "counters"}[kind]
    return {entry["name"] for entry in answer[key]}


class Changer(threading.Thread):
    """Changes things and remembers what was acknowledged. `lock` is held for each change."""

    def __init__(self, lab, seed):
        super().__init__(daemon=True)
        self.lab, self.random = lab, random.Random(seed)
        self.lock, self.stopped = threading.Lock(), threading.Event()
        self.number, self.n_acknowledged = 0, 0
        self.there = {kind: set() for kind in KINDS}    # Acknowledged.
        self.gone = {kind: set() for kind in KINDS}     # Acknowledged to be removed.
        self.unsure = {kind: set() for kind in KINDS}   # No answer, or one that does not know.
        self.alerts = {}                                # By id, who acknowledged it.
        self.last_acknowledged = 0.0                    # When the request began whose answer came.
        self.failed = None

    def run(self):
        try:
            while not self.stopped.is_set():
                with self.lock:
                    self.change()
                time.sleep(self.random.uniform(0, 0.03))
        except Exception as error:  # Told by the main thread.
            self.failed = error

    def ask_active(self, method, target, body=None):
        """The answer of the controller that acts, or the last of those that do not."""
        status, answer = 0, None
        for name in self.lab.controllers:
            if self.lab.daemons[name].is_alive():
                began = time.monotonic()
                status, answer = ask(self.lab.socket_of(name), method, target, body)
                if status and status != 503:
                    if status < 300 and method != "GET":
                        self.last_acknowledged = began
                        self.n_acknowledged += 1
                    return status, answer
                if status != 503 or "nothing was changed" not in answer["error"]["message"]:
                    return 0, answer  # It may have been.
        return status, answer

    def change(self):
        kind = self.random.choice((*KINDS, "alert"))
        if kind == "alert":
            self.change_alert()
        elif len(self.there[kind]) < MAX_EACH and self.random.random() < 0.6:
            self.add(kind)
        elif self.there[kind]:
            self.remove(kind, self.random.choice(sorted(self.there[kind])))

    def add(self, kind):
        self.number += 1
        name = f"{kind}{self.number}"
        status, answer = self.ask_active("POST", PATHS[kind], body_of(kind, name, self.number))
        if status == 201:
            self.there[kind].add(name)
        elif status in (0, 500):
            self.unsure[kind].add(name)
        elif status != 503:
            raise Failed(f"{kind} {name} was refused: {status} {answer}")

    def remove(self, kind, name):
        status, answer = self.ask_active("DELETE", f"{PATHS[kind]}/{name}")
        if status == 200:
            self.gone[kind].add(name)
        elif status in (0, 500):
            self.unsure[kind].add(name)
        elif status != 503:
            raise Failed(f"{kind} {name} was not removed: {status} {answer}")
        if status != 503:
            self.there[kind].discard(name)

    def change_alert(self):
        """A link goes down or comes back; who sees its alert acknowledges it."""
        self.lab.set_link(self.random.choice(("up", "down")))
        status, answer = self.ask_active("GET", "/v1/alerts?state=open")
        for alert in answer["alerts"] if status == 200 else ():
            by = f"person {self.number}"
            status, _ = self.ask_active("POST", f"/v1/alerts/{alert['id']}/acknowledge", {"by": by})
            if status == 200:
                self.alerts[alert["id"]] = by

    # --- Looking ------------------------------------------------------------

    def missing(self, kinds):
        """What is not as it was acknowledged, in words; empty: nothing."""
        wrong = []
        for kind in kinds:
            status, answer = self.ask_active("GET", PATHS[kind])
            if status != 200:
                return [f"no answer about {kind}: {status}"]
            names = names_in(kind, answer)
            wrong += [f"{name} is lost" for name in self.there[kind] - names]
            wrong += [f"{name} is there again" for name in (self.gone[kind] - self.unsure[kind]) & names]
        status, answer = self.ask_active("GET", "/v1/alerts")
        shown = {alert["id"]: alert for alert in answer["alerts"]} if status == 200 else {}
        wrong += [f"alert {i}: acknowledged by {by}, not so any more" for i, by in self.alerts.items()
                  if shown.get(i, {}).get("acknowledged_by") != by]
        return wrong

    def settle(self):
        """What nobody was sure of is as it is found; counters are shown as analyzers have them, which is not sure."""
        for kind in KEPT:
            status, answer = self.ask_active("GET", PATHS[kind]) if self.unsure[kind] else (0, None)
            if status == 200:
                found = names_in(kind, answer)
                self.there[kind] |= self.unsure[kind] & found
                self.gone[kind] |= self.unsure[kind] - found
                self.unsure[kind].clear()

    def is_configured(self, name):
        """Whether the switch has the Everflow row and the rules that it should."""
        answer = ovsdb(self.lab.socket_of(name),
                       {"op": "select", "table": "Open_vSwitch", "where": [], "columns": ["everflow"]},
                       {"op": "select", "table": "Everflow", "where": []},
                       {"op": "select", "table": "Everflow_Rule", "where": [], "columns": ["name"]})
        if not answer or not answer[0]["rows"] or answer[0]["rows"][0]["everflow"][0] != "uuid":
            return False
        row = next((r for r in answer[1]["rows"] if r["_uuid"] == answer[0]["rows"][0]["everflow"]), None)
        rules = {r["name"].split("/")[1] for r in answer[2]["rows"]}
        wanted = self.there["rules"] if name in self.lab.reals else set()
        return (row is not None and row["truncate"] == 0 and row["encap"] == "erspan3"
                and row["targets"] == "10.255.255.1" and sorted(row["classes"][1]) == ["debug", "tcp_syn"]
                and wanted <= rules <= wanted | self.unsure["rules"])


class Reader(threading.Thread):
    """Asks both controllers all the time; the longest while in which neither answered."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.lab, self.stopped = lab, threading.Event()
        self.n_answers, self.last = 0, time.monotonic()
        self.gaps = []  # (when it ended, how long)

    def run(self):
        targets = ("/v1/traces?limit=5&format=json", "/v1/switches", "/v1/alerts")
        while not self.stopped.is_set():
            for name in self.lab.controllers:
                status, _ = ask(self.lab.socket_of(name), "GET", targets[self.n_answers % len(targets)], timeout=5)
                if status == 200:
                    now = time.monotonic()
                    self.gaps.append((now, now - self.last))
                    self.n_answers += 1
                    self.last = now
            time.sleep(0.02)

    def longest_since(self, start):
        return max((gap for end, gap in self.gaps if end > start), default=0.0)


class Soak:
    def __init__(self, lab, kills, seed):
        self.lab, self.kills, self.random = lab, kills, random.Random(seed)
        self.changer, self.reader = Changer(lab, seed + 1), Reader(lab)
        self.configured, self.writes, self.reads = [], [], []  # Seconds.
        self.killed = {}

    def disturb(self, name, nobody_looks):
        """While it is away, what it should come back from: an empty database, or somebody's hand."""
        if name in self.lab.reals and self.random.random() < 0.5:
            self.lab.renew_database(name)
        elif nobody_looks:
            ovsdb(self.lab.socket_of("s2"), {"op": "update", "table": "Everflow", "where": [], "row": {"truncate": 77}})

    def writes_go_on(self, died):
        wait_for("a change to be acknowledged again", ALLOWED_S, lambda: self.changer.last_acknowledged > died)
        return time.monotonic() - died

    def kill_one(self):
        name = self.random.choice(sorted(self.lab.daemons))
        was_leader = name in self.lab.nodes and self.lab.leader() == name
        was_active = name in self.lab.controllers and role_of(self.lab, name) == "active"
        time.sleep(self.random.uniform(0, 0.3))
        daemon = self.lab.daemons[name]
        daemon.kill()
        died = time.monotonic()
        kind = "leader" if was_leader else "active controller" if was_active else ROLES[name[0] + name[2:]]
        self.killed[kind] = self.killed.get(kind, 0) + 1
        if was_leader or was_active:
            self.writes.append(self.writes_go_on(died))
            self.reads.append(self.reader.longest_since(died))
        self.disturb(name, was_leader or was_active)
        time.sleep(self.random.uniform(0, 0.3))
        daemon.start()
        with self.changer.lock:
            self.look(name)

    def look(self, name):
        back, switches = time.monotonic(), (*self.lab.reals, self.lab.hollow)
        try:
            wait_for(f"the switches' configuration after {name} came back", ALLOWED_S,
                     lambda: all(self.changer.is_configured(s) for s in switches))
            self.configured.append(time.monotonic() - back)
            wait_for(f"all that was acknowledged after {name} came back", ALLOWED_S,
                     lambda: not self.changer.missing(KEPT))
        except Failed as failure:
            raise Failed(f"{failure}; missing: {self.changer.missing(KINDS)}; not configured: "
                         f"{[s for s in switches if not self.changer.is_configured(s)]}") from failure
        self.changer.settle()

    def loop(self):
        self.changer.start()
        self.reader.start()
        wait_for("the first changes", 30, lambda: self.changer.n_acknowledged > 5 or self.changer.failed)
        for _ in range(self.kills):
            if self.changer.failed:
                break
            self.kill_one()
        self.changer.stopped.set()
        self.changer.join(60)
        if self.changer.failed:
            raise self.changer.failed

    def finish(self):
        try:
            wait_for("all that was acknowledged", 30, lambda: not self.changer.missing(KINDS))
        except Failed as failure:
            raise Failed(f"{failure}: {self.changer.missing(KINDS)}") from failure

    def take_majority_away(self):
        """Of three servers one is left: nothing is acknowledged, questions are answered."""
        for name in self.lab.nodes[:2]:
            self.lab.daemons[name].kill()
        wait_for("changes to be refused", 30, lambda: self.refusals() == [503, 503])
        if any(ask(self.lab.socket_of(name), "GET", "/v1/switches")[0] != 200 for name in self.lab.controllers):
            raise Failed("a minority leaves questions without answers")
        for name in self.lab.nodes[:2]:
            self.lab.daemons[name].start()
        wait_for("changes to be taken again", 30, lambda: 201 in self.refusals())
        self.finish()

    def refusals(self):
        """What both controllers say to a change, which is none that counts."""
        self.changer.number += 1
        body = body_of("webhook", f"minority{self.changer.number}", 0)
        return [ask(self.lab.socket_of(name), "POST", "/v1/webhooks", body)[0] for name in self.lab.controllers]


def role_of(lab, name):
    _, answer = ask(lab.socket_of(name), "GET", "/v1/status")
    return answer["state"]["role"] if answer else None


def wait_for_begin(lab):
    wait_for("an active controller", 30, lambda: "active" in [role_of(lab, name) for name in lab.controllers])


def figures(values, meant):
    if not values:
        return "-"
    return (f"{sorted(values)[len(values) // 2]:.2f} s (median), {max(values):.2f} s (worst), "
            f"{sum(v > meant for v in values)} of {len(values)} later than {meant} s")


def report(soak):
    print(f"# killed: {', '.join(f'{k} {n}' for k, n in sorted(soak.killed.items()))}")
    print(f"# {soak.changer.n_acknowledged} changes acknowledged, {len(soak.changer.alerts)} alerts of them; "
          f"{soak.reader.n_answers} questions answered")
    print(f"# switches configured after the return: {figures(soak.configured, CONFIGURED_S)}")
    print(f"# after the death of the cluster's leader or the active controller: a change acknowledged in "
          f"{figures(soak.writes, CONTINUED_S)}")
    print(f"# longest time without an answer to a question then: {figures(soak.reads, CONTINUED_S)}")


STEPS = (
    ("begun", lambda soak: (soak.lab.start(), wait_for_begin(soak.lab))),
    ("after each death all that was acknowledged is there, and switches are as they should be", Soak.loop),
    ("nothing that was acknowledged is lost", Soak.finish),
    ("a minority refuses changes and answers questions", Soak.take_majority_away),
)


def run_all(soak):
    """True if each step went well."""
    print(f"1..{len(STEPS)}", flush=True)
    for i, (what, step) in enumerate(STEPS, 1):
        try:
            step(soak)
        except Exception as error:
            print(f"not ok {i} - {what}\n# {type(error).__name__}: {error}", flush=True)
            return False
        print(f"ok {i} - {what}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="the build directory")
    parser.add_argument("--ovs", required=True, help="where the patched Open vSwitch is installed")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the folder with the logs behind")
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("kill_everything.py: must run as root (packet sockets)")
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    directory = tempfile.mkdtemp(prefix="ef-soak-")
    lab = Lab(source, os.path.abspath(options.build), os.path.abspath(options.ovs), directory,
              20000 + os.getpid() * 3 % 12000)
    soak = Soak(lab, options.kills, options.seed)
    try:
        is_well = run_all(soak)
        report(soak)
    finally:
        soak.changer.stopped.set()
        soak.reader.stopped.set()
        lab.stop()
        if options.keep:
            print(f"# logs: {directory}")
        else:
            shutil.rmtree(directory)
    sys.exit(not is_well)


if __name__ == "__main__":
    main()
