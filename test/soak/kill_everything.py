#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of any daemon, under changes and questions.

    test/soak/kill_everything.py --build _build --ovs _build/ovs/install [--kills 200] [--seed 1]     (as root)

Daemons (suite_lab.py): controllers, a cluster of three database servers, switches'
ovsdb-servers and ovs-vswitchds, analyzer, reshuffler. One of them is killed after
the other, in an order and at times that the seed says, while switches, webhooks,
rules, counters and debug sessions are added and removed, alerts raised and acknowledged,
and traces asked for. Checked after each: what was acknowledged is there, what was removed is
gone, and each switch has the row, the rules and the marks of debug sessions that it should have, also one that
came back empty or was changed by hand while nobody looked. Then the active controller
is killed under a debug session, which the other one must show, end on time, and end when
asked to. At the end a majority of the cluster is taken away: nothing may be acknowledged then. Prints TAP, figures
as comments. All is in a folder of its own, which is gone at the end.

Meant are 2 s from the return to the right configuration and 3 s without answers
when a leader dies; on a busy machine 30 s are allowed.
"""
import argparse
import datetime
import os
import random
import shutil
import sys
import tempfile
import threading
import time

from suite_lab import Failed, Lab, ask, ovsdb, wait_for

ALLOWED_S = 30
CONFIGURED_S, CONTINUED_S = 2, 3  # What is meant.
MAX_EACH = 6  # Things of a kind at a time.
MAX_SESSIONS = 3
# A session is measured for before it is acknowledged, with numbers that switches write every 5 s.
MEASURED_S = 45
SESSION_S = 20  # Of one that ends by itself: longer than a controller takes to take over.
KEPT = ("switch", "webhook", "rules", "debug")
KINDS = (*KEPT, "counter")  # These are also with the analyzer, which gets them within seconds.
ROLES = {"c": "standby controller", "n": "follower", "s": "switch's database", "s-vswitchd": "ovs-vswitchd",
         "a": "analyzer", "r": "reshuffler"}  # By the name without its number.
PATHS = {"switch": "/v1/switches", "webhook": "/v1/webhooks", "rules": "/v1/rules", "counter": "/v1/counters",
         "debug": "/v1/debug"}


def body_of(kind, name, number):
    return {
        "switch": {"name": name, "ovsdb": f"unix:/nowhere/{name}", "source_ip": f"fd00::{number:x}"},
        "webhook": {"name": name, "url": f"http://127.0.0.1:9/{name}", "kinds": ["none"]},
        "rules": {"name": name, "switches": ["s1", "s2"], "duration_s": 86400,
                  "rules": [{"name": "a", "match": f"tcp,tp_dst={number % 60000 + 1}"}]},
        "counter": {"name": name, "filter": f"tcp.dstport == {number % 60000 + 1}"},
        "debug": {"servers": ["h1", "h2"], "filter": f"ip && udp.dstport == {number}", "duration_s": 86400},
    }[kind]


def name_of_session(session):
    """Who asks for one gives it no name: each has a port of its own."""
    return f"debug{session['filter'].split()[-1]}"


def mark_of(row):
    """The debug session that a rule is of, by the port that it matches."""
    return f"debug{row['match'].rpartition('=')[2]}"


def names_in(kind, answer):
    if kind == "debug":
        return {name_of_session(session) for session in answer["sessions"]}
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
        self.debugger = Debugger(self, seed)
        self.failed = None

    def run(self):
        try:
            while not self.stopped.is_set():
                with self.lock:
                    self.change()
                time.sleep(self.random.uniform(0, 0.03))
        except Exception as error:  # Told by the main thread.
            self.failed = error

    def ask_active(self, method, target, body=None, timeout=8):
        """The answer of the controller that acts, or the last of those that do not."""
        status, answer = 0, None
        for name in self.lab.controllers:
            if self.lab.daemons[name].is_alive():
                began = time.monotonic()
                status, answer = ask(self.lab.socket_of(name), method, target, body, timeout)
                if status and status != 503:
                    if status < 300 and method != "GET":
                        self.last_acknowledged = began
                        self.n_acknowledged += 1
                    return status, answer
                if status != 503 or "nothing was changed" not in answer["error"]["message"]:
                    return 0, answer  # It may have been.
        return status, answer

    def change(self):
        kind = self.random.choice(("switch", "webhook", "rules", "counter", "alert"))
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

    def remove(self, kind, name, key=lambda name: name):
        status, answer = self.ask_active("DELETE", f"{PATHS[kind]}/{key(name)}")
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
            unsure = set(self.unsure[kind])  # As it is now: the debugger goes on.
            status, answer = self.ask_active("GET", PATHS[kind]) if unsure else (0, None)
            if status == 200:
                found = names_in(kind, answer)
                if kind == "debug":
                    self.debugger.ids |= {name_of_session(s): s["id"] for s in answer["sessions"]}
                self.there[kind] |= unsure & found
                self.gone[kind] |= unsure - found
                self.unsure[kind] -= unsure

    def is_configured(self, name):
        """Whether the switch has the Everflow row and the rules that it should."""
        answer = ovsdb(self.lab.socket_of(name),
                       {"op": "select", "table": "Open_vSwitch", "where": [], "columns": ["everflow"]},
                       {"op": "select", "table": "Everflow", "where": []},
                       {"op": "select", "table": "Everflow_Rule", "where": [],
                        "columns": ["name", "action", "match"]})
        if not answer or not answer[0]["rows"] or answer[0]["rows"][0]["everflow"][0] != "uuid":
            return False
        row = next((r for r in answer[1]["rows"] if r["_uuid"] == answer[0]["rows"][0]["everflow"]), None)
        rules = {r["name"].split("/")[1] for r in answer[2]["rows"] if r["name"].startswith("@operator/")}
        marks = {mark_of(r) for r in answer[2]["rows"] if r["action"] == "mark"}
        wanted, sessions = (self.there["rules"], self.there["debug"]) if name in self.lab.reals else (set(), set())
        return (row is not None and row["truncate"] == 0 and row["encap"] == "erspan3"
                and row["targets"] == "10.255.255.1" and sorted(row["classes"][1]) == ["debug", "tcp_syn"]
                and wanted <= rules <= wanted | self.unsure["rules"]
                and sessions <= marks <= sessions | self.unsure["debug"] | {self.debugger.asked})


class Debugger(threading.Thread):
    """Enables debug sessions and disables them, beside the changer: each waits until it was measured for."""

    def __init__(self, changer, seed):
        super().__init__(daemon=True)
        self.changer, self.random = changer, random.Random(seed)
        self.stopped, self.failed = threading.Event(), None
        self.number, self.n_acknowledged = 0, 0
        self.ids = {}      # By name, of those that were acknowledged.
        self.asked = None  # The name of one whose answer has not come.

    def run(self):
        try:
            while not self.stopped.wait(self.random.uniform(0, 1)):
                there = sorted(self.changer.there["debug"] & self.ids.keys())
                if there and (len(there) >= MAX_SESSIONS or self.random.random() < 0.4):
                    self.changer.remove("debug", self.random.choice(there), lambda name: self.ids[name])
                else:
                    self.enable()
        except Exception as error:  # Told by the main thread.
            self.failed = error

    def enable(self, **fields):
        """The answer if it was acknowledged, or None."""
        self.number += 1
        name = f"debug{self.number}"
        self.asked = name
        status, answer = self.changer.ask_active(
            "POST", PATHS["debug"], {**body_of("debug", name, self.number), **fields}, timeout=MEASURED_S)
        if status == 201:
            self.ids[name] = answer["id"]
            self.changer.there["debug"].add(name)
            self.n_acknowledged += 1
        elif status in (0, 500):
            self.changer.unsure["debug"].add(name)
        elif status != 503:
            raise Failed(f"{name} was refused: {status} {answer}")
        self.asked = None
        return answer if status == 201 else None


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
        self.debugger = self.changer.debugger
        self.configured, self.writes, self.reads, self.ends = [], [], [], []  # Seconds.
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
        self.debugger.start()
        self.reader.start()
        wait_for("the first changes", 30, lambda: self.changer.n_acknowledged > 5 or self.failure())
        wait_for("the first debug session", 2 * MEASURED_S, lambda: self.debugger.n_acknowledged or self.failure())
        for _ in range(self.kills):
            if self.failure():
                break
            self.kill_one()
        for thread in (self.changer, self.debugger):
            thread.stopped.set()
        self.changer.join(60)
        self.debugger.join(2 * MEASURED_S)
        if self.failure():
            raise self.failure()

    def failure(self):
        return self.changer.failed or self.debugger.failed

    def session_of_its_own(self, **fields):
        """Enables one of `fields`, of which the switches have the marks: what was answered."""
        answers = []

        def try_it():
            answer = self.debugger.enable(**fields)
            if answer:
                answers.append(answer)
            return answers
        wait_for("a debug session to be acknowledged", 2 * MEASURED_S, try_it)
        wait_for("its marks", ALLOWED_S, lambda: all(self.changer.is_configured(s) for s in self.lab.reals))
        return answers[0]

    def take_over(self):
        """Kills the active controller and starts it again as soon as the other one is: the names of both."""
        active = next(name for name in self.lab.controllers if role_of(self.lab, name) == "active")
        other = next(name for name in self.lab.controllers if name != active)
        self.lab.daemons[active].kill()
        wait_for(f"{other} to take over", ALLOWED_S, lambda: role_of(self.lab, other) == "active")
        return active, other

    def hand_sessions_over(self):
        """The other controller shows a session, has its marks put and ends it when asked to."""
        session = self.session_of_its_own()
        active, other = self.take_over()
        path, target = self.lab.socket_of(other), f"{PATHS['debug']}/{session['id']}"

        def shown():
            _, answer = ask(path, "GET", target)
            return (answer and all(answer.get(key) == session[key] for key in ("filter", "start", "end", "sample"))
                    and answer["state"] == "active" and answer["marks"] == "installed")
        wait_for(f"{other} to show the session of {active} with its marks", ALLOWED_S, shown)
        self.disable_all(path)
        self.lab.daemons[active].start()
        self.look(active)

    def disable_all(self, path):
        """Through the controller at `path`, which may not be the one that enabled them; the marks must go."""
        for name in sorted(self.changer.there["debug"]):
            status, answer = ask(path, "DELETE", f"{PATHS['debug']}/{self.debugger.ids[name]}")
            if status != 200:
                raise Failed(f"{name} was not disabled: {status} {answer}")
            self.changer.there["debug"].discard(name)
            self.changer.gone["debug"].add(name)
        self.ends.append(wait_for("the marks to be gone", ALLOWED_S, self.has_no_marks))

    def has_no_marks(self):
        answers = [ovsdb(self.lab.socket_of(name), {"op": "select", "table": "Everflow_Rule",
                                                    "where": [["action", "==", "mark"]], "columns": ["name"]})
                   for name in self.lab.reals]
        return all(answer and not answer[0]["rows"] for answer in answers)

    def end_under_take_over(self):
        """A session ends by the clock although the controller that admitted it is dead."""
        session = self.session_of_its_own(duration_s=SESSION_S)
        end = datetime.datetime.fromisoformat(session["end"][:26] + "+00:00").timestamp()
        if self.has_no_marks():
            raise Failed("there are no marks")
        active, _ = self.take_over()
        wait_for("the marks to be gone", SESSION_S + ALLOWED_S, self.has_no_marks)
        self.ends.append(time.time() - end)
        if self.ends[-1] < -1:
            raise Failed(f"the marks were gone {-self.ends[-1]:.1f} s before the session's end")
        self.changer.there["debug"].clear()
        self.lab.daemons[active].start()
        self.look(active)

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
    print(f"# {soak.debugger.n_acknowledged} debug sessions enabled; marks gone after the end: "
          f"{figures(soak.ends, CONFIGURED_S)}")
    print(f"# switches configured after the return: {figures(soak.configured, CONFIGURED_S)}")
    print(f"# after the death of the cluster's leader or the active controller: a change acknowledged in "
          f"{figures(soak.writes, CONTINUED_S)}")
    print(f"# longest time without an answer to a question then: {figures(soak.reads, CONTINUED_S)}")


STEPS = (
    ("begun", lambda soak: (soak.lab.start(), wait_for_begin(soak.lab))),
    ("after each death all that was acknowledged is there, and switches are as they should be", Soak.loop),
    ("nothing that was acknowledged is lost", Soak.finish),
    ("a debug session is shown, and disabled, by the controller that takes over", Soak.hand_sessions_over),
    ("a debug session ends on time under the controller that takes over", Soak.end_under_take_over),
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
        soak.debugger.stopped.set()
        soak.reader.stopped.set()
        lab.stop()
        if options.keep:
            print(f"# logs: {directory}")
        else:
            shutil.rmtree(directory)
    sys.exit(not is_well)


if __name__ == "__main__":
    main()
