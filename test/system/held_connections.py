#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Connections that are only held, for the tests of the HTTP servers.

usage: held_connections.py HOST:PORT COUNT KIND,... FROM...
       held_connections.py HOST:PORT trickle

Opens COUNT connections, from the loopback addresses FROM and of the KINDs by turns:

  silent   sends nothing
  half     sends half a header
  trickle  sends a byte of a header now and then
  hello    sends half a TLS handshake
  drops    sends a byte of a TLS handshake now and then
  unread   asks, and does not read the answer

then prints "held" and how many of those that send now and then are open, once a
second, until its input ends. With "trickle", one of that kind: prints "closed" when
the server has closed it, at most 120 s later.
"""

import itertools
import resource
import select
import socket
import sys
import time

ASK = b"GET /v1/openapi.json HTTP/1.1\r\nHost: test\r\n\r\n"
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(20)
FIRST = {"silent": b"", "half": ASK[:40], "trickle": b"GET /", "hello": HELLO, "drops": HELLO, "unread": ASK * 20}


def connect(server, address, kind):
    connection = socket.socket()
    connection.bind((address, 0))
    connection.settimeout(60)
    connection.connect(server)
    connection.setblocking(False)
    try:
        connection.send(FIRST[kind])
    except OSError:
        pass  # The server has had enough of us.
    return connection


def trickle(connection):
    """Sends a byte; false if the connection is closed."""
    try:
        connection.send(b"x")
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def hold(server, count, kinds, addresses):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    turns = itertools.cycle(addresses)
    held = [(kind, connect(server, next(turns), kind)) for kind in itertools.islice(itertools.cycle(kinds), count)]
    print("held", flush=True)
    while not select.select([sys.stdin], [], [], 1)[0]:
        n_open = sum(trickle(connection) for kind, connection in held if kind in ("trickle", "drops"))
        print(f"open {n_open}", flush=True)


def wait_for_end(server):
    connection = connect(server, server[0], "trickle")
    end = time.monotonic() + 120
    while trickle(connection):
        if time.monotonic() > end:
            sys.exit("it was never closed")
        time.sleep(0.2)
    print("closed")


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    if sys.argv[2] == "trickle":
        wait_for_end((host, int(port)))
    else:
        hold((host, int(port)), int(sys.argv[2]), sys.argv[3].split(","), sys.argv[4:])


main()
