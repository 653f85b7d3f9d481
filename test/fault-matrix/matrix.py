#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs faults one after the other in a fabric on which the suite runs, and notes
what the suite says about each.

usage: matrix.py --fabric NAME --label LABEL --controller URL --ef-fabric PROGRAM
                 --results FILE [--first N] [--placements N] [--kinds A,B] [--seed N]
       matrix.py --count --label LABEL --results FILE [...]     how many runs are left

For each kind of fault and placement:

    add the fault -> wait until it has hit a packet -> poll /v1/alerts until a right
    verdict is there or time is out -> clear the fault -> wait until all is quiet

and as many times the same without a fault. Each run is a line of JSON in FILE,
which table.py makes a table of; runs that FILE has already are not made again
(plan.py). What is said while it gets quiet is judged, too. All waiting has an end.
"""
import argparse
import json
import time

import placements
import plan
from suite import Suite, parse_time

HIT_S = 20  # Until the fault has met a packet,
VERDICT_S = 20  # from then on until it is found,
ORDER_S = 45  # or until a diagnosis that was asked for has ended,
QUIET_S = 2  # without news after it was cleared,
SETTLE_S = 25  # for at most so long.
CLEAN_S = 8  # A run without a fault, and QUIET_S more.
POLL_S = 0.2


# --- What the suite says -------------------------------------------------------


def walk(json_value):
    """All objects in a JSON value."""
    if isinstance(json_value, dict):
        yield json_value
        for value in json_value.values():
            yield from walk(value)
    elif isinstance(json_value, list):
        for value in json_value:
            yield from walk(value)


class Finding:
    """What an alert or a verdict names."""

    def __init__(self, document):
        self.devices, self.links, self.classes = set(), set(), []
        for part in walk(document):
            device, link = part.get("device"), part.get("link")
            if isinstance(device, str) and device:
                self.devices.add(device)
            if isinstance(link, dict) and link.get("from") and link.get("to"):
                self.links.add(frozenset((link["from"], link["to"])))
            if isinstance(part.get("class"), str):
                self.classes.append(part["class"])

    def names_something(self):
        return bool(self.devices or self.links)

    def has_device(self, placement):
        return bool(self.devices & placement.devices) or (placement.either and self.has_link(placement))

    def has_link(self, placement):
        return placement.link is not None and placement.link in self.links

    def has_class(self, placement):
        return any(placement.classes(text) for text in self.classes)

    def is_wrong(self, placement):
        """It names devices or links, and not one of them is right."""
        return self.names_something() and not self.has_device(placement) and not self.has_link(placement)


def evidence_of(suite, alert):
    """The alert with the verdicts of the diagnoses that it names."""
    documents = [alert]
    for part in walk(alert.get("evidence")):
        identifier = part.get("diagnosis")
        if isinstance(identifier, str):
            diagnosis = suite.diagnosis(identifier)
            if diagnosis:
                documents.append(diagnosis.get("verdict"))
    return documents


def reasons_of(suite, document):
    """The steps of the diagnoses that something said rests on."""
    identifiers = [part["diagnosis"] for part in walk(document) if isinstance(part.get("diagnosis"), str)]
    diagnoses = [suite.diagnosis(identifier) or {} for identifier in identifiers]
    return [step["text"] for diagnosis in diagnoses for step in diagnosis.get("progress", [])]


def alert_is_of(alert, since):
    """True if it was raised or seen again after `since`."""
    return (parse_time(alert.get("last")) or 0) >= since


# --- One run -------------------------------------------------------------------


class Run:
    def __init__(self, suite, placement, previous):
        self.suite, self.placement = suite, placement
        self.previous = previous  # The fault before, of which some watchers still see traces; or None.
        self.started = time.time()
        self.first_hit = None
        self.times = {}  # detected, device, link, class -> seconds since 1970
        self.said, self.wrong, self.late = {}, set(), set()
        self.why = {}  # Of what is wrong: the steps that led there.
        self.order = None
        self.is_over = False  # What is right comes too late now, what is wrong is wrong.

    def note_hit(self):
        if self.first_hit is None:
            for fault in self.suite.faults():
                if "first_hit" not in fault:
                    self.first_hit = parse_time(fault["since"])  # Nobody counts: it acts from then on.
                elif fault["first_hit"]:
                    self.first_hit = parse_time(fault["first_hit"])
        return self.first_hit is not None

    def note(self, what, is_so):
        if is_so and not self.is_over:
            self.times.setdefault(what, time.time())

    def note_finding(self, kind, text, documents):
        finding = Finding(documents)
        placement = self.placement
        if not placement or finding.is_wrong(placement):
            is_late = self.previous and finding.names_something() and not finding.is_wrong(self.previous)
            (self.late if is_late else self.wrong).add(text)
            if not is_late and text not in self.why:
                self.why[text] = reasons_of(self.suite, documents)
            return
        if not any(called in kind for called in placements.CALLED[placement.kind]):
            return
        self.note("detected", True)
        self.note("device", finding.has_device(placement))
        self.note("link", finding.has_link(placement))
        self.note("class", placement.classes and finding.has_class(placement))

    def look(self):
        for alert in self.suite.alerts():
            if alert_is_of(alert, self.started):
                text = "%s: %s" % (alert["kind"], alert["summary"])
                self.said[alert["id"]] = text
                self.note_finding(alert["kind"], text, evidence_of(self.suite, alert))
        if self.order:
            diagnosis = self.suite.diagnosis(self.order)
            verdict = diagnosis and diagnosis.get("verdict")
            if verdict and verdict.get("kind") != "none":
                text = "%s: %s" % (diagnosis["app"], verdict["summary"])
                self.said[self.order] = text
                self.note_finding(verdict["kind"], text, [verdict])

    def ask_for_diagnosis(self):
        if self.placement.order:
            answer = self.suite.ask("/v1/diagnoses", self.placement.order)
            self.order = answer["id"] if answer and "id" in answer else ""

    def is_complete(self):
        wanted = {"detected", "device"}
        wanted |= {"link"} if self.placement.link else set()
        wanted |= {"class"} if self.placement.classes else set()
        return wanted <= set(self.times)

    def wait_for_hit(self):
        deadline = time.time() + HIT_S
        while time.time() < deadline and not self.note_hit():
            time.sleep(POLL_S)

    def wait_for_verdict(self):
        if self.first_hit is None:
            return
        self.ask_for_diagnosis()
        deadline = time.time() + (ORDER_S if self.order else VERDICT_S)
        while time.time() < deadline and not self.is_complete():
            self.look()
            time.sleep(POLL_S)
        self.look()

    def clear(self):
        """The fault goes, and the diagnosis that was asked for: it has had its time."""
        self.is_over = True
        self.suite.fabric("fault", "clear")
        if self.order:
            self.suite.stop_diagnosis(self.order)

    def settle(self):
        """Waits until nothing is being diagnosed and nothing is said but of this fault,
        which some watchers see for seconds yet: then that is ended by hand."""
        end = time.time() + SETTLE_S
        quiet_since, before = time.time(), None
        while time.time() < end:
            self.look()
            self.suite.resolve_alerts()
            now = [len(self.wrong), len(self.late), [d["id"] for d in self.suite.running_diagnoses()]]
            if now != before or now[2]:
                quiet_since, before = time.time(), now
            if time.time() - quiet_since >= QUIET_S:
                return True
            time.sleep(POLL_S)
        return False

    def result(self):
        placement, start = self.placement, self.first_hit
        said, late = set(self.said.values()), self.late - self.wrong
        heard = {"said": sorted(said), "wrong": sorted(self.wrong), "late": sorted(late), "why": self.why}
        if not placement:
            return {"fault": None, **heard}
        return {
            "fault": placement.describe(),
            "hit": start is not None,
            "has_link": placement.link is not None,
            "has_class": placement.classes is not None,
            "seconds": {k: round(max(0.0, v - start), 2) for k, v in self.times.items()} if start else {},
            **heard,
        }


class Clock:
    """Where the time of a run goes."""

    def __init__(self):
        self.started = self.last = time.time()
        self.spent = {}

    def lap(self, what):
        now = time.time()
        self.spent[what] = round(now - self.last, 1)
        self.last = now

    def result(self):
        return {"took_s": round(self.last - self.started, 1), "spent_s": self.spent}


def run_fault(suite, placement, previous):
    clock, run = Clock(), Run(suite, placement, previous)
    suite.fabric("fault", "add", *placement.arguments())
    clock.lap("add")
    try:
        run.wait_for_hit()
        clock.lap("hit")
        run.wait_for_verdict()
        clock.lap("verdict")
    finally:
        run.clear()
    clock.lap("clear")
    settled = run.settle()
    clock.lap("settle")
    return {**run.result(), **clock.result(), "settled": settled}


def run_clean(suite, previous):
    """Without a fault: what is said of no fault before is a false alarm."""
    clock, run = Clock(), Run(suite, None, previous)
    time.sleep(CLEAN_S)
    clock.lap("clean")
    settled = run.settle()
    clock.lap("settle")
    return {**run.result(), **clock.result(), "settled": settled}


# --- All runs ------------------------------------------------------------------


def read_arguments():
    parser = argparse.ArgumentParser(description="the fault matrix in one fabric")
    for name in ("fabric", "controller", "ef-fabric"):
        parser.add_argument("--" + name)
    for name in ("label", "results"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--placements", type=int, default=12)
    parser.add_argument("--kinds", default=",".join(placements.KINDS))
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    options.kinds = options.kinds.split(",")
    unknown = [k for k in options.kinds if k not in placements.KINDS]
    if unknown:
        parser.error("no such kind: %s; there are %s" % (", ".join(unknown), ", ".join(placements.KINDS)))
    if not options.count and not (options.fabric and options.controller and options.ef_fabric):
        parser.error("--fabric, --controller and --ef-fabric are needed")
    return options


def show(result):
    seconds = result.get("seconds", {})
    found = " ".join("%s %.1fs" % (k, v) for k, v in sorted(seconds.items(), key=lambda item: item[1]))
    state = found if result["kind"] == "none" or result.get("hit") else "met no packet"
    print("%s %-13s %-3s %s" % (result["label"], result["kind"], result["number"], state or "nothing said"))
    print("    %s" % (result["fault"] or "(no fault)"))
    print("    %.1f s: %s" % (result["took_s"], " ".join("%s %.1f" % item for item in result["spent_s"].items())))
    for text in result["said"]:
        judged = "WRONG:" if text in result["wrong"] else "late:" if text in result["late"] else "said:"
        print("    %s %s" % (judged, text))


def make_runs(options, runs, results, append):
    """Makes those of the plan that are left; `append` is given the result of each."""
    suite = Suite(options.controller, options.ef_fabric, options.fabric)
    topology = suite.topology()
    previous = None
    while runs:
        kind, number = runs.pop(0)
        if kind == "none":
            result = run_clean(suite, previous)
        else:
            placement = placements.placement(topology, kind, "%s/%d" % (options.seed, number))
            result = run_fault(suite, placement, previous)
            previous = placement
        result.update(kind=kind, number=number, label=options.label, seed=options.seed)
        results.append(result)
        append(result)
        show(result)
        minutes = plan.time_left(runs, [r for r in results if r["label"] == options.label]) / 60
        print("%s: %d runs left, some %.0f minutes" % (options.label, len(runs), minutes), flush=True)


def main():
    options = read_arguments()
    last = options.first + options.placements - 1
    results = plan.read(options.results)
    runs = plan.Plan(options.label, options.kinds, options.first, last, options.seed).left(results)
    if options.count:
        print(len(runs))
        return
    plan.cut_half_line(options.results)
    with open(options.results, "a", encoding="utf-8") as file:

        def append(result):
            file.write(json.dumps(result) + "\n")
            file.flush()

        make_runs(options, runs, results, append)


if __name__ == "__main__":
    main()
