#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What probes must not disturb.

listening.py server PORT: listens on TCP and UDP, sends back what it gets over
TCP, and says what an application noticed: "ready", "udp BYTES", "connected
PORT", "got TEXT", "closed PORT", "error ...".

listening.py client SRCPORT ADDRESS PORT: one connection; each line of standard
input is sent, and what comes back is printed."""
import selectors
import socket
import sys


def say(*words):
    print(*words, flush=True)


def listen(kind, port):
    s = socket.socket(socket.AF_INET6, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::", port))
    if kind == socket.SOCK_STREAM:
        s.listen()
    return s


def serve(port):
    tcp, udp = listen(socket.SOCK_STREAM, port), listen(socket.SOCK_DGRAM, port)
    ready = selectors.DefaultSelector()
    ready.register(tcp, selectors.EVENT_READ)
    ready.register(udp, selectors.EVENT_READ)
    say("ready")
    while True:
        for key, _ in ready.select():
            s = key.fileobj
            if s is tcp:
                connection, peer = tcp.accept()
                ready.register(connection, selectors.EVENT_READ, peer[1])
                say("connected", peer[1])
            elif s is udp:
                say("udp", len(udp.recv(65536)))
            else:
                answer(ready, s, key.data)


def answer(ready, connection, port):
    try:
        data = connection.recv(65536)
        connection.sendall(data)
    except OSError as e:
        data = b""
        say("error", e)
    if data:
        say("got", data.decode().strip())
    else:
        say("closed", port)
        ready.unregister(connection)
        connection.close()


def talk(srcport, address, port):
    with socket.create_connection((address, port), timeout=10, source_address=("", srcport)) as s:
        say("ready")
        for line in sys.stdin:
            s.sendall(line.encode())
            say("back", s.recv(65536).decode().strip())


if sys.argv[1] == "server":
    serve(int(sys.argv[2]))
else:
    talk(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
