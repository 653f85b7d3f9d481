#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Analyzers that behave, or do not, for the tests of the controller.

usage: fake_analyzer.py SOCKET MODE [FILE]

Listens on the Unix socket SOCKET and answers GET /v1/traces as MODE says:

  canned   the lines of FILE and a proper end, which explains itself if asked
  slow     the same after 8 seconds, in which empty lines say that it is at it
  silent   a first trace of FILE, then nothing more, the connection left open
  cut      a first trace of FILE, then the connection's end
  garbage  bytes that are no JSON
  error    status 503

Other paths get a small JSON object. Each request's line is appended to
SOCKET.requests.
"""

import os
import socket
import sys
import threading
import time

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def answer(connection, mode, lines, first):
    if mode == "error":
        body = b'{"error":{"code":"busy","message":"busy with something else"}}'
        connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    elif mode == "garbage":
        connection.sendall(HEAD + chunk(b"\x00\xff\xfegarbage \xc3\n{]\n") + chunk(b""))
    elif mode in ("canned", "slow"):
        explain = b',"explain":{"columns_decide":true,"traces_looked_at":7,"plan":{"buckets":3}}'
        end = b'{"end":true,"count":%d,"more":false%s}\n' % (len(lines), explain if "explain=1" in first else b"")
        connection.sendall(HEAD)
        for _ in range(16 if mode == "slow" else 0):
            connection.sendall(chunk(b"\n"))
            time.sleep(0.5)
        connection.sendall(b"".join(chunk(line) for line in lines) + chunk(end) + b"0\r\n\r\n")
    else:
        connection.sendall(HEAD + chunk(lines[0]))


def serve(connection, path, mode, lines):
    request = connection.makefile("rb")
    first = request.readline().decode("ascii", "replace").strip()
    while request.readline() not in (b"\r\n", b"\n", b""):
        pass
    with open(path + ".requests", "a", encoding="ascii") as log:
        log.write(first + "\n")
    if "/v1/traces" not in first:
        body = b'{"role":"analyzer","name":"fake","traces_stored":%d}' % len(lines)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    else:
        answer(connection, mode, lines, first)
        if mode == "silent":
            connection.recv(1)  # Until the client has enough of it.
    request.close()
    connection.close()


def main():
    path, mode = sys.argv[1:3]
    lines = open(sys.argv[3], "rb").readlines() if len(sys.argv) > 3 else []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(64)
    os.rename(path + ".new", path)  # Who sees the socket can connect.
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, path, mode, lines), daemon=True).start()


main()
