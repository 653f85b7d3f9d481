#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests of all kinds, good and bad, to every daemon for a long time.

usage: requests.py --build FOLDER [--seconds N] [--requests N] [--seed N]

Starts a controller, two analyzers with traces and a reshuffler on loopback. Some
clients ask them, in an order that the seed says: over kept connections, many
requests at once in a pipeline, from many connections at once, wrongly (no HTTP,
two lengths, half a body, huge headers, wrong filters, a TLS handshake), and as
those who go away in the middle of an answer or of a stream of events. It ends
after --seconds, or with the --requests-th answer if that is sooner.

Every second each daemon's resident memory and open files are noted. TAP on
stdout: each daemon still answers; its memory in the last third is no more than
5 % and 2 MiB above that of the second third; its files came back to what they were. Figures
are comments.
"""

import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PATIENCE_S = 60
CLIENTS = 3
PATHS = {
    "controller": ["/v1/status", "/v1/traces?limit=5", "/v1/traces?limit=20&format=ndjson&filter=tcp",
                   "/v1/traces?limit=50&format=pcapng", "/v1/switches", "/v1/topology", "/v1/alerts", "/v1/counters",
                   "/metrics", "/v1/openapi.json", "/v1/nothing", "/v1/traces?filter=src+%3D%3D", "/v1/traces?limit=x"],
    "analyzer": ["/v1/status", "/v1/health", "/v1/traces?limit=5", "/v1/traces?condition=trace.hops+%3E+2&limit=3",
                 "/metrics", "/v1/load", "/v1/latency", "/v1/counters", "/v1/nothing", "/v1/traces?filter=%28"],
    "reshuffler": ["/v1/status", "/metrics", "/v1/nothing"],
}
WRONG = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40),
    b"\r\n\r\n\x00\xff garbage\r\n\r\n",
    b"GET /" + b"a" * 70000,
    b"GET /v1/status HTTP/1.1\r\n" + b"X: y\r\n" * 12000,
    b"POST /v1/counters HTTP/1.1\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v1/counters HTTP/1.1\r\nContent-Length: 100000\r\n\r\n{",
    b"POST /v1/counters HTTP/1.1\r\nContent-Length: 2\r\n\r\n[]",
    b"POST /v1/counters HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
    b"DELETE /v1/counters/%00 HTTP/1.1\r\n\r\n",
    b"HEAD /v1/status HTTP/1.1\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\n\r\n",
]


class Daemon:
    """A process that listens at `port`, and what was seen of it."""

    def __init__(self, kind, name, command, port, folder):
        self.kind, self.name, self.port, self.n_answers = kind, name, port, 0
        self.samples = []
        with open(os.path.join(folder, name + ".log"), "wb") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def n_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def sample(self):
        self.samples.append((self.resident_kib(), self.n_files()))

    def status(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/status", timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                if condition(self.status()):
                    return
            except OSError:
                pass
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit(f"{self.name} does not get ready; see its log")
            time.sleep(0.1)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_daemons(build, folder):
    ports = [free_port() for _ in range(4)]
    subprocess.run([f"{build}/test/tools/make_copies", f"{folder}/copies.pcap", "10.255.255.1", "500", "20", "4"],
                   check=True, stdout=subprocess.DEVNULL)
    daemons = [
        Daemon("analyzer", f"analyzer{i}", [f"{build}/analyzer/ef-analyzer", "--name", f"analyzer{i}", "--memory", "64M",
                                            "--source", "pcap:copies.pcap", "--http", f"127.0.0.1:{ports[i]}"],
               ports[i], folder) for i in (1, 2)
    ]
    daemons.append(Daemon("reshuffler", "reshuffler", [
        f"{build}/reshuffler/ef-reshuffler", "--vip", "10.255.255.1", "--source", "afpacket:lo", "--sink",
        "pcap:/dev/null", "--analyzer", "analyzer1=10.0.0.1", "--http", f"127.0.0.1:{ports[3]}"], ports[3], folder))
    with open(f"{folder}/topology.json", "w", encoding="ascii") as file:
        json.dump({"name": "soak", "hosts": [], "switches": []}, file)
    with open(f"{folder}/controller.json", "w", encoding="ascii") as file:
        json.dump({"listen": f"127.0.0.1:{ports[0]}", "topology": "topology.json",
                   "analyzers": [{"name": d.name, "url": f"http://127.0.0.1:{d.port}"} for d in daemons[:2]],
                   "everflow": {"targets": ["10.255.255.1"], "classes": ["tcp_syn"]}}, file)
    daemons.append(Daemon("controller", "controller", [f"{build}/controller/ef-controller", "--config",
                                                       "controller.json"], ports[0], folder))
    return daemons


# --- Clients ---------------------------------------------------------------------


class Answers:
    """Reads answers one after the other from a connection."""

    def __init__(self, connection):
        self.file = connection.makefile("rb")

    def read(self):
        """True if there was a whole one, False if the connection ended."""
        status = self.file.readline()
        length, chunked = 0, False
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            chunked |= name.lower() == b"transfer-encoding"
        while chunked and (size := int(self.file.readline() or b"0", 16)):
            self.file.read(size + 2)
        return bool(status) and len(self.file.read(2 if chunked else length)) == (2 if chunked else length)


class Client(threading.Thread):
    def __init__(self, daemons, seed, is_over):
        super().__init__(daemon=True)
        self.daemons, self.random, self.is_over = daemons, random.Random(seed), is_over
        self.n_answers = self.n_wrong = self.n_left = self.n_unanswered = 0

    def connect(self, daemon):
        return socket.create_connection(("127.0.0.1", daemon.port), PATIENCE_S)

    def request(self, daemon):
        path = self.random.choice(PATHS[daemon.kind])
        return f"GET {path} HTTP/1.1\r\nHost: soak\r\n\r\n".encode()

    def count(self, daemon, was_answered):
        self.n_answers += was_answered
        self.n_unanswered += not was_answered
        daemon.n_answers += was_answered

    def keep(self, daemon):
        with self.connect(daemon) as connection:
            answers = Answers(connection)
            for _ in range(100):
                connection.sendall(self.request(daemon))
                self.count(daemon, answers.read())

    def pipeline(self, daemon):
        with self.connect(daemon) as connection:
            answers = Answers(connection)
            for _ in range(10):
                connection.sendall(b"".join(self.request(daemon) for _ in range(20)))
                for _ in range(20):
                    self.count(daemon, answers.read())

    def crowd(self, daemon):
        connections = [self.connect(daemon) for _ in range(100)]
        for i, connection in enumerate(connections):
            connection.sendall(self.request(daemon)[: None if i % 2 else 20])
        for connection in connections[1::2]:
            self.count(daemon, Answers(connection).read())
        for connection in connections:
            connection.close()

    def wrong(self, daemon):
        for request in WRONG:
            with self.connect(daemon) as connection:
                try:
                    connection.sendall(request)
                    if self.random.random() < 0.5:
                        connection.shutdown(socket.SHUT_WR)
                        connection.recv(4096)
                except OSError:
                    pass  # It was refused before it was sent.
                self.n_wrong += 1

    def leave(self, daemon):
        paths = ["/v1/traces?limit=0", "/v1/traces?limit=0&format=parquet", "/v1/events"]
        for path in paths[: 3 if daemon.kind == "controller" else 2]:
            with self.connect(daemon) as connection:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: soak\r\n\r\n".encode())
                connection.recv(self.random.choice([1, 1000, 100000]))
                self.n_left += 1

    def run(self):
        kinds = [self.keep] * 4 + [self.pipeline] * 8 + [self.crowd, self.wrong, self.leave]
        while not self.is_over():
            daemon = self.random.choice(self.daemons)
            try:
                self.random.choice(kinds)(daemon)
            except (OSError, ValueError):
                self.n_unanswered += 1


# --- The judgement ---------------------------------------------------------------


def judge(number, daemon, files_before):
    n = len(daemon.samples) // 3
    kib = [kib for kib, _ in daemon.samples]
    middle, last = max(kib[n : 2 * n]), max(kib[2 * n :])
    medians = ", ".join(str(int(statistics.median(third))) for third in (kib[:n], kib[n : 2 * n], kib[2 * n :]) if third)
    print(f"# {daemon.name}: {daemon.n_answers} answers; {kib[0]} KiB at first, {middle} then, {last} at last "
          f"(medians of the thirds: {medians}); "
          f"{files_before} files at first, {max(f for _, f in daemon.samples)} at most")
    is_well = daemon.process.poll() is None and daemon.status()["role"] == daemon.kind
    end = time.monotonic() + PATIENCE_S
    while is_well and daemon.n_files() > files_before + 8 and time.monotonic() < end:
        time.sleep(0.2)
    checks = [("answers", is_well), ("has no more memory", last <= middle * 1.05 + 2048),
              ("has no more files", is_well and daemon.n_files() <= files_before + 8)]
    for i, (what, holds) in enumerate(checks):
        print(f"{'ok' if holds else 'not ok'} {number + i} - {daemon.name} {what}")
    return all(holds for _, holds in checks)


def run(daemons, arguments):
    for daemon in daemons:
        stored = 9000 if daemon.kind == "analyzer" else 0
        daemon.wait_for(lambda status: status.get("traces_stored", 0) >= stored)
    files = {daemon.name: daemon.n_files() for daemon in daemons}
    end = time.monotonic() + arguments.seconds
    clients = []

    def is_over():
        return time.monotonic() > end or sum(c.n_answers for c in clients) >= arguments.requests

    clients += [Client(daemons, arguments.seed + i, is_over) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    while not is_over() and all(d.process.poll() is None for d in daemons):
        for daemon in daemons:
            daemon.sample()
        time.sleep(1)
    for client in clients:
        client.join(2 * PATIENCE_S)
    total = {key: sum(getattr(c, key) for c in clients) for key in ("n_answers", "n_wrong", "n_left", "n_unanswered")}
    print(f"# {total['n_answers']} answers, {total['n_wrong']} wrong requests, {total['n_left']} answers left, "
          f"{total['n_unanswered']} unanswered")
    results = [judge(3 * i + 1, daemon, files[daemon.name]) for i, daemon in enumerate(daemons)]
    print(f"1..{3 * len(daemons)}")
    return all(results)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--requests", type=int, default=10000000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        daemons = start_daemons(os.path.abspath(arguments.build), folder)
        try:
            is_right = run(daemons, arguments)
        finally:
            for daemon in daemons:
                daemon.process.terminate()
                daemon.process.wait(PATIENCE_S)
    sys.exit(0 if is_right else 1)


main()
