#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 in a loop, under traffic whose truth is known.

    test/soak/kill_loop.py --build _build --seconds 600 [--seed 1]        (as root)

Two streams of copies (ef-replay), each to a reshuffler of its own, which both
spread them over three analyzers. Reshuffler 1, analyzers 2 and 3 are killed and
started again, one after the other, in an order and at times that the seed says;
reshuffler 2 and analyzer 1 survive all of it.

    switches s0 --- r0 reshuffler 1 r1..r3 --- a0 analyzer 1..3
    switches s1 --- r0 reshuffler 2 r1..r3 --- b0 (the same)

Checked: a packet is called dropped or in a loop only if the truth says so; every
victim does its work again soon (2 s are meant, 10 are allowed on a busy machine);
the survivors have as many files open at the end as at the beginning and, in a run
of two minutes or more, as much memory; nobody ends who was not killed. Prints TAP,
the figures as comments. Namespaces and processes are its own and gone at the end.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

VIPS = {1: "10.255.255.1", 2: "10.255.255.2"}
ANALYZERS = (1, 2, 3)
HOPS, WIDTH = 5, 2
COPIES_PER_SECOND = 4000  # Of each stream.
MEMORY = "64M"
ALLOWED_S = 10
MARGIN_S = 30  # For which the streams last longer than the killing.
GROWTH = 0.02  # Of a survivor's memory, at most, in a long run.
LONG_RUN_S = 120


class Failed(Exception):
    pass


def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, timeout=60)


def wait_for(what, seconds, condition):
    """Calls condition until it is true; returns how long that took."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            raise Failed(f"waited {seconds} s in vain for {what}")
        time.sleep(0.02)
    return time.monotonic() - start


class Daemon:
    """A process that can be killed and started again."""

    def __init__(self, lab, name, words):
        self.lab, self.name, self.words, self.process = lab, name, words, None

    def start(self):
        log = open(f"{self.lab.directory}/{self.name}.log", "ab")
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def check_alive(self):
        if self.process.poll() is not None:
            raise Failed(f"{self.name} has ended by itself: {self.process.returncode}")

    def get(self, path):
        """The JSON answer, or None if there is none."""
        done = subprocess.run(["curl", "-sf", "-m", "5", "--unix-socket", f"{self.lab.directory}/{self.name}.sock",
                               f"http://localhost/v1/{path}"], capture_output=True, stdin=subprocess.DEVNULL)
        try:
            return json.loads(done.stdout) if done.returncode == 0 else None
        except ValueError:
            return None

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def n_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Lab:
    """The namespaces, daemons and streams."""

    def __init__(self, build, directory):
        self.build, self.directory = build, directory
        self.prefix = f"ef-kl{os.getpid()}"
        self.namespaces, self.daemons, self.streams = [], {}, []

    def add_namespace(self, name):
        run("ip", "netns", "add", f"{self.prefix}-{name}")
        self.namespaces.append(name)
        self.ip(name, "link", "set", "lo", "up")

    def ip(self, namespace, *words):
        run("ip", "-n", f"{self.prefix}-{namespace}", *words)

    def add_link(self, a, a_name, a_address, b, b_name, b_address):
        self.ip(a, "link", "add", a_name, "type", "veth", "peer", "name", b_name, "netns", f"{self.prefix}-{b}")
        for namespace, name, address in ((a, a_name, a_address), (b, b_name, b_address)):
            self.ip(namespace, "address", "add", address, "dev", name)
            self.ip(namespace, "link", "set", name, "up")

    def build_network(self):
        for name in ("s1", "s2", "r1", "r2", "a1", "a2", "a3"):
            self.add_namespace(name)
        for r in VIPS:
            self.add_link(f"s{r}", "s0", f"10.98.{r}.2/24", f"r{r}", "r0", f"10.98.{r}.1/24")
            self.ip(f"s{r}", "route", "add", VIPS[r], "via", f"10.98.{r}.1")
            for a in ANALYZERS:
                self.add_link(f"r{r}", f"r{a}", f"10.99.{10 * r + a}.1/24", f"a{a}", "ab"[r - 1] + "0",
                              f"10.99.{10 * r + a}.2/24")

    def write_topology(self):
        """As ef-replay's packets go: what the last switches are, and who is behind them."""
        last = range(WIDTH)
        document = {
            "switches": [{"name": f"last{w}", "loopback": f"10.255.{HOPS}.{w + 1}"} for w in last],
            "hosts": [{"address": f"172.16.{w}.0/24", "switch": f"last{w}"} for w in last],
        }
        with open(f"{self.directory}/topology.json", "w", encoding="ascii") as f:
            json.dump(document, f)

    def add_daemons(self):
        for a in ANALYZERS:
            sources = [word for i in "ab" for word in ("--source", f"afpacket:{i}0@{self.prefix}-a{a}")]
            self.daemons[f"analyzer{a}"] = Daemon(self, f"analyzer{a}", [
                f"{self.build}/analyzer/ef-analyzer", "--name", f"analyzer{a}", *sources, "--memory", MEMORY,
                "--topology", f"{self.directory}/topology.json", "--http", f"unix:{self.directory}/analyzer{a}.sock"])
        for r, vip in VIPS.items():
            analyzers = [word for a in ANALYZERS for word in ("--analyzer", (
                f"analyzer{a}=10.99.{10 * r + a}.2,url=unix:{self.directory}/analyzer{a}.sock"))]
            self.daemons[f"reshuffler{r}"] = Daemon(self, f"reshuffler{r}", [
                f"{self.build}/reshuffler/ef-reshuffler", "--vip", vip, "--source", f"afpacket:r0@{self.prefix}-r{r}",
                "--sink", f"ip@{self.prefix}-r{r}", *analyzers, "--http", f"unix:{self.directory}/reshuffler{r}.sock"])

    def analyzers(self):
        return [self.daemons[f"analyzer{a}"] for a in ANALYZERS]

    def start_stream(self, r, seconds, seed):
        """Packets of another length than the other's are never taken for one of them."""
        words = [f"{self.build}/utilities/replay/ef-replay", "--target", VIPS[r], "--sink", f"ip@{self.prefix}-s{r}",
                 "--packets", str(COPIES_PER_SECOND * seconds // HOPS), "--rate", str(COPIES_PER_SECOND), "--hops",
                 str(HOPS), "--width", str(WIDTH), "--bytes", str(64 + 32 * r), "--seed", str(2 * seed + r),
                 "--hop-delay", "1ms", "--drops", "1%", "--loops", "0.1%", "--truth", f"{self.directory}/truth{r}"]
        with open(f"{self.directory}/replay{r}.log", "ab") as log:
            self.streams.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def tear_down(self):
        for process in [d.process for d in self.daemons.values() if d.process] + self.streams:
            if process.poll() is None:
                process.kill()
            process.wait()
        for name in self.namespaces:
            subprocess.run(["ip", "netns", "delete", f"{self.prefix}-{name}"], check=False)


def is_answering(daemon):
    daemon.check_alive()
    return daemon.get("status") is not None


def takes_copies(daemon):
    """True once the daemon has got some since its start."""
    status = daemon.get("status")
    return status is not None and status["copies_received"] > 50


def hears_reports(analyzer):
    """Ten a second of each reshuffler, once it has something to report of."""
    status = analyzer.get("status")
    return status is not None and status["copies_received"] > 50 and status["loss_reports"] > 40


def sends_copies(daemon):
    status = daemon.get("status")
    return status is not None and status["copies_sent"] > 50


class Verdicts:
    """What the analyzers have said, gathered before it can die with them."""

    def __init__(self):
        self.called = {"dropped": {}, "loop": {}}
        self.fates = {}

    def gather(self, analyzer):
        for fate, condition in (("dropped", "trace.drop"), ("loop", "trace.loop")):
            query = urllib.parse.urlencode(
                {"condition": condition, "limit": 0, "start": "-60s", "format": "json"})
            answer = analyzer.get(f"traces?{query}")
            for trace in (answer or {}).get("traces", []):
                self.called[fate][trace["id"]] = trace

    def add_fates(self, analyzer):
        """Of a process that is about to end."""
        for fate, n in ((analyzer.get("status") or {}).get("fates") or {}).items():
            self.fates[fate] = self.fates.get(fate, 0) + n

    def wrong(self, truth):
        return [(fate, trace) for fate, kind in (("dropped", "drop"), ("loop", "loop"))
                for id, trace in self.called[fate].items() if truth.get(id) != kind]


def read_truth(lab):
    truth = {}
    for r in VIPS:
        with open(f"{lab.directory}/truth{r}", encoding="ascii") as lines:
            for line in lines:
                entry = json.loads(line)
                if "packet" in entry:
                    truth[entry["id"]] = entry["kind"]
    return truth


class Soak:
    def __init__(self, lab, seconds, seed):
        self.lab, self.seconds, self.random = lab, seconds, random.Random(seed)
        self.seed = seed
        self.verdicts = Verdicts()
        self.recoveries = {"analyzer": [], "reshuffler": []}
        self.victims = [lab.daemons[name] for name in ("reshuffler1", "analyzer2", "analyzer3")]
        self.survivors = [lab.daemons[name] for name in ("reshuffler2", "analyzer1")]
        self.samples = {d.name: [] for d in self.survivors}  # Time, KiB, files.

    def begin(self):
        for daemon in self.lab.daemons.values():
            daemon.start()
        for daemon in self.lab.daemons.values():
            wait_for(f"{daemon.name} to answer", 30, lambda d=daemon: is_answering(d))
        for r in VIPS:
            self.lab.start_stream(r, self.seconds + MARGIN_S, self.seed)
        # A reshuffler that dies before it ever reported, nobody misses.
        for analyzer in self.lab.analyzers():
            wait_for(f"reports at {analyzer.name}", 30, lambda a=analyzer: hears_reports(a))

    def sample(self):
        for daemon in self.survivors:
            daemon.check_alive()
            self.samples[daemon.name].append((time.monotonic(), daemon.resident_kib(), daemon.n_files()))

    def kill_one(self):
        victim = self.random.choice(self.victims)
        kind = victim.name.rstrip("0123456789")
        if kind == "analyzer":
            self.verdicts.gather(victim)
            self.verdicts.add_fates(victim)
        victim.check_alive()
        victim.kill()
        time.sleep(self.random.uniform(0, 1))
        start = time.monotonic()
        victim.start()
        done = takes_copies if kind == "analyzer" else sends_copies
        wait_for(f"{victim.name} to work again", ALLOWED_S, lambda: done(victim))
        self.recoveries[kind].append(time.monotonic() - start)

    def loop(self):
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            self.kill_one()
            self.sample()
            for analyzer in self.lab.analyzers():
                self.verdicts.gather(analyzer)
            time.sleep(self.random.uniform(0, 0.5))

    def finish(self):
        """All streams end, all traces close."""
        for stream in self.lab.streams:
            if stream.wait(timeout=self.seconds + 120):
                raise Failed("ef-replay failed")
        for analyzer in self.lab.analyzers():
            wait_for(f"the last traces of {analyzer.name}", 30,
                     lambda a=analyzer: (a.get("status") or {}).get("traces_open") == 0)
            self.verdicts.gather(analyzer)
            self.verdicts.add_fates(analyzer)
        self.sample()
        for daemon in self.lab.daemons.values():
            daemon.check_alive()


def median(values):
    return sorted(values)[len(values) // 2] if values else 0


def report_recoveries(soak):
    for kind, times in soak.recoveries.items():
        late = sum(t > 2 for t in times)
        print(f"# {kind}s: killed {len(times)} times; working again after {median(times):.2f} s (median), "
              f"{max(times, default=0):.2f} s (most), {late} later than 2 s")


def report_verdicts(soak, truth):
    wrong = soak.verdicts.wrong(truth)
    called = soak.verdicts.called
    planted = {kind: sum(k == kind for k in truth.values()) for kind in ("drop", "loop")}
    print(f"# verdicts: {sum(soak.verdicts.fates.values())} traces, {soak.verdicts.fates}; called dropped "
          f"{len(called['dropped'])} of {planted['drop']} planted, in a loop {len(called['loop'])} of {planted['loop']}; "
          f"{len(wrong)} wrong")
    for fate, trace in wrong[:10]:
        print(f"# wrong: {fate}: {json.dumps(trace)}")
    # Of a third of the packets the analyzer, of half of them the reshuffler is killed now and then.
    return not wrong and len(called["dropped"]) > planted["drop"] / 10 and soak.verdicts.fates.get("delivered", 0) > 0


def report_survivor(name, samples, seconds):
    """Between the second fifth of the time and the last: the first is for filling up."""
    start, end = samples[0][0], samples[-1][0]
    fifth = (end - start) / 5
    early = [s for s in samples if start + fifth <= s[0] < start + 2 * fifth] or samples[:1]
    late = [s for s in samples if s[0] >= end - fifth]
    kib = [median([s[1] for s in part]) for part in (early, late)]
    files = [median([s[2] for s in part]) for part in (early, late)]
    print(f"# {name}: resident {kib[0]} KiB, then {kib[1]} KiB (most {max(s[1] for s in samples)}); files open "
          f"{files[0]}, then {files[1]} (most {max(s[2] for s in samples)}), {len(samples)} samples")
    is_flat = seconds < LONG_RUN_S or kib[1] <= kib[0] * (1 + GROWTH)
    return is_flat and files[1] <= files[0] + 2


def tap(number, is_ok, name):
    print(f"{'ok' if is_ok else 'not ok'} {number} - {name}", flush=True)
    return is_ok


def report(soak):
    truth = read_truth(soak.lab)
    print("1..4")
    report_recoveries(soak)
    results = [tap(1, all(max(t, default=0) < ALLOWED_S for t in soak.recoveries.values()),
                   "whoever is killed works again soon")]
    results.append(tap(2, report_verdicts(soak, truth), "no verdict is wrong"))
    for i, daemon in enumerate(soak.survivors):
        results.append(tap(3 + i, report_survivor(daemon.name, soak.samples[daemon.name], soak.seconds),
                           f"{daemon.name} has as much memory and as many files as before"))
    return all(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True, help="the build directory")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="ef-kill-loop-")
    lab = Lab(os.path.abspath(args.build), directory)
    is_ok = False
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        lab.build_network()
        lab.write_topology()
        lab.add_daemons()
        soak = Soak(lab, args.seconds, args.seed)
        soak.begin()
        soak.loop()
        soak.finish()
        is_ok = report(soak)
    except (Failed, subprocess.SubprocessError) as error:
        print(f"not ok - {error}")
    finally:
        lab.tear_down()
        if is_ok:
            shutil.rmtree(directory)
        else:
            print(f"# what the daemons said is in {directory}")
    return 0 if is_ok else 1


if __name__ == "__main__":
    sys.exit(main())
