#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real TCP connections for the system tests, from the kernel's own TCP, over IPv4 and IPv6.

  tcp_traffic.py server PORT...     accepts on all ports, answers one line, until killed
  tcp_traffic.py client PER_SECOND  reads "SRCPORT DST DPORT" lines from stdin, makes one
                                    connection each, prints "ok" or the error, a line each
"""
import selectors
import socket
import sys
import time


def server(ports):
    selector = selectors.DefaultSelector()
    for port in ports:
        # Of both families, where the kernel has both.
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        listener = socket.create_server(("", port), family=family, dualstack_ipv6=both, backlog=256)
        selector.register(listener, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            connection, _ = key.fileobj.accept()
            connection.settimeout(5)
            try:
                connection.sendall(connection.recv(64))
            except OSError:
                pass
            connection.close()


def connect(source_port, address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.settimeout(10)
        s.bind(("", source_port))
        s.connect((address, port))
        s.sendall(b"hello\n")
        if s.recv(64) != b"hello\n":
            raise OSError("wrong answer")


def client(per_second):
    due = time.monotonic()
    for line in sys.stdin:
        source_port, address, port = line.split()
        time.sleep(max(0, due - time.monotonic()))
        due = max(due, time.monotonic() - 1) + 1 / per_second
        try:
            connect(int(source_port), address, int(port))
            print("ok")
        except OSError as e:
            print(f"{line.strip()}: {e}")


if __name__ == "__main__":
    if sys.argv[1] == "server":
        server([int(p) for p in sys.argv[2:]])
    else:
        client(float(sys.argv[2]))
